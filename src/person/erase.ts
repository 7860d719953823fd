import { isDeepStrictEqual } from 'node:util';
import { and, eq, getTableName, or, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { alias, type PgColumn, type PgTable } from 'drizzle-orm/pg-core';
import { z } from 'zod';
import { dateTime, object, recordId } from '../contract/fields.ts';
import { customerColumns } from '../customers/repository.ts';
import {
  channelMessages,
  columns,
  conversations,
  customers,
  erasures,
  type Ids,
  isAnyOf,
  isFirstThread,
  keyIn,
  LostRace,
  type MessageTable,
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
  selectJson,
  TOUCHED,
  unprepared,
  whatsappMessages,
} from '../db/index.ts';
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

/**
 * Erases the texts of a person and of everything tied to it. Ids, timestamps, amounts, states and counts
 * stay, so that reports stay the same. Triggers update derived data.
 */

const count = (meaning: string) => z.int().describe(meaning);

const ErasedCounts = object('ErasedCounts', {
  contacts: count('Contacts of the customer.'),
  conversations: count('Threads whose contact and contact name were erased.'),
  messages: count('Messages whose content and sender were erased.'),
  opportunities: count('Opportunities whose title, short reference and destination were erased.'),
  quotes: count('Quotes whose title and destination were erased.'),
  attachments: count('Attachments of quotes, with their files.'),
});

export const ErasedCustomer = object('ErasedCustomer', {
  id: recordId(),
  erasedAt: dateTime().describe('When the content was first erased.'),
  erased: ErasedCounts.describe('The number of erased records, by kind.'),
  sameContacts,
});
type ErasedCustomer = z.infer<typeof ErasedCustomer>;

/** A person of 100,000 messages and 10,000 conversations takes some seconds. */
const TIMEOUT_MS = 60_000;

/** No chain gets another thread meanwhile. */
const lockChains = unprepared('customers.lock_chains', ($: Params<Person>) =>
  rowsInOrder(conversations, and(chainsOf($), isFirstThread)).for('no key update'),
);

/** With the newest thread of each chain, which lists show. */
const threadsOf = ($: Params<Person>) =>
  qb
    .select(columns({ id: conversations.id, isTied: isTied($) }))
    .from(conversations)
    .where(and(chainsOf($), or(isTied($), newestThreads.visible)))
    .orderBy(conversations.id);

const findThreads = unprepared('customers.find_threads', threadsOf);
const lockThreads = unprepared('customers.lock_threads', ($: Params<Person>) =>
  threadsOf($).for('no key update'),
);

const lockOpportunities = unprepared('customers.lock_opportunities', ($: Params<Person>) =>
  rowsInOrder(opportunities, opportunitiesOf($)).for('no key update'),
);

/** Whoever names one of the customers waits: see the trigger `follow_merge`. */
const lockCustomers = unprepared('customers.lock_records', ($: Params<Ids>) =>
  rowsInOrder(customers, keyIn(customers, $)).for('update'),
);

/** A provider's id of a message identifies the person at the provider. Whoever writes a message has locked its chain before. */
function messagesIn(table: MessageTable, ...personal: PgColumn[]) {
  const texts = [table.senderName, ...personal];
  const list = (each: (column: PgColumn) => SQL, separator: SQL) => sql.join(texts.map(each), separator);
  return unprepared(
    `customers.erase_${getTableName(table)}`,
    ($: Params<Ids>) => sql<{ id: string; count: number }>`
      with erased as (
        update ${table as PgTable} set content = '', ${list(({ name }) => sql`${sql.identifier(name)} = null`, sql`, `)}
        where ${ofOrganization(table)} and ${isAnyOf(table.conversationId, $.ids)}
          and (${table.content} <> '' or ${list((column) => sql`${column} is not null`, sql` or `)})
        returning ${table.conversationId})
      select conversation_id as id, count(*)::int as count from erased group by conversation_id`,
  );
}

const eraseMessages = [
  messagesIn(whatsappMessages, whatsappMessages.providerMessageId, whatsappMessages.templateName),
  messagesIn(channelMessages, channelMessages.externalId, channelMessages.subject),
];

/** Whoever reads `updatedSince` sees the chains of these threads: a trigger touches their newest ones. */
const touchThreads = unprepared('customers.touch_threads', ($: Params<Ids>) =>
  qb.update(conversations).set({ updatedAt: TOUCHED }).where(keyIn(conversations, $)),
);

const ROW = { row: sql`1` };

/** A trigger drops the update of a record without texts, which is not counted. */
const counted = (update: { returning: (fields: typeof ROW) => SQLWrapper }) =>
  sql<{ count: number }>`with erased as (${update.returning(ROW).getSQL()})
    select count(*)::int as count from erased`;

/** Whose conversation it was stays: what arrives later can be erased too. */
const eraseThreads = unprepared('customers.erase_threads', ($: Params<RecordKey & Ids>) => {
  const customerId = sql`coalesce(${conversations.customerId}, ${$.id})`;
  const erased = { contact: '', contactName: null, contactKey: null, customerId };
  return counted(qb.update(conversations).set(erased).where(keyIn(conversations, $)));
});

/** A check-in date is free text; only a date stays. */
const eraseOpportunities = unprepared('customers.erase_opportunities', ($: Params<Person>) => {
  const checkInDate = sql`substring(${opportunities.checkInDate} from '^\\d{4}-\\d\\d-\\d\\d')`;
  const erased = { title: null, shortRef: null, destination: null, checkInDate };
  return counted(qb.update(opportunities).set(erased).where(opportunitiesOf($)));
});

const eraseQuotes = unprepared('customers.erase_quotes', ($: Params<Person>) =>
  counted(qb.update(quotes).set({ title: '', destination: null }).where(quotesOf($))),
);

/** Touches the quotes too: after an earlier erasure, they have no text left whose erasure would move `updated_at`. */
const eraseAttachments = unprepared('customers.erase_attachments', ($: Params<Person>) => {
  const ofQuotes = qb
    .select(columns({ id: quotes.id }))
    .from(quotes)
    .where(quotesOf($));
  return sql<{ id: string }>`
    with erased as (
      delete from ${quoteAttachments}
      where ${ofOrganization(quoteAttachments)} and ${quoteAttachments.quoteId} = any(array${ofQuotes})
      returning ${quoteAttachments.id}, ${quoteAttachments.quoteId}),
    touched as (
      update ${quotes} set updated_at = ${TOUCHED}
      where ${ofOrganization(quotes)} and ${quotes.id} in (select quote_id from erased))
    select id from erased`;
});

const cleared = Object.fromEntries(Object.keys(customerColumns).map((field) => [field, sql`default`]));

const eraseCustomers = unprepared('customers.erase', ($: Params<Ids>) =>
  qb
    .update(customers)
    .set({ ...cleared, archivedAt: sql`least(${customers.archivedAt}, now())` })
    .where(keyIn(customers, $)),
);

/** The first erasure keeps its counts. */
const saveErasure = unprepared(
  'customers.save_erasure',
  ($: Params<Ids & { erased: string; sameContacts: readonly string[] }>) => sql`
    insert into ${erasures} (organization_id, customer_id, erased, same_contacts)
    select ${$.organizationId}::uuid, id, ${$.erased}::json, ${$.sameContacts}::uuid[] from unnest(${$.ids}::uuid[]) id
    on conflict (organization_id, customer_id) do update
      set same_contacts = ${erasures.sameContacts} || excluded.same_contacts`,
);

const done = alias(erasures, 'done');

const savedErasure = unprepared('customers.erasure', ($: Params<RecordKey>) => {
  const sameContacts = sql`array(select other from unnest(${erasures.sameContacts}) as other
    where not exists (select from ${erasures} as ${done} where ${ofOrganization(done)}
      and ${done.customerId} = other) order by other)`;
  const { customerId: id, erasedAt, erased } = erasures;
  const isOfCustomer = and(ofOrganization(erasures), eq(id, $.id));
  return selectJson<ErasedCustomer>({ id, erasedAt, erased, sameContacts }, erasures, isOfCustomer);
});

/** Locks are taken in the order of src/db/README.md. */
async function erase(scope: OrganizationScope, id: string) {
  const person = await findPerson(scope, id);
  const records = { ids: person.customers };
  await scope.write(lockChains, person);
  const locked = await scope.write(lockThreads, person);
  await scope.write(lockOpportunities, person);
  await scope.write(lockCustomers, records);
  // Whoever gave the person a conversation since has been waited for.
  const found = [await findPerson(scope, id), await scope.read(findThreads, person)];
  if (!isDeepStrictEqual(found, [person, locked]))
    throw new LostRace('The person was changed by somebody else.');

  const threads = { ids: locked.filter(({ isTied }) => isTied).map(({ id }) => id) };
  const spoken: { id: string; count: number }[] = [];
  for (const messages of eraseMessages) spoken.push(...(await scope.write(messages, threads)));
  await scope.write(touchThreads, { ids: spoken.map(({ id }) => id) });
  const [erasedThreads] = await scope.write(eraseThreads, { ...threads, id: person.id });
  const [erasedOpportunities] = await scope.write(eraseOpportunities, person);
  const [erasedQuotes] = await scope.write(eraseQuotes, person);
  const attachments = await scope.write(eraseAttachments, person);
  const sameContacts = await findSameContacts(scope, person);
  await scope.write(eraseCustomers, records);

  const erased: z.infer<typeof ErasedCounts> = {
    contacts: person.contactKeys.length,
    conversations: erasedThreads?.count ?? 0,
    messages: spoken.reduce((sum, { count }) => sum + count, 0),
    opportunities: erasedOpportunities?.count ?? 0,
    quotes: erasedQuotes?.count ?? 0,
    attachments: attachments.length,
  };
  await scope.write(saveErasure, { ...records, erased: JSON.stringify(erased), sameContacts });
  const [saved] = await scope.read(savedErasure, { id });
  if (!saved) throw new Error('An erasure was saved and is not there.');
  return { erasure: saved.body, attachments: attachments.map(({ id }) => id) };
}

/**
 * Erases the customer and everybody merged into it, all or nothing.
 * @returns what the first erasure erased, and the ids of the attachments of this one: the caller removes their files
 * @throws CUSTOMER_NOT_FOUND
 */
export const eraseCustomer = (scope: OrganizationScope, id: string) =>
  scope.transaction((within) => erase(within, id), TIMEOUT_MS);
