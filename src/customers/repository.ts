import { sql } from 'drizzle-orm';
import { defineGet, defineLockedGet } from '../db/define/get.ts';
import { contains, defineList, hasEntry, newestFirst } from '../db/define/list.ts';
import { missing } from '../db/define/view.ts';
import { defineArchive, defineCreate, defineUpdate } from '../db/define/write.ts';
import { inTransaction, type OrganizationScope } from '../db/run/scope.ts';
import { customers, liveCustomers } from '../db/schema/customers.ts';
import { columnsOf, fieldsOf } from '../db/sql/field-columns.ts';
import { isId, newId } from '../db/sql/ids.ts';
import type { Json } from '../db/sql/json.ts';
import { claimContacts, contactColumns, contactNames, renameContact, replaceContacts } from './contacts.ts';
import {
  type ArchivedCustomer,
  Customer,
  type CustomerContactUpdate,
  type CustomerCreate,
  CustomerListQuery,
  CustomerRecord,
  CustomerUpdate,
} from './schema.ts';

/** First and last name, joined. Null for a customer that has neither. */
export const customerName = sql<
  string | null
>`nullif(concat_ws(' ', nullif(${customers.firstName}, ''), nullif(${customers.lastName}, '')), '')`;

const derived = { displayName: customerName, contacts: customers.contacts };

export const customerView = { ...liveCustomers, fields: fieldsOf(Customer, customers, derived) };

/** As the dashboard has them: by id also an archived one. */
const recordView = {
  ...liveCustomers,
  visible: sql`true`,
  fields: fieldsOf(CustomerRecord, customers, derived),
};

const customerColumns = {
  ...columnsOf(CustomerUpdate.omit({ contacts: true }), customers),
  contacts: customers.contacts,
  contactSearch: customers.contactSearch,
};

export const listCustomers = defineList(customerView, {
  query: CustomerListQuery,
  order: newestFirst('updatedAt'),
  filters: { query: contains(), tag: hasEntry('tags') },
});

/** @throws CUSTOMER_NOT_FOUND */
export const getCustomer = defineGet(customerView);

/**
 * The customer as the dashboard has it, also an archived one.
 * @throws CUSTOMER_NOT_FOUND
 */
export const getCustomerRecord = defineGet(recordView, 'customers.get_record');

/** @throws CUSTOMER_NOT_FOUND */
export const lockCustomerRecord = defineLockedGet(recordView, 'customers.get_record');

/** @throws CUSTOMER_NOT_FOUND */
export const lockCustomer = defineLockedGet(customerView);

const insertCustomer = defineCreate(customerView, customerColumns);

/**
 * Creates a customer with its contacts, all or nothing.
 * @throws CUSTOMER_CONTACT_CONFLICT
 */
export const createCustomer = (
  scope: OrganizationScope,
  { contacts, ...input }: CustomerCreate,
  id = newId(),
): Promise<Json<Customer>> =>
  inTransaction(scope, async (within) => {
    const names = await contactNames(within, contacts);
    const body = await insertCustomer(within, id, { ...input, ...contactColumns(contacts, names) });
    await claimContacts(within, id, contacts);
    return body;
  });

const patchCustomer = defineUpdate(customerView, customerColumns);

/**
 * Changes the fields that the body has. Null clears a field. Values equal to the stored ones change nothing.
 * @throws CUSTOMER_NOT_FOUND, CUSTOMER_CONTACT_CONFLICT
 */
export async function updateCustomer(
  scope: OrganizationScope,
  id: string,
  { contacts, ...input }: CustomerUpdate,
): Promise<Json<Customer>> {
  if (!contacts) return patchCustomer(scope, id, input);
  if (!isId(id)) throw missing(liveCustomers, id);
  return inTransaction(scope, async (within) =>
    patchCustomer(within, id, { ...input, ...(await replaceContacts(within, id, contacts)) }),
  );
}

/**
 * Changes the name of a contact; null clears it. Without a name nothing changes.
 * @throws CUSTOMER_NOT_FOUND, CUSTOMER_CONTACT_NOT_FOUND
 */
export const updateCustomerContact = (
  scope: OrganizationScope,
  id: string,
  contactId: string,
  { displayName }: CustomerContactUpdate,
): Promise<Json<CustomerRecord>> =>
  inTransaction(scope, async (within) => {
    if (!isId(id)) throw missing(liveCustomers, id);
    if (displayName !== undefined) await renameContact(within, id, contactId, displayName);
    return getCustomerRecord(within, id);
  });

/** @throws CUSTOMER_NOT_FOUND */
export const archiveCustomer = defineArchive<ArchivedCustomer>(liveCustomers, {
  id: customers.id,
  archived: sql`true`,
});
