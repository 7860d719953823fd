import { type SQL, sql } from 'drizzle-orm';
import { missing, type RecordKey, recordOf, rowOf } from '../db/define/view.ts';
import { LostRace } from '../db/run/faults.ts';
import type { OrganizationScope } from '../db/run/scope.ts';
import { customerContactKeys, customers, liveCustomers } from '../db/schema/customers.ts';
import { newId } from '../db/sql/ids.ts';
import { type Params, prepared, type Step, step } from '../db/sql/statement.ts';
import { ApiError } from '../errors.ts';
import { contactKey, type IdentifierType, phoneNumber, searchText } from './contact-key.ts';
import type { ContactInput, CustomerContact } from './schema.ts';

/**
 * The contacts of a customer: an array in its row, and a row for each in `customer_contact_keys`, which is the promise that within an
 * organization a live contact belongs to one customer.
 */

type Contact = { type: IdentifierType; key: string };

function keyOfContact({ identifierType, identifierValue }: ContactInput): Contact {
  const key = contactKey(identifierType, identifierValue);
  if (key === null) throw new Error('A contact passed validation without having a contact key.');
  return { type: identifierType, key };
}

const isSame = (one: Contact, other: Contact): boolean => one.type === other.type && one.key === other.key;

/** What the customer's row keeps of these contacts. A contact that it has already, however written now, keeps id and name. */
export function contactColumns(inputs: readonly ContactInput[], stored: readonly CustomerContact[] = []) {
  const contacts = inputs.map((input): CustomerContact => {
    const { identifierType, identifierValue } = input;
    const known = stored.find((contact) => isSame(keyOfContact(contact), keyOfContact(input)));
    return {
      id: known?.id ?? newId(),
      identifierType,
      identifierValue,
      displayName: known?.displayName ?? null,
      phoneNumber: phoneNumber(identifierType, identifierValue),
    };
  });
  const search = contacts.map((contact) => searchText({ ...contact, contactKey: keyOfContact(contact).key }));
  return { contacts, contactSearch: search.join('\u001f') };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Always in the same order. Two bodies with the same contacts would otherwise wait for each other for ever. */
const inOrder = (contacts: readonly Contact[]): Contact[] =>
  contacts.toSorted((a, b) => compare(a.type, b.type) || compare(a.key, b.key));

type KeyValues = RecordKey & { types: readonly string[]; keys: readonly string[] };

const valuesOf = (key: RecordKey, contacts: readonly Contact[]): KeyValues => ({
  ...key,
  types: contacts.map(({ type }) => type),
  keys: contacts.map((contact) => contact.key),
});

/** The contacts of a request, as types and keys. */
const sent = ($: Params<KeyValues>): SQL => sql`unnest(${$.types}::text[], ${$.keys}::text[])`;

/**
 * Takes the contacts that no customer has. It makes no row for one that is taken: a violation of the primary key would write the
 * contact into PostgreSQL's log.
 */
const claimStatement = prepared(
  'customers.claim_contacts',
  ($: Params<KeyValues>): SQL<{ key: string }> => sql`
    insert into ${customerContactKeys} (organization_id, customer_id, identifier_type, contact_key)
    select ${$.organizationId}::uuid, ${$.id}::uuid, type, key from ${sent($)} as sent(type, key)
    on conflict do nothing returning contact_key as key`,
);

const releaseStatement = prepared(
  'customers.release_contacts',
  ($: Params<KeyValues>) => sql`
    delete from ${customerContactKeys} using ${sent($)} as sent(type, key)
    where ${customerContactKeys.organizationId} = ${$.organizationId} and ${customerContactKeys.customerId} = ${$.id}
      and ${customerContactKeys.identifierType} = sent.type and ${customerContactKeys.contactKey} = sent.key`,
);

const ownersStatement = prepared(
  'customers.contact_owners',
  ($: Params<KeyValues>): SQL<Contact & { customerId: string }> => sql`
    select type, key, ${customerContactKeys.customerId} as "customerId"
    from ${customerContactKeys} join ${sent($)} as sent(type, key)
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
 * A contact could not be claimed.
 * @throws CUSTOMER_CONTACT_CONFLICT naming the customers that have them, unless they are free again
 */
async function refuseTaken(
  { db }: OrganizationScope,
  inputs: readonly ContactInput[],
  values: KeyValues,
): Promise<void> {
  const owners = await db.read(ownersStatement, values);
  if (owners.length > 0) throw contactConflict(inputs.map(keyOfContact), owners);
}

const isFreeAgain = (): LostRace => new LostRace('A contact was taken and is free again.');

/** Takes a new customer away again, and its contacts with it, where one of them could not be claimed. */
const undoStatement = prepared(
  'customers.undo_create',
  ($: Params<RecordKey & { contacts: number }>) => sql`
    delete from ${customers} where ${rowOf(liveCustomers, $)} and ${$.contacts}::integer > (
      select count(*) from ${customerContactKeys}
      where ${customerContactKeys.organizationId} = ${$.organizationId} and ${customerContactKeys.customerId} = ${$.id})`,
);

/** A contact can be taken at the first attempt and free at the second. */
const ATTEMPTS = 3;

/**
 * Creates a customer and claims its contacts, in one round trip.
 * @param create writes the row
 * @throws CUSTOMER_CONTACT_CONFLICT naming the customers that have them
 */
export async function createWithContacts<Row>(
  scope: OrganizationScope,
  id: string,
  inputs: readonly ContactInput[],
  create: Step<Row>,
): Promise<Row[]> {
  const { db, organizationId } = scope;
  const values = valuesOf({ organizationId, id }, inOrder(inputs.map(keyOfContact)));
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const [rows, claimed] = await db.writeTogether([
      create,
      step(claimStatement, values),
      step(undoStatement, { organizationId, id, contacts: inputs.length }),
    ]);
    if (claimed.length === inputs.length) return rows;
    await refuseTaken(scope, inputs, values);
  }
  throw isFreeAgain();
}

const lockContactsStatement = prepared(
  'customers.lock_contacts',
  ($: Params<RecordKey>): SQL<{ contacts: CustomerContact[] }> => sql`
    select ${customers.contacts} as contacts from ${customers} where ${recordOf(liveCustomers, $)} for update`,
);

/**
 * Makes these the contacts of a customer, under its lock: two lists at once do not mix.
 * @returns what its row is to keep of them
 * @throws CUSTOMER_NOT_FOUND, CUSTOMER_CONTACT_CONFLICT
 */
export async function replaceContacts(
  scope: OrganizationScope,
  id: string,
  inputs: readonly ContactInput[],
): Promise<ReturnType<typeof contactColumns>> {
  const { db, organizationId } = scope;
  const [locked] = await db.write(lockContactsStatement, { organizationId, id });
  if (!locked) throw missing(liveCustomers, id);
  const { contacts: stored } = locked;
  const without = (all: readonly ContactInput[], others: readonly ContactInput[]): ContactInput[] =>
    all.filter((one) => !others.some((other) => isSame(keyOfContact(one), keyOfContact(other))));
  const [gone, added] = [without(stored, inputs), without(inputs, stored)];
  if (gone.length > 0)
    await db.write(releaseStatement, valuesOf({ organizationId, id }, gone.map(keyOfContact)));
  const values = valuesOf({ organizationId, id }, inOrder(added.map(keyOfContact)));
  const claimed = added.length > 0 ? await db.write(claimStatement, values) : [];
  if (claimed.length < added.length) {
    await refuseTaken(scope, inputs, values);
    throw isFreeAgain();
  }
  return contactColumns(inputs, stored);
}
