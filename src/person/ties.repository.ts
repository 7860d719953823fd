import { isDeepStrictEqual } from 'node:util';
import { and, eq, or, type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { holdChainsStatement } from '../conversations/chains.repository.ts';
import { type ContactKeys, sentContacts } from '../customers/contacts.repository.ts';
import {
  activeCustomers,
  as,
  conversations,
  customerContactKeys,
  customers,
  type Ids,
  isAnyOf,
  isId,
  keyIn,
  keyIs,
  LostRace,
  lockRows,
  newestThreads,
  type OrganizationScope,
  ofOrganization,
  opportunities,
  type Params,
  qb,
  quotes,
  type RecordKey,
  recordNotFound,
  unprepared,
} from '../db/index.ts';

/** A person: the ids of a customer and of everybody merged into it, and their contact keys. `id` is that of the survivor. */
export type Person = ContactKeys & RecordKey & { customers: readonly string[] };

const final = alias(customers, 'final');

/** The customer that this one became, or itself. */
const finalOf = ($: Params<RecordKey>) =>
  qb
    .select(as({ id: sql`coalesce(${final.mergedInto}, ${final.id})` }))
    .from(final)
    .where(keyIs(final, $));

const recordsStatement = unprepared('customers.of_person', ($: Params<RecordKey>) => {
  const { id, mergedInto, contactKeys } = customers;
  return qb
    .select(as({ id, contactKeys, mergedInto }))
    .from(customers)
    .where(and(ofOrganization(customers, $), or(eq(id, finalOf($)), eq(mergedInto, finalOf($)))))
    .orderBy(id);
});

/** @throws CUSTOMER_NOT_FOUND */
export async function findPerson({ db, organizationId }: OrganizationScope, id: string): Promise<Person> {
  const records = isId(id) ? await db.read(recordsStatement, { organizationId, id }) : [];
  const survivor = records.find(({ mergedInto }) => mergedInto === null);
  if (!survivor) throw recordNotFound(activeCustomers, id);
  return {
    organizationId,
    id: survivor.id,
    customers: records.map((record) => record.id),
    contactKeys: [...new Set(records.flatMap(({ contactKeys }) => contactKeys))],
  };
}

/** Conditions for the records tied to a person, archived or not. */

export const opportunitiesOf = ($: Params<Person>) =>
  and(ofOrganization(opportunities, $), isAnyOf(opportunities.customerId, $.customers));

export const quotesOf = ($: Params<Person>) =>
  and(ofOrganization(quotes, $), isAnyOf(quotes.customerId, $.customers));

const isTied = ($: Params<Person>) =>
  sql<boolean>`(${conversations.customerId} = any(${$.customers}::uuid[]) or ${conversations.customerId} is null)`;

/** Threads of the chains that have a thread of the person, or one without a customer whose contact no other customer has. */
const threadsOfChains = ($: Params<Person>): SQL => sql`
  ${ofOrganization(conversations, $)} and ${conversations.chainId} = any(array(
      select ${conversations.chainId} from ${conversations}
      where ${ofOrganization(conversations, $)} and ${conversations.customerId} = any(${$.customers}::uuid[])
      union
      select ${conversations.chainId} from ${conversations} join ${sentContacts($)}
        on ${conversations.contactKey} = sent.key and ${conversations.channel} = sent.type
      where ${ofOrganization(conversations, $)} and ${conversations.customerId} is null
        and not exists (select from ${customerContactKeys}
          where ${ofOrganization(customerContactKeys, $)}
            and ${customerContactKeys.customerId} <> all(${$.customers}::uuid[])
            and ${customerContactKeys.identifierType} = sent.type and ${customerContactKeys.contactKey} = sent.key)))`;

/** Of these chains, the threads of no other customer. */
export const threadsOf = ($: Params<Person>): SQL => sql`${threadsOfChains($)} and ${isTied($)}`;

const sameContactsStatement = unprepared(
  'customers.same_contacts',
  ($: Params<Person>): SQL<{ id: string }> => sql`
    select coalesce(${customers.mergedInto}, ${customers.id}) as id from ${customers}
    where ${ofOrganization(customers, $)} and ${customers.id} <> all(${$.customers}::uuid[])
      and ${customers.archivedAt} is not null and ${customers.contactKeys} && ${$.contactKeys}::text[]
    union
    select ${customerContactKeys.customerId} from ${customerContactKeys} join ${sentContacts($)}
      on ${customerContactKeys.identifierType} = sent.type and ${customerContactKeys.contactKey} = sent.key
    where ${ofOrganization(customerContactKeys, $)} and ${customerContactKeys.customerId} <> all(${$.customers}::uuid[])
    order by id`,
);

/** The ids of other customers that have one of the contacts, or had it when they were archived. */
export const findSameContacts = async ({ db }: OrganizationScope, person: Person): Promise<string[]> =>
  (await db.read(sameContactsStatement, person)).map(({ id }) => id);

/** With the newest thread of each chain, which lists show. */
const lockThreadsStatement = unprepared('customers.lock_threads', ($: Params<Person>) =>
  qb
    .select(as({ id: conversations.id, isTied: isTied($) }))
    .from(conversations)
    .where(and(threadsOfChains($), or(isTied($), newestThreads.visible)))
    .orderBy(conversations.id)
    .for('no key update'),
);

const lockOpportunitiesStatement = unprepared('customers.lock_opportunities', ($: Params<Person>) =>
  lockRows(opportunities, opportunitiesOf($)),
);

const lockQuotesStatement = unprepared('customers.lock_quotes', ($: Params<Person>) =>
  lockRows(quotes, quotesOf($)),
);

/** Until the transaction ends, no record can name one of these customers: the trigger `follow_merge` takes the same locks, shared. */
const holdNamesStatement = unprepared(
  'customers.hold_names',
  ($: Params<Ids>) => sql`
    select pg_advisory_xact_lock(hashtextextended(concat(${$.organizationId}::text, final.id), 0))
    from (select ${final.id} from ${customers} as ${final}
      where ${ofOrganization(final, $)} and ${final.id} = any(${$.ids}::uuid[]) and ${final.mergedInto} is null
      order by ${final.id}) as final`,
);

const lockRecordsStatement = unprepared('customers.lock_records', ($: Params<Ids>) =>
  lockRows(customers, keyIn(customers, $)),
);

/** Locks the threads tied to the person until the transaction ends. */
export async function lockThreads({ db, organizationId }: OrganizationScope, person: Person): Promise<Ids> {
  await db.write(holdChainsStatement, { organizationId });
  const locked = await db.write(lockThreadsStatement, person);
  return { organizationId, ids: locked.filter(({ isTied }) => isTied).map(({ id }) => id) };
}

/**
 * Locks everything tied to the person until the transaction ends, in the order of src/db/README.md.
 * @param others more customers to lock
 * @throws LostRace if the person changed before the locks were taken
 */
export async function lockPerson(scope: OrganizationScope, person: Person, others: readonly string[] = []) {
  const { db, organizationId } = scope;
  const threads = await lockThreads(scope, person);
  const lockedOpportunities = await db.write(lockOpportunitiesStatement, person);
  const lockedQuotes = await db.write(lockQuotesStatement, person);
  const records = { organizationId, ids: [...person.customers, ...others] };
  await db.write(holdNamesStatement, records);
  await db.write(lockRecordsStatement, records);
  const now = await findPerson(scope, person.id);
  if (!isDeepStrictEqual(now, person)) throw new LostRace('The person was changed by somebody else.');
  const idsOf = (rows: { id: string }[]): Ids => ({ organizationId, ids: rows.map(({ id }) => id) });
  return { threads, opportunities: idsOf(lockedOpportunities), quotes: idsOf(lockedQuotes) };
}
