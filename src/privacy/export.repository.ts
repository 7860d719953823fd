import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { z } from 'zod';
import { dateTime, field } from '../contract/fields.ts';
import { fromStores, messageRecordFields } from '../conversations/messages.repository.ts';
import { conversationRecordView } from '../conversations/repository.ts';
import { ConversationMessageRecord, ConversationRecord } from '../conversations/schema.ts';
import { getCustomerRecord } from '../customers/repository.ts';
import { CustomerRecord } from '../customers/schema.ts';
import type { OrganizationScope } from '../db/pool/scope.ts';
import { isoTime, type Json, jsonRow, toJson } from '../db/sql/json.ts';
import { type Params, type Statement, unprepared } from '../db/sql/statement.ts';
import { conversations, opportunities, quotes } from '../db/tables/index.ts';
import type { FileLinks } from '../files/links.ts';
import { opportunityRecordView } from '../opportunities/repository.ts';
import { OpportunityRecord } from '../opportunities/schema.ts';
import { attachmentsOf, signAttachments } from '../quotes/attachments.repository.ts';
import { quoteView } from '../quotes/repository.ts';
import { Quote, QuoteAttachment } from '../quotes/schema.ts';
import { findPerson, opportunitiesOf, type Person, quotesOf, threadsOf } from './ties.repository.ts';

/** Everything known of a person, read page by page while it is sent. */

const archivedAt = () => field(dateTime().nullable(), 'When it was archived; null if it was not.');

export const CustomerExport = z
  .object({
    exportedAt: field(dateTime(), 'When the export began. Later writes may be in it.'),
    customer: CustomerRecord,
    mergedCustomers: z
      .array(CustomerRecord)
      .describe(
        'The other records of the person: customers that were merged into this one, or that it became.',
      ),
    opportunities: z.array(
      OpportunityRecord.extend({ archivedAt: archivedAt() }).meta({ id: 'ExportedOpportunity' }),
    ),
    quotes: z.array(
      Quote.extend({ archivedAt: archivedAt(), attachments: z.array(QuoteAttachment) }).meta({
        id: 'ExportedQuote',
      }),
    ),
    conversations: z
      .array(
        ConversationRecord.extend({
          messages: z.array(ConversationMessageRecord).describe('All messages of the thread, oldest first.'),
        }).meta({ id: 'ExportedConversation' }),
      )
      .describe('One for each thread, also of a chain.'),
  })
  .meta({ id: 'CustomerExport' });

/** `after` is the last id of the page before; null for the first page. */
type Page = Person & { after: string | null; limit: number };
type Item = { id: string; body: Json<object> };

const PAGE = 100;
const MESSAGES = 500;

const behind = (id: PgColumn, $: Params<Page>): SQL =>
  sql`(${$.after}::uuid is null or ${id} > ${$.after}::uuid)`;

const opportunitiesStatement = unprepared(
  'customers.export_opportunities',
  ($: Params<Page>): SQL<Item> => sql`
    select ${opportunities.id}, ${jsonRow({ ...opportunityRecordView.fields, archivedAt: opportunities.archivedAt })} as body
    from ${opportunities} where ${opportunitiesOf($)} and ${behind(opportunities.id, $)}
    order by ${opportunities.id} limit ${$.limit}`,
);

const quotesStatement = unprepared(
  'customers.export_quotes',
  ($: Params<Page>): SQL<Item> => sql`
    select ${quotes.id}, ${jsonRow({ ...quoteView.fields, archivedAt: quotes.archivedAt })} as body
    from ${quotes} where ${quotesOf($)} and ${behind(quotes.id, $)}
    order by ${quotes.id} limit ${$.limit}`,
);

const threadsStatement = unprepared(
  'customers.export_threads',
  ($: Params<Page>): SQL<Item> => sql`
    select ${conversations.id}, ${jsonRow(conversationRecordView.fields)} as body
    from ${conversations} where ${threadsOf($)} and ${behind(conversations.id, $)}
    order by ${conversations.id} limit ${$.limit}`,
);

type MessagePage = {
  organizationId: string;
  conversationId: string;
  createdAt: string;
  after: string;
  limit: number;
};

const messagesStatement = unprepared(
  'customers.export_messages',
  ($: Params<MessagePage>): SQL<Pick<Item, 'body'> & { createdAt: string; arrival: string }> => sql`
    select message.arrival, ${isoTime(sql`message.created_at`)} as "createdAt", ${jsonRow(messageRecordFields)} as body
    from (${fromStores(
      messageRecordFields,
      ({ conversationId, createdAt, arrival }) => sql`${conversationId} = ${$.conversationId}
        and (${createdAt}, ${arrival}) > (${$.createdAt}::timestamptz, ${$.after}::bigint)
        order by ${createdAt}, ${arrival} limit ${$.limit}`,
    )}) message
    order by message.created_at, message.arrival limit ${$.limit}`,
);

/** Array entries, with a comma before them unless they are first. */
const listed = (bodies: readonly (string | Json<unknown>)[], isFirst: boolean): string =>
  `${isFirst ? '' : ','}${bodies.join(',')}`;

async function* pages(
  { db }: OrganizationScope,
  statement: Statement<Item, Page>,
  person: Person,
): AsyncIterable<Item[]> {
  let after: string | null = null;
  for (let more = true; more; ) {
    const page: Item[] = await db.read(statement, { ...person, after, limit: PAGE });
    if (page.length > 0) yield page;
    after = page.at(-1)?.id ?? after;
    more = page.length === PAGE;
  }
}

async function* messagesOf(
  { db, organizationId }: OrganizationScope,
  conversationId: string,
): AsyncIterable<string> {
  const thread = { organizationId, conversationId, limit: MESSAGES };
  let place = { createdAt: '-infinity', after: '0' };
  for (let isFirst = true, more = true; more; isFirst = false) {
    const page = await db.read(messagesStatement, { ...thread, ...place });
    if (page.length > 0)
      yield listed(
        page.map(({ body }) => body),
        isFirst,
      );
    const last = page.at(-1);
    if (last) place = { createdAt: last.createdAt, after: last.arrival };
    more = page.length === MESSAGES;
  }
}

/** The body without its closing bracket, so that fields can follow. */
const open = (body: Json<unknown>): string => body.toString().slice(0, -1);

async function withAttachments(
  scope: OrganizationScope,
  { id, body }: Item,
  links: FileLinks,
): Promise<string> {
  const attachments = await signAttachments(scope, await attachmentsOf(scope, id), links);
  return `${open(body)},"attachments":${toJson(attachments)}}`;
}

async function* parts(
  scope: OrganizationScope,
  person: Person,
  [customer, ...others]: readonly Json<CustomerRecord>[],
  links: FileLinks,
): AsyncIterable<string> {
  yield `{"exportedAt":"${new Date().toISOString()}","customer":${customer},"mergedCustomers":[${listed(others, true)}],"opportunities":[`;
  let isFirst = true;
  for await (const page of pages(scope, opportunitiesStatement, person)) {
    yield listed(
      page.map((item) => item.body),
      isFirst,
    );
    isFirst = false;
  }
  yield '],"quotes":[';
  isFirst = true;
  for await (const page of pages(scope, quotesStatement, person))
    for (const item of page) {
      yield listed([await withAttachments(scope, item, links)], isFirst);
      isFirst = false;
    }
  yield '],"conversations":[';
  isFirst = true;
  for await (const page of pages(scope, threadsStatement, person))
    for (const item of page) {
      yield `${listed([open(item.body)], isFirst)},"messages":[`;
      yield* messagesOf(scope, item.id);
      yield ']}';
      isFirst = false;
    }
  yield ']}';
}

/**
 * @returns the text of a `CustomerExport`, in parts
 * @throws CUSTOMER_NOT_FOUND before the first part
 */
export async function exportCustomer(
  scope: OrganizationScope,
  id: string,
  links: FileLinks,
): Promise<AsyncIterable<string>> {
  const person = await findPerson(scope, id);
  const others = person.customers.filter((other) => other !== id.toLowerCase());
  const records: Json<CustomerRecord>[] = [];
  for (const each of [id, ...others]) records.push(await getCustomerRecord(scope, each));
  return parts(scope, person, records, links);
}
