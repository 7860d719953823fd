import { isNotNull, type Placeholder, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { ApiError } from '../contract/errors.ts';
import {
  activeCustomers,
  changeFilters,
  columns,
  columnsOf,
  customerName,
  customers,
  defineArchive,
  defineCreate,
  defineGet,
  defineList,
  defineLock,
  defineRestore,
  defineUpdate,
  equals,
  erasures,
  fieldsOf,
  hasEntry,
  type IdempotencyKey,
  includingArchived,
  inTransaction,
  isId,
  isoTime,
  type Json,
  keyIs,
  LostRace,
  newestFirst,
  newId,
  type OrganizationScope,
  ofOrganization,
  type Params,
  parseJson,
  prepared,
  qb,
  type RecordKey,
  searchableCustomers,
  type View,
} from '../db/index.ts';
import {
  claimContacts,
  contactColumns,
  contactKeysIn,
  keyOfContact,
  lockUnlinkedThreads,
  ofContacts,
  rejectTaken,
  search,
} from './contacts.repository.ts';
import {
  type ArchivedCustomer,
  Customer,
  type CustomerCreate,
  CustomerFilters,
  CustomerRecord,
  CustomerRecordFilters,
  CustomerUpdate,
} from './schema.ts';

const derivedFields = { displayName: customerName, contacts: customers.contacts };

export const customerView = { ...activeCustomers, fields: fieldsOf(Customer, customers, derivedFields) };

const erasureOf = sql`${erasures} where ${ofOrganization(erasures)} and ${erasures.customerId} = ${customers.id}`;

export const isErased = sql`exists (select from ${erasureOf})`;

/** The customer as the dashboard reads it. */
const customerRecordView = {
  ...activeCustomers,
  fields: fieldsOf(CustomerRecord, customers, {
    ...derivedFields,
    erasedAt: sql`(select ${isoTime(erasures.erasedAt)} from ${erasureOf})`,
  }),
};

export const customerColumns = {
  ...columnsOf(CustomerUpdate.omit({ contacts: true }), customers),
  contacts: customers.contacts,
  contactKeys: customers.contactKeys,
  contactSearch: customers.contactSearch,
};

const customerLists = {
  query: CustomerFilters,
  order: newestFirst(customers, customers.updatedAt),
  filters: {
    ...changeFilters(activeCustomers),
    ...search,
    contact: ofContacts,
    tag: hasEntry(customers.tags, searchableCustomers.tags),
  },
};

export const listCustomers = defineList('customers.list', customerView, customerLists);

const survivor = alias(customers, 'survivor');

const mergedStatement = prepared('customers.merged_into', ($: Params<RecordKey>) =>
  qb
    .select(columns({ mergedInto: survivor.id, isActive: sql<boolean>`${survivor.archivedAt} is null` }))
    .from(customers)
    .innerJoin(survivor, keyIs(survivor, { organizationId: $.organizationId, id: customers.mergedInto }))
    .where(keyIs(customers, $)),
);

/** Wraps an operation: its 404 for a merged customer names the customer that it became. */
const withMergedHint =
  <Args extends unknown[], Result>(
    work: (scope: OrganizationScope, id: string, ...args: Args) => Promise<Result>,
  ): typeof work =>
  (scope, id, ...args) =>
    work(scope, id, ...args).catch(async (error) => {
      if (!isId(id) || !(error instanceof ApiError && error.code === 'CUSTOMER_NOT_FOUND')) throw error;
      const [merged] = await scope.db.read(mergedStatement, { organizationId: scope.organizationId, id });
      if (!merged) throw error;
      const next = merged.isActive ? 'Use that id' : 'That customer is archived';
      const instead = ` It was merged into customer ${merged.mergedInto}. ${next}.`;
      throw new ApiError('CUSTOMER_NOT_FOUND', { id, instead });
    });

/**
 * What both APIs do, each with the fields that it shows. The functions throw CUSTOMER_NOT_FOUND; those that write
 * CUSTOMER_CONTACT_CONFLICT, which the trigger `customers_contacts` decides.
 */
function defineCustomers<T extends Customer>(name: string, view: View<T>) {
  const get = withMergedHint(defineGet(`${name}.get`, view));
  const lock = defineLock(customers, get);
  const insert = defineCreate(`${name}.create`, view, customerColumns);
  // `update customers set city = $city where … archived_at is null returning *`, of the fields that are sent.
  const patch = withMergedHint(defineUpdate(`${name}.update`, view, customerColumns, get));
  return {
    get,
    /** Locks the customer to write it, after the conversations that it gets with these contacts. */
    lock: async (
      scope: OrganizationScope,
      id: string,
      { contacts }: CustomerUpdate = {},
    ): Promise<Json<T>> => {
      if (contacts) await lockUnlinkedThreads(scope, contacts.map(keyOfContact));
      return lock(scope, id);
    },
    create: (
      scope: OrganizationScope,
      { contacts, ...input }: CustomerCreate,
      key?: IdempotencyKey,
    ): Promise<Json<T>> => {
      const id = newId();
      const columns = contactColumns(contacts);
      return claimContacts(scope, id, columns.contactKeys, (claiming) =>
        insert(claiming, id, { ...input, ...columns }, key),
      );
    },
    update: async (
      scope: OrganizationScope,
      id: string,
      { contacts, ...input }: CustomerUpdate,
    ): Promise<Json<T>> => {
      if (!contacts) return patch(scope, id, input);
      const columns = contactColumns(contacts);
      return claimContacts(scope, id, columns.contactKeys, async (within) => {
        const body = await patch(within, id, { ...input, ...columns });
        const stored = parseJson(body).contacts.map(keyOfContact);
        if (stored.join() !== columns.contactKeys.join()) throw new LostRace('A trigger kept the contacts.');
        return body;
      });
    },
  };
}

export const publicCustomers = defineCustomers('customers', customerView);
export const { get: getCustomer, create: createCustomer, update: updateCustomer } = publicCustomers;

/** Active customers, as the dashboard reads them. */
export const activeCustomerRecord = defineCustomers('customer_records', customerRecordView);

/**
 * An archived customer too.
 * @throws CUSTOMER_NOT_FOUND
 */
export const getCustomerRecord = defineGet('customers.get_stored', includingArchived(customerRecordView));

/** @throws CUSTOMER_NOT_FOUND */
export const archiveCustomer = withMergedHint(
  defineArchive<ArchivedCustomer>('customers.archive', activeCustomers, {
    id: customers.id,
    archived: sql`true`,
  }),
);

const listRecords = defineList('customers.list_records', customerRecordView, {
  ...customerLists,
  query: CustomerRecordFilters,
  filters: {
    ...customerLists.filters,
    // Archived customers have no rows of contact keys.
    archivedContact: {
      where: ($: Placeholder) => sql`${customers.contactKeys} &&
        array(select concat(type, ' ', key) from json_each_text(${$}::json) as sent(type, key))`,
      value: contactKeysIn,
    },
    mergedInto: equals(customers.mergedInto),
  },
  archived: { visible: isNotNull(customers.archivedAt), order: newestFirst(customers, customers.archivedAt) },
});

const lockCustomerRecord = defineLock(customers, getCustomerRecord);
const restoreArchived = defineRestore('customers.restore', customerRecordView);

/**
 * Restores an archived customer with its contacts.
 * @throws CUSTOMER_NOT_FOUND, CUSTOMER_NOT_ARCHIVED, CUSTOMER_ERASED, CUSTOMER_MERGED,
 * CUSTOMER_CONTACT_CONFLICT
 */
async function restoreCustomer(scope: OrganizationScope, id: string): Promise<Json<CustomerRecord>> {
  const contactKeys = parseJson(await getCustomerRecord(scope, id)).contacts.map(keyOfContact);
  return inTransaction(scope, async (within) => {
    await lockUnlinkedThreads(within, contactKeys);
    // Under the lock: a merge or an erasure is seen, or waits.
    const { archivedAt, erasedAt, mergedInto } = parseJson(await lockCustomerRecord(within, id));
    if (archivedAt === null) throw new ApiError('CUSTOMER_NOT_ARCHIVED');
    if (erasedAt !== null) throw new ApiError('CUSTOMER_ERASED');
    if (mergedInto !== null) throw new ApiError('CUSTOMER_MERGED', { mergedInto });
    return (await restoreArchived(within, id)) ?? rejectTaken(within, id, contactKeys, 'contacts');
  });
}

/** Customers of the dashboard, archived or not. */
export const customerRecord = {
  ...activeCustomerRecord,
  get: getCustomerRecord,
  list: (scope: OrganizationScope, { contact, ...query }: Parameters<typeof listRecords>[1]) =>
    listRecords(scope, { ...query, [query.archived ? 'archivedContact' : 'contact']: contact }),
  archive: archiveCustomer,
  restore: restoreCustomer,
};
