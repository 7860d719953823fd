import { isDeepStrictEqual } from 'node:util';
import { and, eq, getTableName, or, type SQL, sql } from 'drizzle-orm';
import { alias, type PgColumn, type PgTable } from 'drizzle-orm/pg-core';
import { customerColumns } from '../customers/repository.ts';
import {
  channelMessages,
  columns,
  conversations,
  customers,
  erasures,
  type Ids,
  inTransaction,
  isAnyOf,
  isFirstThread,
  type Json,
  jsonColumn,
  keyIn,
  LostRace,
  newestThreads,
  type OrganizationScope,
  ofOrganization,
  opportunities,
  type Params,
  qb,
  quoteAttachments,
  quotes,
  type RecordKey,
  rowsInOrder,
  TOUCHED,
  unprepared,
  whatsappMessages,
} from '../db/index.ts';
import type { ErasedCounts, ErasedCustomer } from './schema.ts';
import {
  chainsOf,
  findPerson,
  findSameContacts,
  isTied,
  opportunitiesOf,
  type Person,
  quotesOf,
} from './ties.repository.ts';

/**
 * Erases the texts of a person and of everything tied to it. Ids, timestamps, amounts, states and counts
 * stay, so that reports stay the same. Triggers update derived data.
 */

/** A person of 100,000 messages and 10,000 conversations takes some seconds. */
const TIMEOUT_MS = 60_000;

/** No chain gets another thread meanwhile. */
const lockChainsStatement = unprepared('customers.lock_chains', ($: Params<Person>) =>
  rowsInOrder(conversations, and(chainsOf($), isFirstThread)).for('no key update'),
);

/** With the newest thread of each chain, which lists show. */
const lockThreadsStatement = unprepared('customers.lock_threads', ($: Params<Person>) =>
  qb
    .select(columns({ id: conversations.id, isTied: isTied($) }))
    .from(conversations)
    .where(and(chainsOf($), or(isTied($), newestThreads.visible)))
    .orderBy(conversations.id)
    .for('no key update'),
);

const lockOpportunitiesStatement = unprepared('customers.lock_opportunities', ($: Params<Person>) =>
  rowsInOrder(opportunities, opportunitiesOf($)).for('no key update'),
);

/** Whoever names one of the customers waits: see the trigger `follow_merge`. */
const lockCustomersStatement = unprepared('customers.lock_records', ($: Params<Ids>) =>
  rowsInOrder(customers, keyIn(customers, $)).for('update'),
);

/** A provider's id of a message identifies the person at the provider. */
function defineErase(table: typeof whatsappMessages | typeof channelMessages, ...personal: PgColumn[]) {
  const name = getTableName(table);
  const texts = [table.senderName, ...personal];
  const list = (each: (column: PgColumn) => SQL, separator: SQL) => sql.join(texts.map(each), separator);
  const hasText = (
    $: Params<Ids>,
  ) => sql`${ofOrganization(table, $)} and ${isAnyOf(table.conversationId, $.ids)}
    and (${table.content} <> '' or ${list((column) => sql`${column} is not null`, sql` or `)})`;
  return {
    /** A statement of its own: PostgreSQL plans a join with many locked rows as if they were few. */
    lock: unprepared(
      `customers.lock_${name}`,
      ($: Params<Ids>) => sql`
        select count(*) from (
          select from ${table} where ${hasText($)} order by ${table.conversationId}, ${table.id} for no key update) locked`,
    ),
    erase: unprepared(
      `customers.erase_${name}`,
      ($: Params<Ids>) => sql<{ id: string; count: number }>`
        with erased as (
          update ${table as PgTable} set content = '', ${list(({ name }) => sql`${sql.identifier(name)} = null`, sql`, `)}
          where ${hasText($)} returning ${table.conversationId})
        select conversation_id as id, count(*)::int as count from erased group by conversation_id`,
    ),
  };
}

const messages = [
  defineErase(whatsappMessages, whatsappMessages.providerMessageId, whatsappMessages.templateName),
  defineErase(channelMessages, channelMessages.externalId, channelMessages.subject),
];

const thread = alias(conversations, 'thread');

/** Whoever reads `updatedSince` sees the chains of these threads: any other change of a row moves `updated_at`. */
const touchThreadsStatement = unprepared('customers.touch_threads', ($: Params<Ids>) => {
  const chains = qb
    .select(columns({ chainId: thread.chainId }))
    .from(thread)
    .where(keyIn(thread, $));
  return qb
    .update(conversations)
    .set({ updatedAt: TOUCHED })
    .where(
      and(
        ofOrganization(conversations, $),
        or(isAnyOf(conversations.id, $.ids), newestThreads.visible),
        sql`${conversations.chainId} = any(array${chains})`,
      ),
    );
});

/** A trigger drops the update of a record without texts, which is not counted. */
const counted = (update: { getSQL: () => SQL }) =>
  sql<{ count: number }>`with erased as (${update.getSQL()}) select count(*)::int as count from erased`;

const ERASED = { row: sql`1` };

/** Whose conversation it was stays: what arrives later can be erased too. */
const eraseThreadsStatement = unprepared('customers.erase_threads', ($: Params<RecordKey & Ids>) => {
  const customerId = sql`coalesce(${conversations.customerId}, ${$.id})`;
  return counted(
    qb
      .update(conversations)
      .set({ contact: '', contactName: null, contactKey: null, customerId })
      .where(keyIn(conversations, $))
      .returning(ERASED),
  );
});

/** A check-in date is free text; only a date stays. */
const eraseOpportunitiesStatement = unprepared('customers.erase_opportunities', ($: Params<Person>) => {
  const checkInDate = sql`substring(${opportunities.checkInDate} from '^\\d{4}-\\d\\d-\\d\\d')`;
  return counted(
    qb
      .update(opportunities)
      .set({ title: null, shortRef: null, destination: null, checkInDate })
      .where(opportunitiesOf($))
      .returning(ERASED),
  );
});

const eraseQuotesStatement = unprepared('customers.erase_quotes', ($: Params<Person>) =>
  counted(qb.update(quotes).set({ title: '', destination: null }).where(quotesOf($)).returning(ERASED)),
);

const eraseAttachmentsStatement = unprepared('customers.erase_attachments', ($: Params<Person>) => {
  const ofQuotes = qb
    .select(columns({ id: quotes.id }))
    .from(quotes)
    .where(quotesOf($));
  return qb
    .delete(quoteAttachments)
    .where(and(ofOrganization(quoteAttachments, $), sql`${quoteAttachments.quoteId} = any(array${ofQuotes})`))
    .returning(columns({ id: quoteAttachments.id }));
});

const cleared = Object.fromEntries(Object.keys(customerColumns).map((field) => [field, sql`default`]));

const eraseCustomersStatement = unprepared('customers.erase', ($: Params<Ids>) =>
  qb
    .update(customers)
    .set({ ...cleared, archivedAt: sql`least(${customers.archivedAt}, now())` })
    .where(keyIn(customers, $)),
);

type Erasure = Ids & { erased: string; sameContacts: readonly string[] };

/** The first erasure keeps its counts. */
const saveErasureStatement = unprepared(
  'customers.save_erasure',
  ($: Params<Erasure>) => sql`
    insert into ${erasures} (organization_id, customer_id, erased, same_contacts)
    select ${$.organizationId}::uuid, id, ${$.erased}::json, ${$.sameContacts}::uuid[] from unnest(${$.ids}::uuid[]) id
    on conflict (organization_id, customer_id) do update
      set same_contacts = ${erasures.sameContacts} || excluded.same_contacts`,
);

const done = alias(erasures, 'done');

const erasureStatement = unprepared('customers.erasure', ($: Params<RecordKey>) => {
  const sameContacts = sql`array(select other from unnest(${erasures.sameContacts}) as other
    where not exists (select from ${erasures} as ${done} where ${ofOrganization(done, $)}
      and ${done.customerId} = other) order by other)`;
  const { customerId: id, erasedAt, erased } = erasures;
  return qb
    .select(jsonColumn<ErasedCustomer>({ id, erasedAt, erased, sameContacts }))
    .from(erasures)
    .where(and(ofOrganization(erasures, $), eq(erasures.customerId, $.id)));
});

/** The erasure, and the ids of the erased attachments: the caller removes their files. */
export type Erased = { erasure: Json<ErasedCustomer>; attachments: string[] };

/**
 * Erases the customer and everybody merged into it, all or nothing. Locks are taken in the order of src/db/README.md.
 * @returns what the first erasure erased
 * @throws CUSTOMER_NOT_FOUND
 */
export const eraseCustomer = (scope: OrganizationScope, id: string): Promise<Erased> =>
  inTransaction(
    scope,
    async (within) => {
      const { db, organizationId } = within;
      const person = await findPerson(within, id);
      await db.write(lockChainsStatement, person);
      const locked = await db.write(lockThreadsStatement, person);
      await db.write(lockOpportunitiesStatement, person);
      const records = { organizationId, ids: person.customers };
      await db.write(lockCustomersStatement, records);
      if (!isDeepStrictEqual(await findPerson(within, id), person))
        throw new LostRace('The person was changed by somebody else.');

      const threads = { organizationId, ids: locked.filter(({ isTied }) => isTied).map(({ id }) => id) };
      const spoken: { id: string; count: number }[] = [];
      for (const { lock, erase } of messages) {
        await db.write(lock, threads);
        spoken.push(...(await db.write(erase, threads)));
      }
      await db.write(touchThreadsStatement, { organizationId, ids: spoken.map(({ id }) => id) });
      const [erasedThreads] = await db.write(eraseThreadsStatement, { ...threads, id: person.id });
      const [erasedOpportunities] = await db.write(eraseOpportunitiesStatement, person);
      const [erasedQuotes] = await db.write(eraseQuotesStatement, person);
      const attachments = await db.write(eraseAttachmentsStatement, person);
      const sameContacts = await findSameContacts(within, person);
      await db.write(eraseCustomersStatement, records);

      const erased: ErasedCounts = {
        contacts: person.contactKeys.length,
        conversations: erasedThreads?.count ?? 0,
        messages: spoken.reduce((sum, { count }) => sum + count, 0),
        opportunities: erasedOpportunities?.count ?? 0,
        quotes: erasedQuotes?.count ?? 0,
        attachments: attachments.length,
      };
      await db.write(saveErasureStatement, { ...records, erased: JSON.stringify(erased), sameContacts });
      const [erasure] = await db.read(erasureStatement, { organizationId, id });
      if (!erasure) throw new Error('An erasure was saved and is not there.');
      return { erasure: erasure.body, attachments: attachments.map(({ id }) => id) };
    },
    { timeoutMs: TIMEOUT_MS },
  );
