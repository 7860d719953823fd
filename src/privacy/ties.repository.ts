import { isDeepStrictEqual } from 'node:util';
import { type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { holdChainsStatement } from '../conversations/chains.repository.ts';
import { type ContactKeys, sentContacts } from '../customers/contacts.repository.ts';
import {
  conversations,
  customerContactKeys,
  customers,
  isId,
  LostRace,
  liveCustomers,
  type OrganizationScope,
  opportunities,
  type Params,
  quotes,
  type RecordKey,
  recordNotFound,
  type Statement,
  unprepared,
} from '../db/index.ts';

/** A person: the ids of a customer and of everybody merged into it, and their contact keys. */
export type Person = ContactKeys & { organizationId: string; customers: readonly string[] };

const final = alias(customers, 'final');

/** The customer that this one became, or itself. */
const finalOf = ($: Params<RecordKey>): SQL => sql`
  select coalesce(${final.mergedInto}, ${final.id}) from ${customers} as ${final}
  where ${final.organizationId} = ${$.organizationId} and ${final.id} = ${$.id}`;

const recordsStatement = unprepared(
  'customers.of_person',
  ($: Params<RecordKey>): SQL<ContactKeys & { id: string }> => sql`
    select ${customers.id}, ${customers.contactKeys} as "contactKeys" from ${customers}
    where ${customers.organizationId} = ${$.organizationId}
      and (${customers.id} = (${finalOf($)}) or ${customers.mergedInto} = (${finalOf($)}))
    order by ${customers.id}`,
);

/** @throws CUSTOMER_NOT_FOUND */
export async function findPerson({ db, organizationId }: OrganizationScope, id: string): Promise<Person> {
  const records = isId(id) ? await db.read(recordsStatement, { organizationId, id }) : [];
  if (records.length === 0) throw recordNotFound(liveCustomers, id);
  return {
    organizationId,
    customers: records.map((record) => record.id),
    contactKeys: [...new Set(records.flatMap(({ contactKeys }) => contactKeys))],
  };
}

/** Conditions for the records tied to a person, archived or not. */

export const opportunitiesOf = ($: Params<Person>): SQL => sql`
  ${opportunities.organizationId} = ${$.organizationId} and ${opportunities.customerId} = any(${$.customers}::uuid[])`;

/** Quotes of the person, and quotes without a customer of the person's opportunities. */
export const quotesOf = ($: Params<Person>): SQL => sql`
  ${quotes.organizationId} = ${$.organizationId} and ${quotes.id} = any(array(
    select ${quotes.id} from ${quotes}
    where ${quotes.organizationId} = ${$.organizationId} and ${quotes.customerId} = any(${$.customers}::uuid[])
    union all
    select ${quotes.id} from ${quotes}
    where ${quotes.organizationId} = ${$.organizationId} and ${quotes.customerId} is null and ${quotes.opportunityId} = any(array(
      select ${opportunities.id} from ${opportunities} where ${opportunitiesOf($)}))))`;

/**
 * Threads of the person, and threads without a customer in the same chains or with a contact of the person
 * that no other customer has.
 */
export const threadsOf = ($: Params<Person>): SQL => sql`
  ${conversations.organizationId} = ${$.organizationId}
    and (${conversations.customerId} = any(${$.customers}::uuid[]) or ${conversations.customerId} is null)
    and ${conversations.chainId} = any(array(
      select ${conversations.chainId} from ${conversations}
      where ${conversations.organizationId} = ${$.organizationId} and ${conversations.customerId} = any(${$.customers}::uuid[])
      union
      select ${conversations.chainId} from ${conversations} join ${sentContacts($)}
        on ${conversations.contactKey} = sent.key and ${conversations.channel} = sent.type
      where ${conversations.organizationId} = ${$.organizationId} and ${conversations.customerId} is null
        and not exists (select from ${customerContactKeys}
          where ${customerContactKeys.organizationId} = ${$.organizationId}
            and ${customerContactKeys.customerId} <> all(${$.customers}::uuid[])
            and ${customerContactKeys.identifierType} = sent.type and ${customerContactKeys.contactKey} = sent.key)))`;

type Found = { id: string };
export type Ids = { organizationId: string; ids: readonly string[] };

const lockThreadsStatement = unprepared(
  'customers.lock_threads',
  ($: Params<Person>): SQL<Found> => sql`
    select ${conversations.id} from ${conversations} where ${threadsOf($)} order by ${conversations.id} for no key update`,
);

const lockOpportunitiesStatement = unprepared(
  'customers.lock_opportunities',
  ($: Params<Person>): SQL<Found> => sql`
    select ${opportunities.id} from ${opportunities} where ${opportunitiesOf($)}
    order by ${opportunities.id} for no key update`,
);

/** `for update` keeps files from being attached until the transaction ends. */
const lockQuotesStatement = unprepared(
  'customers.lock_quotes',
  ($: Params<Person>): SQL<Found> => sql`
    select ${quotes.id} from ${quotes} where ${quotesOf($)} order by ${quotes.id} for update`,
);

/** Until the transaction ends, no record can name one of these customers: the trigger `follow_merge` takes the same locks, shared. */
const holdNamesStatement = unprepared(
  'customers.hold_names',
  ($: Params<Ids>) => sql`
    select pg_advisory_xact_lock(hashtextextended(concat(${$.organizationId}::text, final.id), 0))
    from (select ${final.id} from ${customers} as ${final}
      where ${final.organizationId} = ${$.organizationId} and ${final.id} = any(${$.ids}::uuid[]) and ${final.mergedInto} is null
      order by ${final.id}) as final`,
);

const lockRecordsStatement = unprepared(
  'customers.lock_records',
  ($: Params<Ids>): SQL<Found> => sql`
    select ${customers.id} from ${customers}
    where ${customers.organizationId} = ${$.organizationId} and ${customers.id} = any(${$.ids}::uuid[])
    order by ${customers.id} for no key update`,
);

/**
 * Locks everything tied to the person until the transaction ends, in the order of src/db/README.md.
 * @param others more customers to lock
 * @throws LostRace if the person changed before the locks were taken
 */
export async function lockPerson(
  scope: OrganizationScope,
  person: Person,
  others: readonly string[] = [],
): Promise<Record<'threads' | 'opportunities' | 'quotes', Ids>> {
  const { db, organizationId } = scope;
  const lock = async (statement: Statement<Found, Person>): Promise<Ids> => ({
    organizationId,
    ids: (await db.write(statement, person)).map(({ id }) => id),
  });
  await db.write(holdChainsStatement, { organizationId });
  const threads = await lock(lockThreadsStatement);
  const itsOpportunities = await lock(lockOpportunitiesStatement);
  const itsQuotes = await lock(lockQuotesStatement);
  const records = { organizationId, ids: [...person.customers, ...others] };
  await db.write(holdNamesStatement, records);
  await db.write(lockRecordsStatement, records);
  const now = await findPerson(scope, person.customers[0] ?? '');
  if (!isDeepStrictEqual(now, person)) throw new LostRace('The person was changed by somebody else.');
  return { threads, opportunities: itsOpportunities, quotes: itsQuotes };
}
