import { Readable } from 'node:stream';
import { createCatalogProduct, updateCatalogProductMedia } from '../src/catalog/repository.ts';
import { putConversation } from '../src/conversations/chains.ts';
import { putMessages } from '../src/conversations/messages.ts';
import { createCustomer } from '../src/customers/repository.ts';
import { type OrganizationScope, type Queries, scopeTo } from '../src/db/run/scope.ts';
import type { AttachmentDescription } from '../src/files/multipart.ts';
import { type FileStorage, storageKey } from '../src/files/storage.ts';
import type { StoredFile } from '../src/files/upload.ts';
import { opportunityRecord } from '../src/opportunities/repository.ts';
import { createOrganization } from '../src/organizations/repository.ts';
import { pipelineStageRecord } from '../src/pipeline-stages/repository.ts';
import { recordAttachment } from '../src/quotes/attachments.ts';
import { openQuote, quoteRecord } from '../src/quotes/repository.ts';
import { teamMemberRecord } from '../src/team/repository.ts';
import { demoConversations } from './conversations.ts';
import { demoCustomers } from './customers.ts';
import { neighbour } from './neighbour.ts';
import { fileNameOf, pdfOf } from './pdf.ts';
import { demoProducts } from './products.ts';
import { daysAgo, idOf } from './random.ts';
import { type DemoQuote, demoOpportunities, demoQuotes } from './sales.ts';
import { demoStages, demoTeam } from './team.ts';

/** Writes the demo's two organizations, through the functions that everybody's records are written with. */

async function open(db: Queries, name: string, foundedDaysAgo: number): Promise<OrganizationScope> {
  const { id } = await createOrganization(db, name, idOf(`organization ${name}`, daysAgo(foundedDaysAgo)));
  // All of the demo is written in the transaction that loads it.
  return scopeTo({ for: () => db }, id);
}

type Attachment = {
  quoteId: string;
  file: Pick<StoredFile, 'id' | 'sizeBytes'>;
  description: AttachmentDescription;
};

/** Makes and stores the files, under ids of the demo's own: a load begun anew writes the same file, not another one. */
const storeFiles = (
  { organizationId }: OrganizationScope,
  storage: FileStorage,
  quotes: readonly DemoQuote[],
): Promise<Attachment[]> =>
  Promise.all(
    quotes.flatMap((quote) =>
      quote.attachments.map(async ({ id, kind }) => {
        const pdf = pdfOf(quote, kind);
        await storage.put(storageKey(organizationId, id), Readable.from([pdf]));
        const description = { kind, fileName: fileNameOf(quote, kind), mimeType: 'application/pdf' };
        return { quoteId: quote.id, file: { id, sizeBytes: pdf.length }, description };
      }),
    ),
  );

/** Fills an organization that has no records with those of the agency. */
export async function fillAgency(scope: OrganizationScope, storage: FileStorage): Promise<void> {
  const agency = {
    products: demoProducts(),
    customers: demoCustomers(),
    team: demoTeam(),
    stages: demoStages(),
  };
  const opportunities = demoOpportunities(agency);
  const quotes = demoQuotes(opportunities);
  // While the disk is busy with files, the database is with records; a fault of a file shows when it is waited for.
  const files = storeFiles(scope, storage, quotes);
  files.catch(() => undefined);

  for (const { id, input } of agency.team) await teamMemberRecord.put(scope, id, input);
  for (const { id, input } of agency.stages) await pipelineStageRecord.put(scope, id, input);
  for (const { id, input, media } of agency.products) {
    await createCatalogProduct(scope, input, id);
    await updateCatalogProductMedia(scope, id, media);
  }
  for (const { id, input } of agency.customers) await createCustomer(scope, input, id);
  for (const { id, input } of opportunities) await opportunityRecord.put(scope, id, input);
  for (const { id, input, messages } of demoConversations(agency, opportunities).flat()) {
    await putConversation(scope, id, input);
    await putMessages(scope, id, messages);
  }
  for (const { id, input, opens } of quotes) {
    // One that is disabled now was opened while it was published.
    if (opens.length > 0) await quoteRecord.put(scope, id, { ...input, status: 'published' });
    for (const moment of opens) await openQuote(scope, id, moment.toISOString());
    await quoteRecord.put(scope, id, input);
  }
  for (const { quoteId, file, description } of await files) {
    await recordAttachment(scope, quoteId, file, description);
  }
}

export async function loadAgency(db: Queries, storage: FileStorage): Promise<OrganizationScope> {
  const scope = await open(db, 'Rutas del Sur Viajes', 1_470);
  await fillAgency(scope, storage);
  return scope;
}

/** A small organization beside the first: nothing of either is seen from the other. */
export async function loadNeighbour(db: Queries): Promise<void> {
  const scope = await open(db, 'Aurora Turismo', 400);
  const { members, stages, products, customers, opportunities, conversations, quotes } = neighbour();
  for (const { id, input } of members) await teamMemberRecord.put(scope, id, input);
  for (const { id, input } of stages) await pipelineStageRecord.put(scope, id, input);
  for (const { id, input } of products) await createCatalogProduct(scope, input, id);
  for (const { id, input } of customers) await createCustomer(scope, input, id);
  for (const { id, input } of opportunities) await opportunityRecord.put(scope, id, input);
  for (const { id, input, messages } of conversations) {
    await putConversation(scope, id, input);
    await putMessages(scope, id, messages);
  }
  for (const { id, input } of quotes) await quoteRecord.put(scope, id, input);
}
