import { sql } from 'drizzle-orm';
import { defineArchive } from '../db/define/archive.ts';
import { defineKeptGet, defineLockedGet } from '../db/define/get.ts';
import { contains, defineList, hasEntry, newestFirst } from '../db/define/list.ts';
import { addLive } from '../db/define/live-count.ts';
import { defineEnd, definePatch, writeRecord } from '../db/define/patch.ts';
import { missing, organizationParam, type RecordKey } from '../db/define/view.ts';
import type { OrganizationScope } from '../db/run/scope.ts';
import { customerContacts, customers, liveCustomers } from '../db/schema/customers.ts';
import { columnsOf, fieldsOf } from '../db/sql/field-columns.ts';
import { isId, newId } from '../db/sql/ids.ts';
import { type Json, jsonArray } from '../db/sql/json.ts';
import { placeholdersOf, rowValues } from '../db/sql/row.ts';
import { builder, type Params, prepared, step } from '../db/sql/statement.ts';
import {
  addSteps,
  claimingContacts,
  newContacts,
  releaseContactsStatement,
  replaceSteps,
  searchOf,
} from './contacts.ts';
import {
  type ArchivedCustomer,
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

export const customerView = {
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

export const listCustomers = defineList(customerView, {
  query: CustomerListQuery,
  order: newestFirst('updatedAt'),
  filters: { query: contains('search'), tag: hasEntry('tags') },
});

/** @throws CUSTOMER_NOT_FOUND */
export const getCustomer = defineKeptGet(customerView);

/** @throws CUSTOMER_NOT_FOUND */
export const lockCustomer = defineLockedGet(customerView, getCustomer);

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

/** @throws CUSTOMER_NOT_FOUND */
export const archiveCustomer = defineArchive<ArchivedCustomer>(liveCustomers, {
  fields: { id: sql`gone.id`, archived: sql`true` },
  after: [releaseContactsStatement],
});
