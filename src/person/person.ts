import { and, eq, or, type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { z } from 'zod';
import { id as recordId } from '../contract/fields.ts';
import { type ContactKeys, sentContacts } from '../customers/contacts.repository.ts';
import {
  activeCustomers,
  columns,
  conversations,
  customerContactKeys,
  customers,
  isAnyOf,
  isId,
  keyIs,
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

/** What belongs to a person, archived or not: an export returns it, and an erasure erases it. */

export const sameContacts = z
  .array(recordId())
  .describe(
    'Ids of other customers that have one of the contacts, or had it when they were archived, and are not erased: they may be the same person.',
  );

/** The ids of a customer and of everybody merged into it, and their contact keys. `id` is that of the survivor. */
export type Person = ContactKeys & { id: string; customers: readonly string[] };

const final = alias(customers, 'final');

/** The customer that this one became, or itself. */
const finalOf = ($: Params<RecordKey>) =>
  qb
    .select(columns({ id: sql`coalesce(${final.mergedInto}, ${final.id})` }))
    .from(final)
    .where(keyIs(final, $));

const recordsStatement = unprepared('customers.of_person', ($: Params<RecordKey>) => {
  const { id, mergedInto, contactKeys } = customers;
  return qb
    .select(columns({ id, contactKeys, mergedInto }))
    .from(customers)
    .where(and(ofOrganization(customers), or(eq(id, finalOf($)), eq(mergedInto, finalOf($)))))
    .orderBy(id);
});

/** @throws CUSTOMER_NOT_FOUND */
export async function findPerson(scope: OrganizationScope, id: string): Promise<Person> {
  const records = isId(id) ? await scope.read(recordsStatement, { id }) : [];
  const survivor = records.find(({ mergedInto }) => mergedInto === null);
  if (!survivor) throw recordNotFound(activeCustomers, id);
  return {
    id: survivor.id,
    customers: records.map((record) => record.id),
    contactKeys: [...new Set(records.flatMap(({ contactKeys }) => contactKeys))],
  };
}

export const opportunitiesOf = ($: Params<Person>) =>
  and(ofOrganization(opportunities), isAnyOf(opportunities.customerId, $.customers));

export const quotesOf = ($: Params<Person>) =>
  and(ofOrganization(quotes), isAnyOf(quotes.customerId, $.customers));

/** Chains with a thread of the person, or with an unlinked thread whose contact nobody else has. */
export const chainsOf = ($: Params<Person>): SQL => sql`
  ${ofOrganization(conversations)} and ${conversations.chainId} = any(array(
      select ${conversations.chainId} from ${conversations}
      where ${ofOrganization(conversations)} and ${conversations.customerId} = any(${$.customers}::uuid[])
      union
      select ${conversations.chainId} from ${conversations} join ${sentContacts($)}
        on ${conversations.contactKey} = sent.key and ${conversations.channel} = sent.type
      where ${ofOrganization(conversations)} and ${conversations.customerId} is null
        and not exists (select from ${customerContactKeys}
          where ${ofOrganization(customerContactKeys)}
            and ${customerContactKeys.customerId} <> all(${$.customers}::uuid[])
            and ${customerContactKeys.identifierType} = sent.type and ${customerContactKeys.contactKey} = sent.key)))`;

/** Of the threads of these chains, those that have no other customer. */
export const isTied = ($: Params<Person>) =>
  sql<boolean>`(${conversations.customerId} = any(${$.customers}::uuid[]) or ${conversations.customerId} is null)`;

const sameContactsStatement = unprepared(
  'customers.same_contacts',
  ($: Params<Person>): SQL<{ id: string }> => sql`
    select coalesce(${customers.mergedInto}, ${customers.id}) as id from ${customers}
    where ${ofOrganization(customers)} and ${customers.id} <> all(${$.customers}::uuid[])
      and ${customers.archivedAt} is not null and ${customers.contactKeys} && ${$.contactKeys}::text[]
    union
    select ${customerContactKeys.customerId} from ${customerContactKeys} join ${sentContacts($)}
      on ${customerContactKeys.identifierType} = sent.type and ${customerContactKeys.contactKey} = sent.key
    where ${ofOrganization(customerContactKeys)} and ${customerContactKeys.customerId} <> all(${$.customers}::uuid[])
    order by id`,
);

/** The ids of other customers that have one of the contacts, or had it when they were archived. */
export const findSameContacts = async (scope: OrganizationScope, person: Person): Promise<string[]> =>
  (await scope.read(sameContactsStatement, person)).map(({ id }) => id);
