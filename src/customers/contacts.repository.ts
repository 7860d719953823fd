import { type SQL, sql } from 'drizzle-orm';
import { contactKey, phoneNumber, searchText } from '../../rules/contact-key.ts';
import { ApiError, notFound } from '../contract/errors.ts';
import { LostRace, type OrganizationScope } from '../db/pool/scope.ts';
import type { Filter } from '../db/repository/list.ts';
import { missing, organizationParam, type RecordKey, recordOf } from '../db/repository/view.ts';
import { newId } from '../db/sql/ids.ts';
import { type Json, parseJson } from '../db/sql/json.ts';
import { type Params, prepared } from '../db/sql/statement.ts';
import { conversations } from '../db/tables/conversations.ts';
import { customerContactKeys, customers, liveCustomers } from '../db/tables/customers.ts';
import type { ContactInput, CustomerContact } from './schema.ts';

/**
 * The contacts of a customer: an array in its row, and a row for each in `customer_contact_keys`, which is the promise that within an
 * organization a live contact belongs to one customer.
 */

/**
 * The customers that have one of these contacts, as JSON: the contact key of each type. Each key is looked up by itself: a plan
 * that does not know how large the organization is would rather read all of its keys.
 */
export const ofContacts: Filter = {
  field: 'id',
  where: (id, keys) => sql`${id} = any(array(
      select found.customer_id from json_each_text(${keys}::json) as sent(type, key) cross join lateral (
        select ${customerContactKeys.customerId} from ${customerContactKeys}
        where ${customerContactKeys.organizationId} = ${organizationParam}
          and ${customerContactKeys.identifierType} = sent.type and ${customerContactKeys.contactKey} = sent.key
        limit 1) found))`,
  by: 'key',
};

type Contact = { type: string; key: string };

export function keyOfContact({ identifierType, identifierValue }: ContactInput): Contact {
  const key = contactKey(identifierType, identifierValue);
  if (key === null) throw new Error('A contact passed validation without having a contact key.');
  return { type: identifierType, key };
}

const isSame = (one: Contact, other: Contact): boolean => one.type === other.type && one.key === other.key;

/**
 * What the customer's row keeps of these contacts. A telephone number is shown in E.164, and found as it was sent too. A contact
 * that the customer has already, however written now, keeps id and name.
 * @param names of contacts on their channels
 */
export function contactColumns(
  inputs: readonly ContactInput[],
  names: readonly Named[],
  stored: readonly CustomerContact[] = [],
) {
  const search: string[] = [];
  const contacts = inputs.map((input): CustomerContact => {
    const { identifierType, identifierValue } = input;
    const key = keyOfContact(input);
    const known = stored.find((contact) => isSame(keyOfContact(contact), key));
    const number = phoneNumber(identifierType, identifierValue);
    search.push(searchText({ identifierValue, contactKey: key.key, phoneNumber: number }));
    return {
      id: known?.id ?? newId(),
      identifierType,
      identifierValue: number ?? identifierValue,
      displayName: known ? known.displayName : (names.find((named) => isSame(named, key))?.name ?? null),
      phoneNumber: number,
    };
  });
  return { contacts, contactSearch: search.join('\u001f') };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Always in the same order. Two bodies with the same contacts would otherwise wait for each other for ever. */
const inOrder = (contacts: readonly Contact[]): Contact[] =>
  contacts.toSorted((a, b) => compare(a.type, b.type) || compare(a.key, b.key));

export type Named = Contact & { name: string };

/** Contacts as the arrays of a statement. */
export type Arrays = { types: readonly string[]; keys: readonly string[] };
type KeyValues = RecordKey & Arrays;

export const arraysOf = (contacts: readonly Contact[]): Arrays => ({
  types: contacts.map(({ type }) => type),
  keys: contacts.map(({ key }) => key),
});

export const sentContacts = ($: Params<Arrays>): SQL => sql`unnest(${$.types}::text[], ${$.keys}::text[])`;

/**
 * The conversations that name contacts: of each the latest with it that says a name. The contacts come as JSON: PostgreSQL would plan a
 * statement with arrays at each run, because it knows their length only then.
 */
const contactNamesStatement = prepared(
  'customers.contact_names',
  ($: Params<{ organizationId: string; contacts: string }>): SQL<Named & { conversationId: string }> => sql`
    select sent.type, sent.key, found.id as "conversationId", found.name
    from json_to_recordset(${$.contacts}::json) as sent(type text, key text) cross join lateral (
      select ${conversations.id}, ${conversations.contactName} as name from ${conversations}
      where ${conversations.organizationId} = ${$.organizationId} and ${conversations.contactKey} = sent.key
        and ${conversations.channel} = sent.type and ${conversations.contactName} is not null
      order by ${conversations.createdAt} desc nulls last, ${conversations.id} desc nulls last limit 1) found`,
);

/**
 * Until the transaction ends, nobody else gives a contact to a customer or a name to the contact: of a customer and a conversation that
 * are written at the same moment, the second reads what the first has written.
 */
const lockNamesStatement = prepared(
  'customers.lock_contact_names',
  ($: Params<{ organizationId: string; contacts: string }>) => sql`
    select pg_advisory_xact_lock(hashtextextended(concat('contact ', ${$.organizationId}::text, ' ', type, ' ', key), 0))
    from json_to_recordset(${$.contacts}::json) as sent(type text, key text)`,
);

/** The names that conversations give to contacts; none for a contact without a conversation that says one. */
async function namesOf({ db, organizationId }: OrganizationScope, contacts: readonly Contact[]) {
  if (contacts.length === 0) return [];
  const values = { organizationId, contacts: JSON.stringify(inOrder(contacts)) };
  // Two statements: one that waits for a lock sees what was there before.
  const [, names] = await Promise.all([
    db.write(lockNamesStatement, values),
    db.read(contactNamesStatement, values),
  ]);
  return names;
}

/** The same of contacts as they were sent. */
export const contactNames = (
  scope: OrganizationScope,
  inputs: readonly ContactInput[],
): Promise<readonly Named[]> => namesOf(scope, inputs.map(keyOfContact));

/**
 * Takes the contacts that no customer has. It makes no row for one that is taken: a violation of the primary key would write the
 * contact into PostgreSQL's log.
 */
const claimStatement = prepared(
  'customers.claim_contacts',
  ($: Params<KeyValues>): SQL<{ key: string }> => sql`
    insert into ${customerContactKeys} (organization_id, customer_id, identifier_type, contact_key)
    select ${$.organizationId}::uuid, ${$.id}::uuid, type, key from ${sentContacts($)} as sent(type, key)
    on conflict do nothing returning contact_key as key`,
);

const releaseStatement = prepared(
  'customers.release_contacts',
  ($: Params<KeyValues>) => sql`
    delete from ${customerContactKeys} using ${sentContacts($)} as sent(type, key)
    where ${customerContactKeys.organizationId} = ${$.organizationId} and ${customerContactKeys.customerId} = ${$.id}
      and ${customerContactKeys.identifierType} = sent.type and ${customerContactKeys.contactKey} = sent.key`,
);

const ownersStatement = prepared(
  'customers.contact_owners',
  ($: Params<KeyValues>): SQL<Contact & { customerId: string }> => sql`
    select type, key, ${customerContactKeys.customerId} as "customerId"
    from ${customerContactKeys} join ${sentContacts($)} as sent(type, key)
      on ${customerContactKeys.identifierType} = sent.type and ${customerContactKeys.contactKey} = sent.key
    where ${customerContactKeys.organizationId} = ${$.organizationId} and ${customerContactKeys.customerId} <> ${$.id}`,
);

function contactConflict(
  contacts: readonly Contact[],
  owners: readonly (Contact & { customerId: string })[],
): ApiError {
  const details = contacts.flatMap((contact, index) => {
    const owner = owners.find((taken) => isSame(taken, contact));
    return owner ? [{ path: `body.contacts[${index}]`, customerId: owner.customerId }] : [];
  });
  const list = details.map(({ path, customerId }) => `${path} belongs to customer ${customerId}`).join('; ');
  return new ApiError('CUSTOMER_CONTACT_CONFLICT', `A contact can belong to one customer only: ${list}.`, {
    details,
  });
}

/**
 * Claims contacts for the customer, in the transaction of the caller.
 * @param sent the list that they were sent in
 * @throws CUSTOMER_CONTACT_CONFLICT naming the customers that have them
 */
export async function claimContacts(
  { db, organizationId }: OrganizationScope,
  id: string,
  sent: readonly ContactInput[],
  added = sent,
): Promise<void> {
  if (added.length === 0) return;
  const values = { organizationId, id, ...arraysOf(inOrder(added.map(keyOfContact))) };
  const claimed = await db.write(claimStatement, values);
  if (claimed.length === added.length) return;
  const owners = await db.read(ownersStatement, values);
  if (owners.length > 0) throw contactConflict(sent.map(keyOfContact), owners);
  throw new LostRace('A contact was taken and is free again.');
}

const lockContactsStatement = prepared(
  'customers.lock_contacts',
  ($: Params<RecordKey>): SQL<{ contacts: Json<CustomerContact[]> }> => sql`
    select ${customers.contacts} as contacts from ${customers} where ${recordOf(liveCustomers, $)} for update`,
);

async function lockContacts(
  { db, organizationId }: OrganizationScope,
  id: string,
): Promise<CustomerContact[]> {
  const [locked] = await db.write(lockContactsStatement, { organizationId, id });
  if (!locked) throw missing(liveCustomers, id);
  return parseJson(locked.contacts);
}

/**
 * Makes these the contacts of a customer, under its lock: two lists at once do not mix.
 * @returns what its row is to keep of them; nothing where that is what it has
 * @throws CUSTOMER_NOT_FOUND, CUSTOMER_CONTACT_CONFLICT
 */
export async function replaceContacts(
  scope: OrganizationScope,
  id: string,
  inputs: readonly ContactInput[],
): Promise<Partial<ReturnType<typeof contactColumns>>> {
  const { db, organizationId } = scope;
  const stored = await lockContacts(scope, id);
  const without = (all: readonly ContactInput[], others: readonly ContactInput[]): ContactInput[] =>
    all.filter((one) => !others.some((other) => isSame(keyOfContact(one), keyOfContact(other))));
  const [gone, added] = [without(stored, inputs), without(inputs, stored)];
  if (gone.length > 0)
    await db.write(releaseStatement, { organizationId, id, ...arraysOf(gone.map(keyOfContact)) });
  await claimContacts(scope, id, inputs, added);
  const columns = contactColumns(inputs, await contactNames(scope, added), stored);
  return JSON.stringify(columns.contacts) === JSON.stringify(stored) ? {} : columns;
}

const nameStatement = prepared(
  'customers.name_contact',
  ($: Params<RecordKey & { contacts: string }>) => sql`
    update ${customers} set contacts = ${$.contacts}::json where ${recordOf(liveCustomers, $)}`,
);

/**
 * Names the contact of a customer that `isMeant`, under the customer's lock. Without a name it keeps the one that it has.
 * @returns whether there is one
 * @throws CUSTOMER_NOT_FOUND
 */
async function nameContact(
  scope: OrganizationScope,
  id: string,
  isMeant: (contact: CustomerContact) => boolean,
  displayName: string | null | undefined,
): Promise<boolean> {
  const { db, organizationId } = scope;
  const stored = await lockContacts(scope, id);
  const contacts = stored.map((contact) =>
    isMeant(contact) && displayName !== undefined ? { ...contact, displayName } : contact,
  );
  await db.write(nameStatement, { organizationId, id, contacts: JSON.stringify(contacts) });
  return stored.some(isMeant);
}

/**
 * Names a contact, in the transaction of the caller.
 * @throws CUSTOMER_NOT_FOUND, CUSTOMER_CONTACT_NOT_FOUND
 */
export async function renameContact(
  scope: OrganizationScope,
  id: string,
  contactId: string,
  displayName: string | null | undefined,
): Promise<void> {
  const isNamed = await nameContact(
    scope,
    id,
    (contact) => contact.id === contactId.toLowerCase(),
    displayName,
  );
  if (!isNamed) throw notFound('CUSTOMER_CONTACT_NOT_FOUND', 'customer contact', contactId);
}

const ownerStatement = prepared(
  'customers.contact_owner',
  ($: Params<Contact & { organizationId: string }>): SQL<{ customerId: string }> => sql`
    select ${customerContactKeys.customerId} as "customerId" from ${customerContactKeys}
    where ${customerContactKeys.organizationId} = ${$.organizationId}
      and ${customerContactKeys.identifierType} = ${$.type} and ${customerContactKeys.contactKey} = ${$.key}`,
);

/**
 * Gives the customer's contact the name that it has in this conversation, unless a later conversation with it says one. In the
 * transaction that wrote the conversation.
 */
export async function nameFromConversation(
  scope: OrganizationScope,
  conversationId: string,
  contact: Contact,
): Promise<void> {
  const { db, organizationId } = scope;
  const [naming] = await namesOf(scope, [contact]);
  if (naming?.conversationId !== conversationId) return;
  const [owner] = await db.read(ownerStatement, { organizationId, ...contact });
  if (!owner) return;
  await nameContact(scope, owner.customerId, (each) => isSame(keyOfContact(each), contact), naming.name);
}
