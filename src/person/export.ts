import { and, type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { dateTime, object } from '../contract/fields.ts';
import { conversationRecordView } from '../conversations/repository.ts';
import { ConversationMessageRecord, ConversationRecord } from '../conversations/schema.ts';
import { fromStores, messageRecordFields } from '../conversations/transcripts.repository.ts';
import { getCustomerRecord } from '../customers/repository.ts';
import { CustomerRecord } from '../customers/schema.ts';
import {
  columns,
  databaseNow,
  isoTime,
  type Json,
  jsonRow,
  type OrganizationScope,
  type Params,
  qb,
  type Statement,
  toJson,
  unprepared,
  type View,
} from '../db/index.ts';
import type { FileLinks } from '../files/links.ts';
import { opportunityRecordView } from '../opportunities/repository.ts';
import { OpportunityRecord } from '../opportunities/schema.ts';
import { listAttachmentsIncludingArchived } from '../quotes/attachments.repository.ts';
import { quoteRecordView } from '../quotes/repository.ts';
import { QuoteAttachment, QuoteRecord } from '../quotes/schema.ts';
import {
  chainsOf,
  findPerson,
  findSameContacts,
  isTied,
  opportunitiesOf,
  type Person,
  quotesOf,
  sameContacts,
} from './person.ts';

/** Everything known of a person, read page by page while it is sent. */

export const CustomerExport = object('CustomerExport', {
  exportedAt: dateTime().describe('When the export began. Later writes may be in it.'),
  customer: CustomerRecord,
  mergedCustomers: z
    .array(CustomerRecord)
    .describe(
      'The other records of the person: customers that were merged into this one, or that it became.',
    ),
  opportunities: z.array(OpportunityRecord),
  quotes: z.array(
    QuoteRecord.extend({ attachments: z.array(QuoteAttachment) }).meta({ id: 'ExportedQuote' }),
  ),
  conversations: z
    .array(
      ConversationRecord.omit({ lastMessage: true })
        .extend({
          messages: z.array(ConversationMessageRecord).describe('All messages of the thread, oldest first.'),
        })
        .meta({ id: 'ExportedConversation' }),
    )
    .describe('One for each thread, including every thread of a chain.'),
  sameContacts,
});

/** `after` is the last id of the page before; null for the first page. */
type Page = Person & { after: string | null; limit: number };
type Item = { id: string; body: Json<object> };

const PAGE = 100;
const MESSAGES = 500;
/** Long messages come by few: an export keeps one page in memory. */
const PAGE_BYTES = 256 * 1_024;

const pageOf = <T>({ table, fields }: View<T>, tied: SQL | undefined, $: Params<Page>) =>
  qb
    .select(columns({ id: table.id, body: jsonRow(fields) }))
    .from(table)
    .where(and(tied, sql`(${$.after}::uuid is null or ${table.id} > ${$.after}::uuid)`))
    .orderBy(table.id)
    .limit($.limit);

const opportunityPages = unprepared('customers.export_opportunities', ($: Params<Page>) =>
  pageOf(opportunityRecordView, opportunitiesOf($), $),
);

const quotePages = unprepared('customers.export_quotes', ($: Params<Page>) =>
  pageOf(quoteRecordView, quotesOf($), $),
);

/** The transcript has the last message. */
const { lastMessage: _, ...threadFields } = conversationRecordView.fields;

const threadPages = unprepared('customers.export_threads', ($: Params<Page>) =>
  pageOf({ ...conversationRecordView, fields: threadFields }, and(chainsOf($), isTied($)), $),
);

type MessagePage = { conversationId: string; createdAt: string; after: string; limit: number };

type MessageItem = { body: Json<object>; createdAt: string; arrival: string };

/** The reverse of the transcript index. */
const OLDEST = sql`order by created_at nulls first, arrival nulls first`;

const messagePages = unprepared(
  'customers.export_messages',
  ($: Params<MessagePage>): SQL<MessageItem> => sql`
    select message.arrival, ${isoTime(sql`message.created_at`)} as "createdAt", ${jsonRow(messageRecordFields)} as body
    from (
      select *, sum(octet_length(content)) over (${OLDEST}) - octet_length(content) as bytes_before
      from (${fromStores(
        messageRecordFields,
        ({ conversationId, createdAt, arrival }) => sql`${conversationId} = ${$.conversationId}
          and (${createdAt}, ${arrival}) > (${$.createdAt}::timestamptz, ${$.after}::bigint)
          order by ${createdAt} nulls first, ${arrival} nulls first limit ${$.limit}`,
      )}) message ${OLDEST} limit ${$.limit}) message
    where bytes_before < ${sql.raw(String(PAGE_BYTES))} ${OLDEST}`,
);

async function* pages<Row extends { body: Buffer }>(limit: number, read: (last?: Row) => Promise<Row[]>) {
  let page: Row[] = [];
  do {
    page = await read(page.at(-1));
    yield page;
  } while (page.length === limit || page.reduce((sum, { body }) => sum + body.length, 0) >= PAGE_BYTES);
}

/** The entries of a JSON array, page by page. */
async function* entries<Row>(rows: AsyncIterable<Row[]>, bodyOf: (row: Row) => Buffer | Promise<Buffer>) {
  let comma = '';
  for await (const page of rows) {
    const parts: Buffer[] = [];
    for (const row of page) {
      parts.push(Buffer.from(comma), await bodyOf(row));
      comma = ',';
    }
    yield Buffer.concat(parts);
  }
}

/** The body without its closing bracket, so that fields can follow. */
const open = (body: Json<unknown>): Buffer => body.subarray(0, -1);

async function* parts(
  scope: OrganizationScope,
  person: Person,
  [customer, ...others]: readonly Json<CustomerRecord>[],
  links: FileLinks,
): AsyncIterable<string | Buffer> {
  const tied = (statement: Statement<Item, Page>) =>
    pages(PAGE, (last?: Item) => scope.read(statement, { ...person, after: last?.id ?? null, limit: PAGE }));
  const messagesOf = (conversationId: string) =>
    pages(MESSAGES, (last?: MessageItem) => {
      const { createdAt = '-infinity', arrival: after = '0' } = last ?? {};
      return scope.read(messagePages, { conversationId, createdAt, after, limit: MESSAGES });
    });
  const withAttachments = async ({ id, body }: Item): Promise<Buffer> => {
    const attachments = await listAttachmentsIncludingArchived(scope, id, links);
    return Buffer.concat([open(body), Buffer.from(`,"attachments":${toJson(attachments)}}`)]);
  };

  yield `{"exportedAt":"${new Date(await databaseNow(scope)).toISOString()}","customer":${customer},"mergedCustomers":[${others.join()}],"opportunities":[`;
  yield* entries(tied(opportunityPages), ({ body }) => body);
  yield '],"quotes":[';
  yield* entries(tied(quotePages), withAttachments);
  yield '],"conversations":[';
  let comma = '';
  for await (const page of tied(threadPages))
    for (const { id, body } of page) {
      yield `${comma}${open(body)},"messages":[`;
      yield* entries(messagesOf(id), (message) => message.body);
      yield ']}';
      comma = ',';
    }
  yield `],"sameContacts":${JSON.stringify(await findSameContacts(scope, person))}}`;
}

/**
 * @returns a `CustomerExport`, in parts
 * @throws CUSTOMER_NOT_FOUND before the first part
 */
export async function exportCustomer(scope: OrganizationScope, id: string, links: FileLinks) {
  const person = await findPerson(scope, id);
  const others = person.customers.filter((other) => other !== id.toLowerCase());
  const records: Json<CustomerRecord>[] = [];
  for (const each of [id, ...others]) records.push(await getCustomerRecord(scope, each));
  return parts(scope, person, records, links);
}
