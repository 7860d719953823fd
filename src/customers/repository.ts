import { sql } from 'drizzle-orm';
import { defineGet, defineLockedGet } from '../db/define/get.ts';
import { contains, defineList, hasEntry, newestFirst } from '../db/define/list.ts';
import { missing } from '../db/define/view.ts';
import { createStep, defineArchive, defineUpdate, onlyBody } from '../db/define/write.ts';
import { inTransaction, type OrganizationScope } from '../db/run/scope.ts';
import { customers, liveCustomers } from '../db/schema/customers.ts';
import { columnsOf, fieldsOf } from '../db/sql/field-columns.ts';
import { isId, newId } from '../db/sql/ids.ts';
import type { Json } from '../db/sql/json.ts';
import { contactColumns, createWithContacts, replaceContacts } from './contacts.ts';
import {
  type ArchivedCustomer,
  Customer,
  type CustomerCreate,
  CustomerListQuery,
  CustomerUpdate,
} from './schema.ts';

/** First and last name, joined. Null for a customer that has neither. */
export const customerName = sql<
  string | null
>`nullif(concat_ws(' ', nullif(${customers.firstName}, ''), nullif(${customers.lastName}, '')), '')`;

export const customerView = {
  ...liveCustomers,
  fields: fieldsOf(Customer, customers, { displayName: customerName, contacts: customers.contacts }),
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

/** @throws CUSTOMER_NOT_FOUND */
export const lockCustomer = defineLockedGet(customerView);

const insertCustomer = createStep(customerView, customerColumns);

/**
 * Creates a customer with its contacts, all or nothing.
 * @throws CUSTOMER_CONTACT_CONFLICT
 */
export async function createCustomer(
  scope: OrganizationScope,
  { contacts, ...input }: CustomerCreate,
  id = newId(),
): Promise<Json<Customer>> {
  const key = { organizationId: scope.organizationId, id };
  const create = insertCustomer(key, { ...input, ...contactColumns(contacts) });
  return onlyBody(await createWithContacts(scope, id, contacts, create));
}

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

/** @throws CUSTOMER_NOT_FOUND */
export const archiveCustomer = defineArchive<ArchivedCustomer>(liveCustomers, {
  id: customers.id,
  archived: sql`true`,
});
