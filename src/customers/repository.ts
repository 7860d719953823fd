import { sql } from 'drizzle-orm';
import { builder, named } from '../db/builder.ts';
import { LostRace } from '../db/faults.ts';
import { columnsOf, fieldsOf } from '../db/fields.ts';
import { defineGet, defineLockedGet } from '../db/get.ts';
import { isId, newId } from '../db/ids.ts';
import { type Json, jsonArray, jsonRows } from '../db/json.ts';
import { contains, defineList, hasEntry, newestFirst } from '../db/list.ts';
import { countFrom, countOf, LIVE_COUNT_MISSING, startCount, uncountLive } from '../db/live-count.ts';
import { definePatch } from '../db/patch.ts';
import { columnList, columnsFrom, recordFrom, recordsFrom, toNewRecord, toRecord } from '../db/record.ts';
import { inPlaceOf, missing, organizationParam, type RecordKey, recordOf, rowOf } from '../db/resource.ts';
import {
  customerBodies,
  customerContacts,
  customers,
  liveCounts,
  liveCustomers,
} from '../db/schema/index.ts';
import { inTransaction, type OrganizationScope } from '../db/scope.ts';
import { changeSearchable, defineSearchKeeper, makeSearchable } from '../db/searchable.ts';
import { type Params, prepared, rendered } from '../db/statement.ts';
import { defineBodyKeeper, keepNewBody } from '../db/stored-body.ts';
import { ApiError } from '../errors.ts';
import { contactKey, phoneNumber, searchText } from './contact-key.ts';
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
  bodies: customerBodies,
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

/** What create and PATCH write of the customer itself. */
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

/** Always in the same order. Two bodies with the same contacts would otherwise wait for each other for ever. */
const toRecords = (contacts: readonly NewContact[]): string =>
  JSON.stringify(
    [...contacts]
      .sort((a, b) => compare(a.identifierType, b.identifierType) || compare(a.contactKey, b.contactKey))
      .map((contact) => toRecord(contactColumns, contact)),
  );

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const ownersStatement = prepared('customers.contact_owners', ($: Params<RecordKey & { contacts: string }>) =>
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
      sql`${recordsFrom(customerContacts, $.contacts)} input`,
      sql`${customerContacts.identifierType} = input.identifier_type and ${customerContacts.contactKey} = input.contact_key`,
    )
    .where(
      sql`${customerContacts.organizationId} = ${$.organizationId} and ${customerContacts.archivedAt} is null
          and ${customerContacts.customerId} <> ${$.id}`,
    ),
);

/**
 * Does nothing when no other customer has one of the contacts.
 * @throws CUSTOMER_CONTACT_CONFLICT naming the customers that have them
 */
async function refuseTakenContacts(
  { db, organizationId }: OrganizationScope,
  id: string,
  contacts: readonly NewContact[],
): Promise<void> {
  const owners = await db.read(ownersStatement, { organizationId, id, contacts: toRecords(contacts) });
  if (owners.length > 0) throw contactConflict(contacts, owners);
}

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

export const listCustomers = defineList(customerView, {
  query: CustomerListQuery,
  order: [newestFirst(customers.updatedAt), newestFirst(customers.id)],
  filters: { query: contains(customers.search), tag: hasEntry(customers.tags) },
});

/** @throws CUSTOMER_NOT_FOUND */
export const getCustomer = defineGet(customerView);

/** @throws CUSTOMER_NOT_FOUND */
export const lockCustomer = defineLockedGet(customerView, getCustomer);

type ContactsValues = RecordKey & { contacts: string };

const contactsOfCustomer = ($: Params<RecordKey>) =>
  sql`${customerContacts.organizationId} = ${$.organizationId} and ${customerContacts.customerId} = ${$.id}`;

/**
 * Makes nothing when another customer has one of the contacts; then nothing follows either. It reads a row of the
 * organization, so that a cluster takes it as one task.
 */
const createStatement = prepared(
  'customers.create',
  ($: Params<ContactsValues & { customer: string }>) => sql`
    insert into ${customers} (organization_id, id, ${columnList(customerColumns)})
    select ${liveCounts.organizationId}, ${$.id}::uuid, ${columnsFrom('input', customerColumns)}
    from ${liveCounts}, ${recordFrom(customers, $.customer)} input
    where ${countOf(liveCustomers)} and not exists (
      select from ${customerContacts} join ${recordsFrom(customerContacts, $.contacts)} input
      on ${customerContacts.identifierType} = input.identifier_type and ${customerContacts.contactKey} = input.contact_key
      where ${customerContacts.organizationId} = ${$.organizationId} and ${customerContacts.archivedAt} is null)`,
);

/** Makes no row for a contact that the customer has already, nor for one that somebody else has just claimed. */
const addContactsStatement = prepared(
  'customers.add_contacts',
  ($: Params<ContactsValues>) => sql<{ id: string }>`
    insert into ${customerContacts} (organization_id, customer_id, ${columnList(contactColumns)})
    select ${customers.organizationId}, ${customers.id}, ${columnsFrom('input', contactColumns)}
    from ${customers}, ${recordsFrom(customerContacts, $.contacts)} input
    where ${rowOf(liveCustomers, $)}
    on conflict do nothing
    returning id as "id"`,
);

/**
 * Fails for a customer that misses a contact: when two requests claim one at the same moment, the second has no number to
 * count. The next attempt finds it taken. A violation of the unique index would write the contact into PostgreSQL's log.
 */
const countStatement = prepared(
  'customers.create_count',
  ($: Params<ContactsValues>) =>
    countFrom(
      liveCustomers,
      sql`case when (select count(*) from ${customerContacts} where ${contactsOfCustomer($)})
        = jsonb_array_length(${$.contacts}::jsonb) then 1 end`,
      sql`from ${customers} where ${rowOf(liveCustomers, $)}`,
    ),
  { racesOn: LIVE_COUNT_MISSING },
);

const CREATE = [
  createStatement,
  addContactsStatement,
  makeSearchable(liveCustomers),
  countStatement,
  keepNewBody(customerView),
] as const;

/** A contact can be taken at the first attempt and free at the second. */
const CREATE_ATTEMPTS = 3;

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
  const customer = toNewRecord(customerColumns, { ...input, contactSearch: searchOf(contacts) });
  const values = {
    organizationId: scope.organizationId,
    id,
    customer: JSON.stringify(customer),
    contacts: toRecords(contacts),
  };
  for (let attempt = 0; attempt < CREATE_ATTEMPTS; attempt += 1) {
    const [row] = await scope.db.writeTogether(CREATE, values);
    if (row) return row.body;
    await refuseTakenContacts(scope, id, contacts);
    await startCount(scope, liveCustomers);
  }
  throw new LostRace('The contacts kept changing hands.');
}

const lockStatement = prepared('customers.lock', ($: Params<RecordKey>) =>
  builder
    .select(named({ id: customers.id }))
    .from(customers)
    .where(recordOf(liveCustomers, $))
    .for('update'),
);

const patchCustomer = definePatch(customerView, customerColumns);

/** The stored contact that is the same account as the input's. */
const sameContact = sql`${customerContacts.identifierType} = input.identifier_type
  and ${customerContacts.contactKey} = input.contact_key`;

const removeContactsStatement = prepared('customers.remove_contacts', ($: Params<ContactsValues>) =>
  builder
    .delete(customerContacts)
    .where(
      sql`${contactsOfCustomer($)} and not exists (
        select from ${recordsFrom(customerContacts, $.contacts)} input where ${sameContact})`,
    )
    .returning(named({ id: customerContacts.id })),
);

const keepContactsStatement = prepared(
  'customers.keep_contacts',
  ($: Params<ContactsValues>) => sql<{ id: string }>`update ${customerContacts}
    set identifier_value = input.identifier_value, position = input.position, phone_number = input.phone_number
    from ${recordsFrom(customerContacts, $.contacts)} input
    where ${contactsOfCustomer($)} and ${sameContact}
      and (${customerContacts.identifierValue}, ${customerContacts.position}) is distinct from (input.identifier_value, input.position)
    returning ${customerContacts.id} as "id"`,
);

const countContactsStatement = prepared('customers.count_contacts', ($: Params<RecordKey>) =>
  builder
    .select({ contacts: sql<number>`count(*)::int`.as('contacts') })
    .from(customerContacts)
    .where(contactsOfCustomer($)),
);

/**
 * Makes these the customer's contacts. A contact that stays keeps its id. The caller holds the customer's lock.
 * @returns whether anything changed
 * @throws CUSTOMER_CONTACT_CONFLICT; LostRace when another customer claims a contact at the same moment
 */
async function replaceContacts(
  scope: OrganizationScope,
  id: string,
  contacts: readonly NewContact[],
): Promise<boolean> {
  const { db, organizationId } = scope;
  await refuseTakenContacts(scope, id, contacts);
  const values = { organizationId, id, contacts: toRecords(contacts) };
  const removed = await db.write(removeContactsStatement, values);
  const kept = await db.write(keepContactsStatement, values);
  const added = await db.write(addContactsStatement, values);
  const [now] = await db.read(countContactsStatement, { organizationId, id });
  if (now?.contacts !== contacts.length) throw new LostRace('A contact was claimed by somebody else.');
  return removed.length + kept.length + added.length > 0;
}

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
  // Under the customer's lock: two such requests at once must not mix their lists.
  return inTransaction(scope, async (within) => {
    const [locked] = await within.db.write(lockStatement, { organizationId: within.organizationId, id });
    if (!locked) throw missing(liveCustomers, id);
    const haveChanged = await replaceContacts(within, id, contacts);
    return patchCustomer(within, id, { ...input, contactSearch: searchOf(contacts) }, haveChanged);
  });
}

const archiveStatement = rendered(
  'customers.archive',
  ($: Params<RecordKey>) => sql<{ body: Json<ArchivedCustomer> }>`with
    ${inPlaceOf(
      customers,
      sql`update ${customers} set archived_at = now() where ${recordOf(liveCustomers, $)} returning *`,
    )},
    released as (
      update ${customerContacts} set archived_at = customers.archived_at from customers
      where ${contactsOfCustomer($)} returning customer_id),
    searched as (${changeSearchable(liveCustomers.searchable, 'customers')}),
    counted as (${uncountLive(liveCustomers, sql`select count(distinct customer_id) from released`)})
    ${jsonRows<ArchivedCustomer>({ id: customers.id, archived: sql`true` }, sql`from customers`)}`,
);

/**
 * Archives a customer and releases its contacts. It takes the customer's lock, so that a contact which another request
 * adds at the same moment is released too.
 * @throws CUSTOMER_NOT_FOUND
 */
export async function archiveCustomer(
  { db, organizationId }: OrganizationScope,
  id: string,
): Promise<Json<ArchivedCustomer>> {
  const key = { organizationId, id };
  const row = isId(id)
    ? await db.transaction(async (transaction) => {
        await transaction.write(lockStatement, key);
        return (await transaction.write(archiveStatement, key))[0];
      })
    : undefined;
  if (!row) throw missing(liveCustomers, id);
  return row.body;
}

export const customerKeepers = {
  bodies: defineBodyKeeper(customerView),
  searchable: defineSearchKeeper(liveCustomers),
};
