import { sql } from 'drizzle-orm';
import { defineCopies } from '../db/copies/copies.ts';
import { defineArchive } from '../db/define/archive.ts';
import { defineKeptGet, defineLockedGet } from '../db/define/get.ts';
import { contains, defineList, hasEntry, newestFirst } from '../db/define/list.ts';
import { addLive } from '../db/define/live-count.ts';
import { defineEnd, definePatch, writeRecord } from '../db/define/patch.ts';
import { missing, organizationParam, type RecordKey, recordOf } from '../db/define/view.ts';
import { LostRace, refusalOf } from '../db/run/faults.ts';
import type { OrganizationScope } from '../db/run/scope.ts';
import { customerContacts, customers, liveCustomers } from '../db/schema/customers.ts';
import { builder, named } from '../db/sql/builder.ts';
import { columnsOf, fieldsOf } from '../db/sql/field-columns.ts';
import { isId, newId } from '../db/sql/ids.ts';
import { type Json, jsonArray } from '../db/sql/json.ts';
import { nextUpdatedAt, placeholdersOf, rowValues } from '../db/sql/row.ts';
import { type Params, prepared, type Step, step } from '../db/sql/statement.ts';
import { ApiError } from '../errors.ts';
import { contactKey, type IdentifierType, phoneNumber, searchText } from './contact-key.ts';
import {
  type ArchivedCustomer,
  type ContactInput,
  Customer,
  CustomerContact,
  type CustomerCreate,
  CustomerListQuery,
  CustomerUpdate,
} from './schema.ts';

/** First and last name, joined. Null for a customer that has neither. */
export const customerName = sql<
  string | null
>`nullif(concat_ws(' ', nullif(${customers.firstName}, ''), nullif(${customers.lastName}, '')), '')`;

const customerView = {
  ...liveCustomers,
  fields: fieldsOf(Customer, customers, {
    displayName: customerName,
    contacts: jsonArray(
      fieldsOf(CustomerContact, customerContacts),
      sql`from ${customerContacts}
        where ${customerContacts.organizationId} = ${organizationParam} and ${customerContacts.customerId} = ${customers.id}
        order by ${customerContacts.position}`,
    ),
  }),
};

/** The columns that create and PATCH write of the customer itself. */
const customerColumns = {
  ...columnsOf(CustomerUpdate.omit({ contacts: true }), customers),
  contactSearch: customers.contactSearch,
};

const contactColumns = {
  id: customerContacts.id,
  position: customerContacts.position,
  identifierType: customerContacts.identifierType,
  identifierValue: customerContacts.identifierValue,
  contactKey: customerContacts.contactKey,
  phoneNumber: customerContacts.phoneNumber,
};

type NewContact = ContactInput & {
  id: string;
  position: number;
  contactKey: string;
  phoneNumber: string | null;
};

const newContacts = (inputs: readonly ContactInput[]): NewContact[] =>
  inputs.map(({ identifierType, identifierValue }, position) => {
    const key = contactKey(identifierType, identifierValue);
    if (key === null) throw new Error('A contact passed validation without having a contact key.');
    const number = phoneNumber(identifierType, identifierValue);
    return { id: newId(), position, identifierType, identifierValue, contactKey: key, phoneNumber: number };
  });

const searchOf = (contacts: readonly NewContact[]): string => contacts.map(searchText).join('\u001f');

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Always in the same order. Two bodies with the same contacts would otherwise wait for each other for ever. */
const inOrder = (contacts: readonly NewContact[]): NewContact[] =>
  contacts.toSorted(
    (a, b) => compare(a.identifierType, b.identifierType) || compare(a.contactKey, b.contactKey),
  );

export const listCustomers = defineList(customerView, {
  query: CustomerListQuery,
  order: newestFirst('updatedAt'),
  filters: { query: contains('search'), tag: hasEntry('tags') },
});

/** @throws CUSTOMER_NOT_FOUND */
export const getCustomer = defineKeptGet(customerView);

/** @throws CUSTOMER_NOT_FOUND */
export const lockCustomer = defineLockedGet(customerView, getCustomer);

type ContactTypes = { types: readonly IdentifierType[]; keys: readonly string[] };

const typesAndKeys = (contacts: readonly NewContact[]): ContactTypes => ({
  types: contacts.map(({ identifierType }) => identifierType),
  keys: contacts.map(({ contactKey: key }) => key),
});

/** The contacts of a request, as types and keys. */
const sentContacts = ($: Params<ContactTypes>) =>
  sql`unnest(${$.types}::text[], ${$.keys}::text[]) sent(type, key)`;

const ownersStatement = prepared('customers.contact_owners', ($: Params<RecordKey & ContactTypes>) =>
  builder
    .select(
      named({
        identifierType: customerContacts.identifierType,
        contactKey: customerContacts.contactKey,
        customerId: customerContacts.customerId,
      }),
    )
    .from(customerContacts)
    .innerJoin(
      sentContacts($),
      sql`${customerContacts.identifierType} = sent.type and ${customerContacts.contactKey} = sent.key`,
    )
    .where(
      sql`${customerContacts.organizationId} = ${$.organizationId} and ${customerContacts.archivedAt} is null
          and ${customerContacts.customerId} <> ${$.id}`,
    ),
);

function contactConflict(
  contacts: readonly NewContact[],
  owners: readonly { identifierType: string; contactKey: string; customerId: string }[],
): ApiError {
  const details = contacts.flatMap(({ identifierType, contactKey: key }, index) => {
    const owner = owners.find((taken) => taken.identifierType === identifierType && taken.contactKey === key);
    return owner ? [{ path: `body.contacts[${index}]`, customerId: owner.customerId }] : [];
  });
  const list = details.map(({ path, customerId }) => `${path} belongs to customer ${customerId}`).join('; ');
  return new ApiError('CUSTOMER_CONTACT_CONFLICT', `A contact can belong to one customer only: ${list}.`, {
    details,
  });
}

const contactsOfCustomer = ($: Params<RecordKey>) =>
  sql`${customerContacts.organizationId} = ${$.organizationId} and ${customerContacts.customerId} = ${$.id}`;

type ContactValues = { organizationId: string; customerId: string } & Record<
  keyof typeof contactColumns,
  unknown
>;

/**
 * Adds one contact. It makes no row where a customer has the contact already; `refuseTakenStatement` then refuses. A
 * violation of the unique index would write the contact into PostgreSQL's log.
 */
const addContactStatement = prepared('customers.add_contact', ($: Params<ContactValues>) =>
  builder
    .insert(customerContacts)
    .values({
      ...placeholdersOf($, contactColumns),
      organizationId: $.organizationId,
      customerId: $.customerId,
    } as never)
    .onConflictDoNothing(),
);

/** Ends the write unless the customer has all contacts that were sent: another customer has one. */
const refuseTakenStatement = prepared(
  'customers.refuse_taken_contacts',
  ($: Params<RecordKey & { contacts: number }>) => sql`
    select refuse_unless(count(*) = ${$.contacts}::integer, 'CUSTOMER_CONTACT_CONFLICT')
    from ${customerContacts} where ${contactsOfCustomer($)}`,
);

const addSteps = (key: RecordKey, contacts: readonly NewContact[]): Step[] => [
  ...inOrder(contacts).map((contact) =>
    step(addContactStatement, {
      ...rowValues(contactColumns, contact),
      organizationId: key.organizationId,
      customerId: key.id,
    }),
  ),
  step(refuseTakenStatement, { ...key, contacts: contacts.length }),
];

/** A contact can be taken at the first attempt and free at the second. */
const ATTEMPTS = 3;

/**
 * Runs a write that claims contacts.
 * @throws CUSTOMER_CONTACT_CONFLICT naming the customers that have them, CUSTOMER_NOT_FOUND
 */
async function claimingContacts<Result>(
  scope: OrganizationScope,
  id: string,
  contacts: readonly NewContact[],
  write: () => Promise<Result>,
): Promise<Result> {
  const { db, organizationId } = scope;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === 'CUSTOMER_NOT_FOUND') throw missing(liveCustomers, id);
      if (refusal !== 'CUSTOMER_CONTACT_CONFLICT') throw error;
      const owners = await db.read(ownersStatement, { organizationId, id, ...typesAndKeys(contacts) });
      if (owners.length > 0) throw contactConflict(contacts, owners);
    }
  }
  throw new LostRace('The contacts kept changing hands.');
}

const createStatement = prepared(
  'customers.create',
  ($: Params<RecordKey & Record<keyof typeof customerColumns, unknown>>) =>
    builder.insert(customers).values({
      ...placeholdersOf($, customerColumns),
      organizationId: $.organizationId,
      id: $.id,
    } as never),
);

const endOfWrite = defineEnd(customerView);

/**
 * Creates a customer with its contacts, all or nothing.
 * @throws CUSTOMER_CONTACT_CONFLICT
 */
export async function createCustomer(
  scope: OrganizationScope,
  { contacts: inputs, ...input }: CustomerCreate,
  id = newId(),
): Promise<Json<Customer>> {
  const contacts = newContacts(inputs);
  const key = { organizationId: scope.organizationId, id };
  const values = rowValues(customerColumns, { ...input, contactSearch: searchOf(contacts) });
  const body = await claimingContacts(scope, id, contacts, () =>
    writeRecord<Customer>(scope, [
      step(createStatement, { ...values, ...key }),
      ...addSteps(key, contacts),
      addLive(scope.organizationId, liveCustomers, 1),
      ...endOfWrite(key),
    ]),
  );
  if (body === undefined) throw new Error('Creating a customer returned no row.');
  return body;
}

const patchCustomer = definePatch(customerView, customerColumns);

/** Ends the write unless there is such a customer: the contacts of an archived one stay as they are. */
const refuseMissingStatement = prepared(
  'customers.refuse_missing',
  ($: Params<RecordKey>) => sql`
    select refuse_unless(count(*) = 1, 'CUSTOMER_NOT_FOUND') from ${customers} where ${recordOf(liveCustomers, $)}`,
);

/** A change of the contacts is a change of their customer. */
const contactsChangeStatement = prepared(
  'customers.contacts_change',
  ($: Params<RecordKey & { contacts: readonly string[] }>) => sql`
    update ${customers} set updated_at = ${nextUpdatedAt(customers.updatedAt)}
    where ${recordOf(liveCustomers, $)} and array(
      select concat_ws(' ', ${customerContacts.identifierType}, ${customerContacts.identifierValue})
      from ${customerContacts} where ${contactsOfCustomer($)} order by ${customerContacts.position}) <> ${$.contacts}::text[]`,
);

const removeContactsStatement = prepared('customers.remove_contacts', ($: Params<RecordKey & ContactTypes>) =>
  builder.delete(customerContacts).where(
    sql`${contactsOfCustomer($)} and (${customerContacts.identifierType}, ${customerContacts.contactKey}) not in (
          select sent.type, sent.key from ${sentContacts($)})`,
  ),
);

/** The stored contact of the same account gets the place and the spelling that were sent. Its id stays. */
const keepContactStatement = prepared(
  'customers.keep_contact',
  ($: Params<ContactValues>) => sql`
    update ${customerContacts} set position = ${$.position}, identifier_value = ${$.identifierValue}, phone_number = ${$.phoneNumber}
    where ${customerContacts.organizationId} = ${$.organizationId} and ${customerContacts.customerId} = ${$.customerId}
      and ${customerContacts.identifierType} = ${$.identifierType} and ${customerContacts.contactKey} = ${$.contactKey}
      and (${customerContacts.position}, ${customerContacts.identifierValue}) is distinct from (${$.position}, ${$.identifierValue})`,
);

/** Makes these the customer's contacts. The customer is locked: two lists at once do not mix. */
const replaceSteps = (key: RecordKey, contacts: readonly NewContact[]): Step[] => [
  step(refuseMissingStatement, key),
  step(contactsChangeStatement, {
    ...key,
    contacts: contacts.map(({ identifierType, identifierValue }) => `${identifierType} ${identifierValue}`),
  }),
  step(removeContactsStatement, { ...key, ...typesAndKeys(contacts) }),
  ...inOrder(contacts).map((contact) =>
    step(keepContactStatement, {
      ...rowValues(contactColumns, contact),
      organizationId: key.organizationId,
      customerId: key.id,
    }),
  ),
  ...addSteps(key, contacts),
];

/**
 * Changes the fields that the body has. Null clears a field. Values equal to the stored ones change nothing.
 * @throws CUSTOMER_NOT_FOUND, CUSTOMER_CONTACT_CONFLICT
 */
export async function updateCustomer(
  scope: OrganizationScope,
  id: string,
  { contacts: inputs, ...input }: CustomerUpdate,
): Promise<Json<Customer>> {
  if (!inputs) return patchCustomer(scope, id, input);
  if (!isId(id)) throw missing(liveCustomers, id);
  const contacts = newContacts(inputs);
  const key = { organizationId: scope.organizationId, id };
  return claimingContacts(scope, id, contacts, () =>
    patchCustomer(scope, id, { ...input, contactSearch: searchOf(contacts) }, replaceSteps(key, contacts)),
  );
}

/** An archived customer releases its contacts. */
const releaseContactsStatement = prepared(
  'customers.release_contacts',
  ($: Params<RecordKey>) => sql`
    update ${customerContacts} set archived_at = now() where ${contactsOfCustomer($)} and ${customerContacts.archivedAt} is null`,
);

/** @throws CUSTOMER_NOT_FOUND */
export const archiveCustomer = defineArchive<ArchivedCustomer>(liveCustomers, {
  fields: { id: sql`gone.id`, archived: sql`true` },
  after: [releaseContactsStatement],
});

export const customerCopies = defineCopies(customerView);
