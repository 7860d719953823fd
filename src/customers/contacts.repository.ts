import { and, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import {
  contactKey,
  type IdentifierType,
  phoneNumber,
  possibleKeys,
  searchedTexts,
} from '../../rules/contact-key.ts';
import { ApiError } from '../contract/errors.ts';
import {
  activeCustomers,
  contains,
  conversations,
  customerContactKeys,
  customers,
  type Filter,
  LostRace,
  newId,
  type OrganizationScope,
  ofOrganization,
  type Params,
  prepared,
  type RecordKey,
  rowsInOrder,
  search,
  searchableCustomers,
} from '../db/index.ts';
import type { ContactInput, CustomerContact } from './schema.ts';

/**
 * A customer's row has its contacts as JSON, and their contact keys. The trigger `customers_contacts` keeps
 * the keys unique in `customer_contact_keys`: it skips a write whose contact another customer has.
 */

/** The possible contact keys of the filter `contact`, as JSON: `{ type: contactKey }`. */
export const contactKeysIn = (contact: string, { contactType }: { contactType?: unknown }): string =>
  JSON.stringify(possibleKeys(contact, contactType ? [contactType as IdentifierType] : undefined));

/**
 * Customers with one of these contacts. The lateral join looks each key up by itself; a generic plan would read all
 * keys of the organization.
 */
export const ofContacts: Filter = {
  where: ($) => sql`${customers.id} = any(array(
      select found.customer_id from json_each_text(${$}::json) as sent(type, key) cross join lateral (
        select ${customerContactKeys.customerId} from ${customerContactKeys}
        where ${ofOrganization(customerContactKeys)}
          and ${customerContactKeys.identifierType} = sent.type and ${customerContactKeys.contactKey} = sent.key
        limit 1) found))`,
  value: contactKeysIn,
  isShort: true,
};

/** Matches any text of `searchedTexts`. Without a third one, PostgreSQL drops its condition. */
export const containsText = (column: SQL | PgColumn, texts: Placeholder): SQL =>
  sql`(${column} like contains_pattern((${texts}::text[])[1]) or ${column} like contains_pattern((${texts}::text[])[2])
    or ${column} like contains_pattern((${texts}::text[])[3]))`;

/** Text in the search document. One condition instead of two: planning takes a fifth less. */
export const customerQuery = {
  query: {
    ...contains(activeCustomers.searchedText, searchableCustomers.search),
    value: (sent: string) => {
      const texts = searchedTexts(sent);
      return new Set(texts).size === 1 ? sent : texts;
    },
  },
  query_several: search(containsText)(activeCustomers.searchedText, searchableCustomers.search),
};

/** A contact key with its type, as in `customers.contact_keys`: `email ana@example.com`. */
export function keyOfContact({ identifierType, identifierValue }: ContactInput): string {
  return `${identifierType} ${contactKey(identifierType, identifierValue) ?? identifierValue}`;
}

/**
 * The columns of these contacts. The trigger keeps id and name of a contact that the customer already has,
 * and names a new one from its conversations.
 */
export function contactColumns(inputs: readonly ContactInput[]) {
  const search: string[] = [];
  const contactKeys: string[] = [];
  const contacts = inputs.map((input): CustomerContact => {
    const { identifierType, identifierValue } = input;
    const key = keyOfContact(input);
    const number = phoneNumber(identifierType, identifierValue);
    contactKeys.push(key);
    search.push(identifierValue, key.slice(identifierType.length + 1), ...(number ? [number] : []));
    return {
      id: newId(),
      identifierType,
      identifierValue: number ?? identifierValue,
      displayName: null,
      phoneNumber: number,
    };
  });
  return { contacts, contactKeys, contactSearch: search.join('\u001f') };
}

export type ContactKeys = { contactKeys: readonly string[] };

/** Rows of `type`, `key` and `place`, in the order of the keys. */
export const sentContacts = ($: Params<ContactKeys>): SQL => sql`(
  select split_part(sent, ' ', 1) as type, substr(sent, strpos(sent, ' ') + 1) as key, place::int - 1 as place
  from unnest(${$.contactKeys}::text[]) with ordinality as sent(sent, place)) as sent`;

const ownersStatement = prepared(
  'customers.contact_owners',
  ($: Params<RecordKey & ContactKeys>): SQL<{ place: number; customerId: string }> => sql`
    select place, ${customerContactKeys.customerId} as "customerId"
    from ${customerContactKeys} join ${sentContacts($)}
      on ${customerContactKeys.identifierType} = sent.type and ${customerContactKeys.contactKey} = sent.key
    where ${ofOrganization(customerContactKeys)} and ${customerContactKeys.customerId} <> ${$.id}
    order by place`,
);

/**
 * For a write that a trigger has dropped.
 * @param name prefix of error paths
 * @throws CUSTOMER_CONTACT_CONFLICT naming the customers that have these contacts; LostRace if there is none (any more): the next
 * attempt can succeed
 */
export async function rejectTakenContacts(
  scope: OrganizationScope,
  id: string,
  contactKeys: readonly string[],
  name: string,
): Promise<never> {
  const owners = await scope.read(ownersStatement, { id, contactKeys });
  if (owners.length === 0) throw new LostRace('Somebody else had a contact, or a conversation with it.');
  const taken = owners.map(({ place, customerId }) => ({ path: `${name}[${place}]`, customerId }));
  throw new ApiError('CUSTOMER_CONTACT_CONFLICT', taken);
}

const lockThreadsStatement = prepared('customers.lock_unlinked_threads', ($: Params<ContactKeys>) => {
  const unlinked = sql`(select ${conversations.id} from ${conversations} join ${sentContacts($)}
        on ${conversations.contactKey} = sent.key and ${conversations.channel} = sent.type
      where ${ofOrganization(conversations)} and ${conversations.customerId} is null)`;
  const isUnlinked = sql`${conversations.id} = any(array${unlinked})`;
  return rowsInOrder(conversations, and(ofOrganization(conversations), isUnlinked)).for('no key update');
});

/** Locks the conversations that a customer with these contacts would get: before the customer, as src/db/README.md says. */
export const lockUnlinkedThreads = (scope: OrganizationScope, contactKeys: readonly string[]) =>
  scope.write(lockThreadsStatement, { contactKeys });

/**
 * Runs a write that claims contacts for the customer. It does not wait for locked conversations; if it meets one, the next attempt
 * locks them first.
 * @param write throws LostRace if a trigger has dropped it
 * @throws CUSTOMER_CONTACT_CONFLICT naming the customers that have the contacts
 */
export function claimContacts<Result>(
  scope: OrganizationScope,
  id: string,
  contactKeys: readonly string[],
  write: (scope: OrganizationScope) => Promise<Result>,
): Promise<Result> {
  const attempt = (within: OrganizationScope): Promise<Result> =>
    write(within).catch((error) => {
      if (error instanceof LostRace) return rejectTakenContacts(within, id, contactKeys, 'body.contacts');
      throw error;
    });
  return attempt(scope).catch((error) => {
    // A transaction (with If-Match) begins again, and locks them before the customer.
    if (!(error instanceof LostRace) || scope.isTransaction) throw error;
    return scope.transaction(async (within) => {
      await lockUnlinkedThreads(within, contactKeys);
      return attempt(within);
    });
  });
}
