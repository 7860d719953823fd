import { sql } from 'drizzle-orm';
import { possibleKeys } from '../../rules/contact-key.ts';
import { inTransaction, type OrganizationScope } from '../db/pool/scope.ts';
import { defineArchive } from '../db/repository/archive.ts';
import { defineGet, defineLockedGet } from '../db/repository/get.ts';
import {
  changeFilters,
  contains,
  defineList,
  hasEntry,
  newestFirst,
  type Page,
} from '../db/repository/list.ts';
import { missing, organizationParam } from '../db/repository/view.ts';
import { defineCreate, defineUpdate } from '../db/repository/write.ts';
import { columnsOf, fieldsOf } from '../db/sql/field-columns.ts';
import { isId, newId } from '../db/sql/ids.ts';
import { isoTime, type Json } from '../db/sql/json.ts';
import { customers, erasedFiles, erasures, liveCustomers } from '../db/tables/customers.ts';
import {
  claimContacts,
  contactColumns,
  contactNames,
  ofContacts,
  renameContact,
  replaceContacts,
} from './contacts.repository.ts';
import {
  type ArchivedCustomer,
  Customer,
  type CustomerContactUpdate,
  type CustomerCreate,
  CustomerFilters,
  type CustomerListQuery,
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
  fields: fieldsOf(CustomerRecord, customers, {
    ...derived,
    erasedAt: isoTime(sql`(select ${erasures.erasedAt} from ${erasures}
      where ${erasures.organizationId} = ${organizationParam} and ${erasures.customerId} = ${customers.id})`),
    erasurePending: sql`exists (select from ${erasedFiles}
      where ${erasedFiles.organizationId} = ${organizationParam} and ${erasedFiles.customerId} = ${customers.id})`,
  }),
};

/** What requests write of a customer. */
export const customerColumns = {
  ...columnsOf(CustomerUpdate.omit({ contacts: true }), customers),
  contacts: customers.contacts,
  contactSearch: customers.contactSearch,
};

const list = defineList(customerView, {
  query: CustomerFilters,
  order: newestFirst('updatedAt'),
  filters: { ...changeFilters, contact: ofContacts, query: contains(), tag: hasEntry('tags') },
});

/** A page of customers. Text that can be no contact is nobody's. */
export const listCustomers = (
  scope: OrganizationScope,
  { contact, contactType, ...query }: CustomerListQuery,
): Promise<Json<Page<Customer>>> =>
  list(scope, {
    ...query,
    ...(contact !== undefined && {
      contact: JSON.stringify(possibleKeys(contact, contactType && [contactType])),
    }),
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
    const columns = contactColumns(contacts, await contactNames(within, contacts));
    const inserted = insertCustomer(within, id, { ...input, ...columns });
    // Sent with it: neither needs the other's answer. Where the insert fails, this fails of that.
    const claimed = claimContacts(within, id, contacts);
    claimed.catch(() => undefined);
    const created = await inserted;
    await claimed;
    return created;
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
    await renameContact(within, id, contactId, displayName);
    return getCustomerRecord(within, id);
  });

/** @throws CUSTOMER_NOT_FOUND */
export const archiveCustomer = defineArchive<ArchivedCustomer>(liveCustomers, {
  id: customers.id,
  archived: sql`true`,
});
