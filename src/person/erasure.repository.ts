import { and, eq, getTableName, or, type SQL, sql } from 'drizzle-orm';
import { alias, type PgColumn, type PgTable } from 'drizzle-orm/pg-core';
import { customerColumns } from '../customers/repository.ts';
import {
  as,
  body,
  channelMessages,
  conversations,
  customers,
  erasedFiles,
  erasures,
  type Ids,
  inTransaction,
  isAnyOf,
  type Json,
  keyIn,
  NO_ID,
  newestThreads,
  type OrganizationScope,
  ofOrganization,
  opportunities,
  type Params,
  qb,
  quoteAttachments,
  quotes,
  type RecordKey,
  unprepared,
  whatsappMessages,
} from '../db/index.ts';
import { eraseResponses } from '../http/idempotency.repository.ts';
import type { ErasedCounts, ErasedCustomer } from './schema.ts';
import { findPerson, findSameContacts, lockPerson, lockThreads } from './ties.repository.ts';

const thread = alias(conversations, 'thread');
const done = alias(erasures, 'done');

/**
 * Erases the texts of a person and of everything tied to it. Ids, timestamps, amounts, states and counts
 * stay, so that reports stay the same. Triggers update derived data.
 */

/** Whose conversation it was stays: what arrives later can be erased too. */
const eraseThreadsStatement = unprepared('customers.erase_threads', ($: Params<RecordKey & Ids>) => {
  const customerId = sql`coalesce(${conversations.customerId}, ${$.id})`;
  return qb
    .update(conversations)
    .set({ contact: '', contactName: null, contactKey: null, customerId })
    .where(keyIn(conversations, $))
    .returning(as({ id: conversations.id }));
});

/** Messages that one transaction erases at most. */
const SLICE = 5_000;

/** The ids of a thread and of its message: slices are in this order. */
type Position = readonly [string, string];
const START: Position = [NO_ID, NO_ID];

/** Erases the next messages, and returns for each thread, the last one first, their number and the last message. */
function defineErase(table: typeof whatsappMessages | typeof channelMessages, ...personal: PgColumn[]) {
  const texts = [table.senderName, ...personal];
  const list = (each: (column: PgColumn) => SQL, separator: SQL) => sql.join(texts.map(each), separator);
  const message = sql`(${table.conversationId}, ${table.id})`;
  const isLeft = sql`(${table.content} <> '' or ${list((column) => sql`${column} is not null`, sql` or `)})`;
  const limit = sql`limit ${sql.raw(String(SLICE))}`;
  return unprepared(`customers.erase_${getTableName(table)}`, ($: Params<Ids & { after: Position }>) => {
    const after = sql`((${$.after}::uuid[])[1], (${$.after}::uuid[])[2])`;
    return sql<{ id: string; count: number; last: string }>`
      with slice as (
        select message.* from unnest(${$.ids}::uuid[]) as thread(id) cross join lateral (
          select ${table.conversationId}, ${table.id} from ${table}
          where ${ofOrganization(table, $)} and ${table.conversationId} = thread.id and ${isLeft}
            and ${message} > ${after}
          order by ${table.id} ${limit}) message ${limit}),
      erased as (
        update ${table as PgTable} set content = '', ${list(({ name }) => sql`${sql.identifier(name)} = null`, sql`, `)}
        where ${ofOrganization(table, $)} and ${table.conversationId} = any(${$.ids}::uuid[]) and ${isLeft}
          and ${message} > ${after} and ${message} <= (
            select conversation_id, id from slice order by conversation_id desc, id desc limit 1)
        returning ${table.conversationId}, ${table.id})
      select conversation_id as id, count(*)::int as count, max(id::text) as last
      from erased group by conversation_id order by conversation_id desc`;
  });
}
type EraseStatement = ReturnType<typeof defineErase>;

/** A provider's id of a message identifies the person at the provider. */
const eraseStatements: readonly EraseStatement[] = [
  defineErase(whatsappMessages, whatsappMessages.providerMessageId, whatsappMessages.templateName),
  defineErase(channelMessages, channelMessages.externalId, channelMessages.subject),
];

/** Whoever reads `updatedSince` sees the chains of these threads: any other change of a row moves `updated_at`. */
const touchStatement = unprepared('customers.touch_threads', ($: Params<Ids>) => {
  const chains = qb
    .select(as({ chainId: thread.chainId }))
    .from(thread)
    .where(keyIn(thread, $));
  return qb
    .update(conversations)
    .set({ updatedAt: sql`${conversations.updatedAt} + interval '1 ms'` })
    .where(
      and(
        ofOrganization(conversations, $),
        or(isAnyOf(conversations.id, $.ids), newestThreads.visible),
        sql`${conversations.chainId} = any(array${chains})`,
      ),
    );
});

/**
 * Erases the messages of a slice. The caller has locked the threads.
 * @returns their number, and the end of the slice if others may follow
 */
async function eraseSlice({ db }: OrganizationScope, erase: EraseStatement, threads: Ids, after = START) {
  const erased = await db.write(erase, { ...threads, after });
  const ids = erased.map(({ id }) => id);
  if (ids.length > 0) await db.write(touchStatement, { ...threads, ids });
  const count = erased.reduce((sum, { count }) => sum + count, 0);
  const [last] = erased;
  const end: Position | undefined = last && count === SLICE ? [last.id, last.last] : undefined;
  return { count, end };
}

/** A check-in date is free text; only a date stays. */
const eraseOpportunitiesStatement = unprepared('customers.erase_opportunities', ($: Params<Ids>) => {
  const checkInDate = sql`substring(${opportunities.checkInDate} from '^\\d{4}-\\d\\d-\\d\\d')`;
  return qb
    .update(opportunities)
    .set({ title: null, shortRef: null, destination: null, checkInDate })
    .where(keyIn(opportunities, $))
    .returning(as({ id: opportunities.id }));
});

const eraseQuotesStatement = unprepared('customers.erase_quotes', ($: Params<Ids>) =>
  qb
    .update(quotes)
    .set({ title: '', destination: null })
    .where(keyIn(quotes, $))
    .returning(as({ id: quotes.id })),
);

const eraseAttachmentsStatement = unprepared('customers.erase_attachments', ($: Params<Ids>) =>
  qb
    .delete(quoteAttachments)
    .where(and(ofOrganization(quoteAttachments, $), isAnyOf(quoteAttachments.quoteId, $.ids)))
    .returning(as({ id: quoteAttachments.id })),
);

const keepFilesStatement = unprepared(
  'customers.keep_erased_files',
  ($: Params<RecordKey & Ids>) => sql`
    insert into ${erasedFiles} (organization_id, id, customer_id)
    select ${$.organizationId}::uuid, file, ${$.id}::uuid from unnest(${$.ids}::uuid[]) as file`,
);

const cleared = Object.fromEntries(Object.keys(customerColumns).map((field) => [field, sql`default`]));

const eraseCustomersStatement = unprepared('customers.erase', ($: Params<Ids>) =>
  qb
    .update(customers)
    .set({ ...cleared, archivedAt: sql`least(${customers.archivedAt}, now())` })
    .where(keyIn(customers, $)),
);

type Begun = Ids & { count: number };

const beginStatement = unprepared(
  'customers.begin_erasure',
  ($: Params<Begun>) => sql`
    insert into ${erasures} (organization_id, customer_id, erased_at, erased, pending_messages)
    select ${$.organizationId}::uuid, id, null, '{}', ${$.count}::int from unnest(${$.ids}::uuid[]) id
    on conflict (organization_id, customer_id) do update
      set pending_messages = coalesce(${erasures.pendingMessages}, 0) + excluded.pending_messages`,
);

type Complete = Ids & { erased: string; sameContacts: readonly string[] };

/** The first erasure keeps its counts. */
const recordStatement = unprepared(
  'customers.record_erasure',
  ($: Params<Complete>) => sql`
    insert into ${erasures} (organization_id, customer_id, erased, same_contacts)
    select ${$.organizationId}::uuid, id, ${$.erased}::json, ${$.sameContacts}::uuid[] from unnest(${$.ids}::uuid[]) id
    on conflict (organization_id, customer_id) do update set (erased_at, erased, same_contacts, pending_messages) = (
      select coalesce(${erasures.erasedAt}, excluded.erased_at), case when ${erasures.erasedAt} is null then excluded.erased else ${erasures.erased} end,
        ${erasures.sameContacts} || excluded.same_contacts, null::integer)`,
);

const erasureIs = ($: Params<RecordKey>) => and(ofOrganization(erasures, $), eq(erasures.customerId, $.id));

const pendingStatement = unprepared('customers.pending_erasure', ($: Params<RecordKey>) =>
  qb
    .select(as({ count: sql<number>`coalesce(${erasures.pendingMessages}, 0)` }))
    .from(erasures)
    .where(erasureIs($)),
);

const erasureStatement = unprepared('customers.erasure', ($: Params<RecordKey>) => {
  const sameContacts = sql`array(select other from unnest(${erasures.sameContacts}) as other
    where not exists (select from ${erasures} as ${done} where ${ofOrganization(done, $)}
      and ${done.customerId} = other and ${done.erasedAt} is not null) order by other)`;
  const { customerId: id, erasedAt, erased } = erasures;
  return qb
    .select(body<ErasedCustomer>({ id, erasedAt, erased, sameContacts }))
    .from(erasures)
    .where(erasureIs($));
});

/** Thrown by an erasure with more messages than one transaction may erase. */
class ManyMessages extends Error {}

/**
 * Erases the customer and everybody merged into it, in one transaction. The caller removes the files, which
 * are in `erased_files`.
 * @returns what the first erasure erased
 * @throws CUSTOMER_NOT_FOUND, ManyMessages
 */
export const eraseCustomer = (scope: OrganizationScope, id: string): Promise<Json<ErasedCustomer>> =>
  inTransaction(scope, async (within) => {
    const { db, organizationId } = within;
    const key = { organizationId, id };
    const person = await findPerson(within, id);
    const tied = await lockPerson(within, person);
    const records = { organizationId, ids: person.customers };

    const [pending] = await db.read(pendingStatement, key);
    let messages = pending?.count ?? 0;
    for (const statement of eraseStatements) {
      const { count, end } = await eraseSlice(within, statement, tied.threads);
      if (end) throw new ManyMessages('The messages are erased in slices first.');
      messages += count;
    }
    // A record without texts is not erased: nothing of it changes.
    const erasedThreads = await db.write(eraseThreadsStatement, { ...tied.threads, id: person.id });
    const erasedOpportunities = await db.write(eraseOpportunitiesStatement, tied.opportunities);
    const erasedQuotes = await db.write(eraseQuotesStatement, tied.quotes);
    const files = await db.write(eraseAttachmentsStatement, tied.quotes);
    await db.write(keepFilesStatement, { ...key, ids: files.map((file) => file.id) });
    const ids = [...person.customers, ...tied.quotes.ids];
    const replays = await eraseResponses(within, { organizationId, ids });
    const sameContacts = await findSameContacts(within, person);
    await db.write(eraseCustomersStatement, records);

    const erased: ErasedCounts = {
      contacts: person.contactKeys.length,
      conversations: erasedThreads.length,
      messages,
      opportunities: erasedOpportunities.length,
      quotes: erasedQuotes.length,
      attachments: files.length,
      replays,
    };
    await db.write(recordStatement, { ...records, erased: JSON.stringify(erased), sameContacts });
    const [erasure] = await db.read(erasureStatement, key);
    if (!erasure) throw new Error('An erasure was recorded and is not there.');
    return erasure.body;
  });

/** Erases all messages, in a transaction for each slice. Repeating it continues where it ended. */
async function eraseMessages(scope: OrganizationScope, id: string): Promise<void> {
  const next = (statement: EraseStatement, after: Position) =>
    inTransaction(scope, async (within) => {
      const person = await findPerson(within, id);
      const threads = await lockThreads(within, person);
      const { count, end } = await eraseSlice(within, statement, threads, after);
      await within.db.write(beginStatement, { ...threads, ids: person.customers, count });
      return end;
    });
  for (const statement of eraseStatements)
    for (let after: Position | undefined = START; after; ) after = await next(statement, after);
}

/**
 * Runs an erasure of any size: messages that are too many for its transaction are erased before it.
 * @param complete calls `eraseCustomer`
 */
export const eraseInSlices = <Result>(
  scope: OrganizationScope,
  id: string,
  complete: () => Promise<Result>,
): Promise<Result> =>
  complete().catch(async (error) => {
    if (!(error instanceof ManyMessages)) throw error;
    await eraseMessages(scope, id);
    return eraseInSlices(scope, id, complete);
  });
