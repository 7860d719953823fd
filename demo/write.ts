import { Readable } from 'node:stream';
import { productView } from '../src/catalog/repository.ts';
import { CatalogProductRecordUpdate } from '../src/catalog/schema.ts';
import { variantOf } from '../src/catalog/variants.ts';
import { randomBase62 } from '../src/contract/base62.ts';
import { putConversation } from '../src/conversations/chains.repository.ts';
import { putMessages } from '../src/conversations/messages.repository.ts';
import { contactColumns } from '../src/customers/contacts.repository.ts';
import { customerView } from '../src/customers/repository.ts';
import { CustomerUpdate } from '../src/customers/schema.ts';
import {
  columnsOf,
  customers,
  defineCreate,
  type OrganizationScope,
  opportunities,
  products,
  quotes,
  teamMembers,
} from '../src/db/index.ts';
import { type FileStorage, storageKey } from '../src/files/storage.ts';
import { opportunityView } from '../src/opportunities/repository.ts';
import { OpportunityPut } from '../src/opportunities/schema.ts';
import { pipelineStageRecord } from '../src/pipeline-stages/repository.ts';
import { createAttachment } from '../src/quotes/attachments.repository.ts';
import { quoteView } from '../src/quotes/repository.ts';
import { QuotePut } from '../src/quotes/schema.ts';
import { memberView } from '../src/team/repository.ts';
import { TeamMemberPut } from '../src/team/schema.ts';
import { pdfOf } from './pdf.ts';
import type { DemoRecord } from './records.ts';

/**
 * Writes records with a past. The service dates its writes now, so these are inserted with their timestamps; triggers maintain
 * derived data as always.
 */

const dates = (
  table: typeof products | typeof customers | typeof opportunities | typeof quotes | typeof teamMembers,
) => ({
  createdAt: table.createdAt,
  updatedAt: table.updatedAt,
});

const insertMember = defineCreate('demo.team_members', memberView, {
  ...columnsOf(TeamMemberPut, teamMembers),
  ...dates(teamMembers),
});

const insertProduct = defineCreate('demo.products', productView, {
  ...columnsOf(CatalogProductRecordUpdate, products),
  ...dates(products),
});

const insertCustomer = defineCreate('demo.customers', customerView, {
  ...columnsOf(CustomerUpdate.omit({ contacts: true }), customers),
  contacts: customers.contacts,
  contactKeys: customers.contactKeys,
  contactSearch: customers.contactSearch,
  ...dates(customers),
});

const insertOpportunity = defineCreate('demo.opportunities', opportunityView, {
  ...columnsOf(OpportunityPut.omit({ agentTemperature: true }), opportunities),
  ...dates(opportunities),
});

const insertQuote = defineCreate('demo.quotes', quoteView, {
  ...columnsOf(QuotePut, quotes),
  token: quotes.token,
  openCount: quotes.openCount,
  firstOpenedAt: quotes.firstOpenedAt,
  lastOpenedAt: quotes.lastOpenedAt,
  ...dates(quotes),
});

type FieldsOf<Kind> = Extract<DemoRecord, { kind: Kind }>['fields'];

async function writeConversation(
  scope: OrganizationScope,
  id: string,
  { messages, ...conversation }: FieldsOf<'conversation'>,
): Promise<void> {
  await putConversation(scope, id, conversation);
  await putMessages(scope, id, messages);
}

async function writeQuote(
  scope: OrganizationScope,
  id: string,
  { attachments, ...quote }: FieldsOf<'quote'>,
  storage: FileStorage,
): Promise<void> {
  await insertQuote(scope, id, { ...quote, token: randomBase62() });
  for (const { id: fileId, kind, fileName, ...page } of attachments) {
    const pdf = pdfOf(page);
    // Fixed ids: a repeated load overwrites the same files.
    await storage.put(storageKey(scope.organizationId, fileId), Readable.from([pdf]));
    const file = { id: fileId, kind, fileName, mimeType: 'application/pdf', sizeBytes: pdf.length };
    await createAttachment(scope, file.id, { ...file, quoteId: id });
  }
}

export async function writeRecord(
  scope: OrganizationScope,
  { kind, id, fields }: DemoRecord,
  storage: FileStorage,
): Promise<void> {
  switch (kind) {
    case 'member':
      await insertMember(scope, id, fields);
      break;
    case 'stage':
      await pipelineStageRecord.put(scope, id, fields);
      break;
    case 'product':
      await insertProduct(scope, id, { ...fields, variants: fields.variants?.map(variantOf) ?? [] });
      break;
    case 'customer': {
      const { names, contacts: inputs, ...customer } = fields;
      const { contacts, ...keys } = contactColumns(inputs);
      const named = contacts.map((contact, index) => ({ ...contact, displayName: names[index] ?? null }));
      await insertCustomer(scope, id, { ...customer, ...keys, contacts: named });
      break;
    }
    case 'opportunity':
      await insertOpportunity(scope, id, fields);
      break;
    case 'conversation':
      await writeConversation(scope, id, fields);
      break;
    case 'quote':
      await writeQuote(scope, id, fields, storage);
  }
}
