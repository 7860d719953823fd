import { sql } from 'drizzle-orm';
import { violatedConstraint } from '../db/faults.ts';
import { isId, newId } from '../db/ids.ts';
import { type Fields, isoTime, type Json, jsonArray, jsonRows } from '../db/json.ts';
import { defineList, newestFirst, searchFilter } from '../db/list.ts';
import { countLive, liveTotal } from '../db/live-count.ts';
import { type PatchValues, patchStatement } from '../db/patch.ts';
import { names, namesOf, recordFrom, recordsFrom, toRecord, writable } from '../db/record.ts';
import { customerContacts, customers } from '../db/schema/index.ts';
import type { OrganizationScope } from '../db/scope.ts';
import { lookup, prepared, rendered } from '../db/statement.ts';
import { ApiError, notFound, serviceUnavailable } from '../errors.ts';
import { contactKey, phoneNumber, searchText } from './contact-key.ts';
import type {
  ArchivedCustomer,
  ContactInput,
  Customer,
  CustomerContact,
  CustomerCreate,
  CustomerUpdate,
} from './schema.ts';

const contactFields: Fields<CustomerContact> = {
  id: customerContacts.id,
  identifierType: customerContacts.identifierType,
  identifierValue: customerContacts.identifierValue,
  displayName: customerContacts.displayName,
  phoneNumber: customerContacts.phoneNumber,
};

/** First and last name joined; null for a customer that gave neither. */
export const customerName = sql`nullif(concat_ws(' ', nullif(${customers.firstName}, ''), nullif(${customers.lastName}, '')), '')`;

const customerFields: Fields<Customer> = {
  id: customers.id,
  firstName: customers.firstName,
  lastName: customers.lastName,
  displayName: customerName,
  city: customers.city,
  country: customers.country,
  preferredLanguage: customers.preferredLanguage,
  summary: customers.summary,
  tags: customers.tags,
  contacts: jsonArray(
    contactFields,
    sql`from ${customerContacts}
      where ${customerContacts.organizationId} = ${customers.organizationId} and ${customerContacts.customerId} = ${customers.id}
      order by ${customerContacts.position}`,
  ),
  createdAt: isoTime(customers.createdAt),
  updatedAt: isoTime(customers.updatedAt),
};

/** What create and PATCH write of the customer itself. */
const customerColumns = writable({
  firstName: customers.firstName,
  lastName: customers.lastName,
  city: customers.city,
  country: customers.country,
  preferredLanguage: customers.preferredLanguage,
  summary: customers.summary,
  tags: customers.tags,
  contactSearch: customers.contactSearch,
});

const contactColumns = writable({
  id: customerContacts.id,
  position: customerContacts.position,
  identifierType: customerContacts.identifierType,
  identifierValue: customerContacts.identifierValue,
  contactKey: customerContacts.contactKey,
  phoneNumber: customerContacts.phoneNumber,
});

const liveCustomer = sql`${customers.archivedAt} is null`;

const oneCustomer = sql`${customers.organizationId} = ${sql.placeholder('organizationId')}
  and ${customers.id} = ${sql.placeholder('id')} and ${liveCustomer}`;

const contactsOfCustomer = sql`${customerContacts.organizationId} = ${sql.placeholder('organizationId')}
  and ${customerContacts.customerId} = ${sql.placeholder('id')}`;

const customerNotFound = (id: string): ApiError => notFound('CUSTOMER_NOT_FOUND', 'customer', id);

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

/** In one order for everybody: two bodies with the same contacts would otherwise wait for each other. */
const toRecords = (contacts: readonly NewContact[]): string =>
  JSON.stringify(
    [...contacts]
      .sort((a, b) => compare(a.identifierType, b.identifierType) || compare(a.contactKey, b.contactKey))
      .map((contact) => toRecord(contactColumns, contact)),
  );

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const ownersStatement = prepared<
  { identifierType: string; contactKey: string; customerId: string },
  { organizationId: string; contacts: string; id: string }
>(
  'find_contact_owners',
  sql`select ${customerContacts.identifierType} as "identifierType", ${customerContacts.contactKey} as "contactKey",
      ${customerContacts.customerId} as "customerId"
    from ${recordsFrom(customerContacts, 'contacts')} input
    join ${customerContacts} on ${customerContacts.organizationId} = ${sql.placeholder('organizationId')}
      and ${customerContacts.identifierType} = input.identifier_type and ${customerContacts.contactKey} = input.contact_key
    where ${customerContacts.archivedAt} is null and ${customerContacts.customerId} <> ${sql.placeholder('id')}`,
);

const CONFLICT_RETRIES = 3;

/**
 * Runs a write that claims contacts for the customer. Uniqueness is the index's; a violation is answered with the
 * customers that have the contacts, or tried again when they have just let them go.
 * @throws CUSTOMER_CONTACT_CONFLICT
 */
async function claimContacts<Result>(
  { db, organizationId }: OrganizationScope,
  id: string,
  contacts: readonly NewContact[],
  write: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 0; attempt < CONFLICT_RETRIES; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      if (violatedConstraint(error) !== 'customer_contacts_live_key') throw error;
    }
    const owners = await db.read(ownersStatement, { organizationId, id, contacts: toRecords(contacts) });
    if (owners.length > 0) throw contactConflict(contacts, owners);
  }
  throw serviceUnavailable(new Error('The contacts kept changing hands.'));
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

export const listCustomers = defineList<Customer, 'query' | 'tag'>({
  name: 'list_customers',
  table: customers,
  fields: customerFields,
  visible: liveCustomer,
  order: [newestFirst(customers.updatedAt), newestFirst(customers.id)],
  filters: {
    query: searchFilter(customers.search),
    tag: sql`${customers.tags} @> array[${sql.placeholder('tag')}]::text[]`,
  },
  plannedFor: ['query', 'tag'],
  total: liveTotal('customers'),
});

const getStatement = lookup<Customer, { organizationId: string; id: string }>(
  'get_customer',
  jsonRows(customerFields, sql`from ${customers} where ${oneCustomer}`),
);

/** @throws CUSTOMER_NOT_FOUND */
export async function getCustomer(
  { db, organizationId }: OrganizationScope,
  id: string,
): Promise<Json<Customer>> {
  const [row] = isId(id) ? await db.read(getStatement, { organizationId, id }) : [];
  if (!row) throw customerNotFound(id);
  return row.body;
}

const createStatement = rendered<
  Customer,
  { organizationId: string; id: string; customer: string; contacts: string }
>(
  'create_customer',
  sql`with customers as (
      insert into ${customers} (organization_id, id, ${names(customerColumns)})
      select ${sql.placeholder('organizationId')}::uuid, ${sql.placeholder('id')}::uuid, ${namesOf('input', customerColumns)}
      from ${recordFrom(customers, 'customer')} input
      returning *),
    customer_contacts as (
      insert into ${customerContacts} (organization_id, customer_id, ${names(contactColumns)})
      select customers.organization_id, customers.id, ${namesOf('input', contactColumns)}
      from customers, ${recordsFrom(customerContacts, 'contacts')} input
      returning *),
    counted as (${countLive('customers', sql`select count(distinct customer_id) from customer_contacts`)})
    ${jsonRows(customerFields, sql`from customers`)}`,
);

/**
 * Creates a customer with its contacts, all or nothing.
 * @throws CUSTOMER_CONTACT_CONFLICT
 */
export async function createCustomer(
  scope: OrganizationScope,
  input: CustomerCreate,
  id = newId(),
): Promise<Json<Customer>> {
  const contacts = newContacts(input.contacts);
  const customer = toRecord(customerColumns, { ...input, contactSearch: searchOf(contacts) });
  const [row] = await claimContacts(scope, id, contacts, () =>
    scope.db.write(createStatement, {
      organizationId: scope.organizationId,
      id,
      customer: JSON.stringify(customer),
      contacts: toRecords(contacts),
    }),
  );
  if (!row) throw new Error('Creating a customer returned no row.');
  return row.body;
}

const lockStatement = prepared<{ id: string }, { organizationId: string; id: string }>(
  'lock_customer',
  sql`select ${customers.id} as id from ${customers} where ${oneCustomer} for update`,
);

const updateStatement = patchStatement<Customer, PatchValues & { contactsChanged: boolean }>({
  name: 'update_customer',
  table: customers,
  fields: customerFields,
  columns: customerColumns,
  where: oneCustomer,
  touchedIf: sql`${sql.placeholder('contactsChanged')}`,
});

const replaceContactsStatement = prepared<
  { changes: number },
  { organizationId: string; id: string; contacts: string }
>(
  'replace_customer_contacts',
  sql`with input as (select * from ${recordsFrom(customerContacts, 'contacts')}),
    stored as (select * from ${customerContacts} where ${contactsOfCustomer}),
    removed as (
      delete from ${customerContacts} where ${contactsOfCustomer} and not exists (
        select from input where input.identifier_type = ${customerContacts.identifierType}
          and input.contact_key = ${customerContacts.contactKey})
      returning 1),
    kept as (
      update ${customerContacts} set identifier_value = input.identifier_value, position = input.position,
        phone_number = input.phone_number
      from input
      where ${contactsOfCustomer} and ${customerContacts.identifierType} = input.identifier_type
        and ${customerContacts.contactKey} = input.contact_key
        and (${customerContacts.identifierValue}, ${customerContacts.position}) is distinct from (input.identifier_value, input.position)
      returning 1),
    added as (
      insert into ${customerContacts} (organization_id, customer_id, ${names(contactColumns)})
      select ${sql.placeholder('organizationId')}::uuid, ${sql.placeholder('id')}::uuid, ${namesOf('input', contactColumns)}
      from input where not exists (
        select from stored where stored.identifier_type = input.identifier_type and stored.contact_key = input.contact_key)
      order by input.identifier_type collate "C", input.contact_key collate "C"
      returning 1)
    select ((select count(*) from removed) + (select count(*) from kept) + (select count(*) from added))::int as changes`,
);

/** Replaces the contacts under the customer's lock, so that two such requests cannot end in a mixture of both lists. */
async function updateWithContacts(
  scope: OrganizationScope,
  id: string,
  input: CustomerUpdate,
  contacts: readonly NewContact[],
): Promise<Json<Customer> | undefined> {
  const { db, organizationId } = scope;
  const patch = JSON.stringify(toRecord(customerColumns, { ...input, contactSearch: searchOf(contacts) }));
  return claimContacts(scope, id, contacts, () =>
    db.transaction(async (transaction) => {
      const [locked] = await transaction.write(lockStatement, { organizationId, id });
      if (!locked) return undefined;
      const [replaced] = await transaction.write(replaceContactsStatement, {
        organizationId,
        id,
        contacts: toRecords(contacts),
      });
      const contactsChanged = (replaced?.changes ?? 0) > 0;
      const [row] = await transaction.write(updateStatement, { organizationId, id, patch, contactsChanged });
      return row?.body;
    }),
  );
}

/**
 * Changes the fields that the body has; null clears one. Values equal to the stored ones change nothing.
 * @throws CUSTOMER_NOT_FOUND, CUSTOMER_CONTACT_CONFLICT
 */
export async function updateCustomer(
  scope: OrganizationScope,
  id: string,
  input: CustomerUpdate,
): Promise<Json<Customer>> {
  if (!isId(id)) throw customerNotFound(id);
  if (input.contacts) {
    const body = await updateWithContacts(scope, id, input, newContacts(input.contacts));
    if (body === undefined) throw customerNotFound(id);
    return body;
  }
  const [row] = await scope.db.write(updateStatement, {
    organizationId: scope.organizationId,
    id,
    patch: JSON.stringify(toRecord(customerColumns, input)),
    contactsChanged: false,
  });
  if (!row) throw customerNotFound(id);
  return row.body;
}

const archiveStatement = rendered<ArchivedCustomer, { organizationId: string; id: string }>(
  'archive_customer',
  sql`with customers as (
      update ${customers} set archived_at = now() where ${oneCustomer} returning *),
    released as (
      update ${customerContacts} set archived_at = customers.archived_at from customers
      where ${contactsOfCustomer} returning 1),
    counted as (${countLive('customers', sql`select -count(*) from customers where (select count(*) from released) >= 0`)})
    ${jsonRows({ id: customers.id, archived: sql`true` }, sql`from customers`)}`,
);

/**
 * Archives a customer and releases its contacts. Under the customer's lock, so that a contact which another request is
 * adding is released too.
 * @throws CUSTOMER_NOT_FOUND
 */
export async function archiveCustomer(
  { db, organizationId }: OrganizationScope,
  id: string,
): Promise<Json<ArchivedCustomer>> {
  const row = isId(id)
    ? await db.transaction(async (transaction) => {
        await transaction.write(lockStatement, { organizationId, id });
        return (await transaction.write(archiveStatement, { organizationId, id }))[0];
      })
    : undefined;
  if (!row) throw customerNotFound(id);
  return row.body;
}
