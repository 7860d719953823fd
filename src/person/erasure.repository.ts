import { and, eq, getTableName, or, type Placeholder, type SQL, sql } from 'drizzle-orm';
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
type Position = readonly string[];
const START: Position = Array(2).fill('00000000-0000-0000-0000-000000000000');
const END: Position = Array(2).fill('ffffffff-ffff-ffff-ffff-ffffffffffff');

type Slice = Ids & { after: Position; upTo: Position };

const place = (position: Placeholder): SQL => sql`((${position}::uuid[])[1], (${position}::uuid[])[2])`;

function defineStore(table: typeof whatsappMessages | typeof channelMessages, ...personal: PgColumn[]) {
  const texts = [table.senderName, ...personal];
  const list = (each: (column: PgColumn) => SQL, separator: SQL) => sql.join(texts.map(each), separator);
  const message = sql`(${table.conversationId}, ${table.id})`;
  const isLeft = sql`(${table.content} <> '' or ${list((column) => sql`${column} is not null`, sql` or `)})`;
  const name = getTableName(table);
  return {
    /** The last message of a slice; none if that slice is the last one. */
    findEnd: unprepared(
      `customers.end_of_${name}`,
      ($: Params<Omit<Slice, 'upTo'>>): SQL<{ end: Position }> => sql`
        select array[conversation_id, id] as end from (
          select message.* from unnest(${$.ids}::uuid[]) as thread(id) cross join lateral (
            select ${table.conversationId}, ${table.id} from ${table}
            where ${ofOrganization(table, $)} and ${table.conversationId} = thread.id and ${isLeft}
              and ${message} > ${place($.after)}
            order by ${table.id} limit ${sql.raw(String(SLICE))}) message
          limit ${sql.raw(String(SLICE))}) slice
        order by conversation_id, id offset ${sql.raw(String(SLICE - 1))}`,
    ),
    erase: unprepared(
      `customers.erase_${name}`,
      ($: Params<Slice>): SQL<{ id: string; count: number }> => sql`
        with erased as (
          update ${table as PgTable} set content = '', ${list(({ name }) => sql`${sql.identifier(name)} = null`, sql`, `)}
          where ${ofOrganization(table, $)} and ${table.conversationId} = any(${$.ids}::uuid[]) and ${isLeft}
            and ${message} > ${place($.after)} and ${message} <= ${place($.upTo)}
          returning ${table.conversationId})
        select conversation_id as id, count(*)::int as count from erased group by conversation_id`,
    ),
  };
}
type Store = ReturnType<typeof defineStore>;

/** A provider's id of a message identifies the person at the provider. */
const stores: readonly Store[] = [
  defineStore(whatsappMessages, whatsappMessages.providerMessageId, whatsappMessages.templateName),
  defineStore(channelMessages, channelMessages.externalId, channelMessages.subject),
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
 * @returns their number
 */
async function eraseSlice(
  { db, organizationId }: OrganizationScope,
  store: Store,
  slice: Slice,
): Promise<number> {
  const erased = await db.write(store.erase, slice);
  const ids = erased.map(({ id }) => id);
  if (ids.length > 0) await db.write(touchStatement, { organizationId, ids });
  return erased.reduce((sum, { count }) => sum + count, 0);
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
    for (const store of stores) {
      const whole = { ...tied.threads, after: START, upTo: END };
      if ((await db.read(store.findEnd, whole)).length > 0)
        throw new ManyMessages('The messages are erased in slices first.');
      messages += await eraseSlice(within, store, whole);
    }
    const erasedThreads = await db.write(eraseThreadsStatement, { ...tied.threads, id: person.id });
    const erasedOpportunities = await db.write(eraseOpportunitiesStatement, tied.opportunities);
    const erasedQuotes = await db.write(eraseQuotesStatement, tied.quotes);
    const files = await db.write(eraseAttachmentsStatement, tied.quotes);
    const fileIds = files.map((file) => file.id);
    await db.write(keepFilesStatement, { ...key, ids: fileIds });
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
      attachments: fileIds.length,
      replays,
    };
    await db.write(recordStatement, { ...records, erased: JSON.stringify(erased), sameContacts });
    const [erasure] = await db.read(erasureStatement, key);
    if (!erasure) throw new Error('An erasure was recorded and is not there.');
    return erasure.body;
  });

/** Erases all messages, in a transaction for each slice. Repeating it continues where it ended. */
async function eraseMessages(scope: OrganizationScope, id: string): Promise<void> {
  const next = (store: Store, after: Position) =>
    inTransaction(scope, async (within) => {
      const person = await findPerson(within, id);
      const threads = await lockThreads(within, person);
      const [slice] = await within.db.read(store.findEnd, { ...threads, after });
      const count = await eraseSlice(within, store, { ...threads, after, upTo: slice?.end ?? END });
      await within.db.write(beginStatement, { ...threads, ids: person.customers, count });
      return slice?.end;
    });
  for (const store of stores)
    for (let after: Position | undefined = START; after; ) after = await next(store, after);
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
