import { isNotNull, type Placeholder, type SQL, sql } from 'drizzle-orm';
import { alias, type PgColumn } from 'drizzle-orm/pg-core';
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
  hasEntry,
  type IdempotencyKey,
  includingArchived,
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
  viewOf,
} from '../db/index.ts';
import {
  claimContacts,
  contactColumns,
  contactKeysIn,
  customerQuery,
  keyOfContact,
  lockUnlinkedThreads,
  ofContacts,
  rejectTakenContacts,
} from './contacts.repository.ts';
import {
  type ArchivedCustomer,
  Customer,
  type CustomerCreate,
  CustomerListQuery,
  CustomerRecord,
  CustomerRecordListQuery,
  CustomerUpdate,
} from './schema.ts';

const derivedFields = { displayName: customerName, contacts: customers.contacts };

/** What `/v1` shows. */
export const customerView = viewOf(activeCustomers, Customer, derivedFields);

const erasureOf = (customerId: PgColumn): SQL =>
  sql`${erasures} where ${ofOrganization(erasures)} and ${erasures.customerId} = ${customerId}`;

export const isErased = (customerId: PgColumn): SQL => sql`exists (select from ${erasureOf(customerId)})`;

/** What the dashboard shows. */
const recordView = viewOf(activeCustomers, CustomerRecord, {
  ...derivedFields,
  erasedAt: sql`(select ${isoTime(erasures.erasedAt)} from ${erasureOf(customers.id)})`,
});

export const customerColumns = {
  ...columnsOf(CustomerUpdate.omit({ contacts: true }), customers),
  contacts: customers.contacts,
  contactKeys: customers.contactKeys,
  contactSearch: customers.contactSearch,
};

/** A merged customer stands for the one that it was merged into. */
export const survivorOf = (
  id: Placeholder | SQL,
): SQL => sql`coalesce((select ${customers.mergedInto} from ${customers}
  where ${ofOrganization(customers)} and ${customers.id} = ${id}), ${id}::uuid)`;

const survivor = alias(customers, 'survivor');

const mergedStatement = prepared('customers.merged_into', ($: Params<RecordKey>) =>
  qb
    .select(columns({ mergedInto: survivor.id, isActive: sql<boolean>`${survivor.archivedAt} is null` }))
    .from(customers)
    .innerJoin(survivor, keyIs(survivor, { id: customers.mergedInto }))
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
      const [merged] = await scope.read(mergedStatement, { id });
      if (!merged) throw error;
      const next = merged.isActive ? 'Use that id' : 'That customer is archived';
      const hint = ` It was merged into customer ${merged.mergedInto}. ${next}.`;
      throw new ApiError('CUSTOMER_NOT_FOUND', { id, hint });
    });

const lists = {
  query: CustomerListQuery,
  order: newestFirst(customers, customers.updatedAt),
  filters: {
    ...changeFilters(activeCustomers),
    ...customerQuery,
    contact: ofContacts,
    tag: hasEntry(customers.tags, searchableCustomers.tags),
  },
};

export const listCustomers = defineList('customers.list', customerView, lists);

/** Active customers of an API, with the fields that it shows. The functions throw CUSTOMER_NOT_FOUND. */
function statementsOf<T extends Customer>(name: string, view: View<T>) {
  const get = defineGet(`${name}.get`, view);
  return {
    /** `select … where organization_id = $organizationId and id = $id and archived_at is null` */
    get: withMergedHint(get),
    /** The same, after `select … for no key update`. */
    lock: withMergedHint(defineLock(customers, get)),
    /** `insert into customers (…) values (…) returning *` */
    insert: defineCreate(`${name}.create`, view, customerColumns),
    /** `update customers set city = $city where … and archived_at is null returning *`, of the fields that are sent. */
    patch: withMergedHint(defineUpdate(`${name}.update`, view, customerColumns, get)),
  };
}
export type CustomerStatements = ReturnType<typeof statementsOf<Customer>>;

export const customerStatements = statementsOf('customers', customerView);
export const customerRecordStatements = statementsOf('customer_records', recordView);

/** @throws CUSTOMER_CONTACT_CONFLICT: the trigger `customers_contacts` drops the insert of a contact that another customer has */
export function createCustomer(
  scope: OrganizationScope,
  { insert }: CustomerStatements,
  { contacts, ...input }: CustomerCreate,
  key?: IdempotencyKey,
): Promise<Json<Customer>> {
  const id = newId();
  const columns = contactColumns(contacts);
  return claimContacts(scope, id, columns.contactKeys, (claiming) =>
    insert(claiming, id, { ...input, ...columns }, key),
  );
}

/** Locks the customer to write it, after the conversations that it gets with these contacts. */
export async function lockCustomer(
  scope: OrganizationScope,
  { lock }: CustomerStatements,
  id: string,
  { contacts }: CustomerUpdate,
): Promise<Json<Customer>> {
  if (contacts) await lockUnlinkedThreads(scope, contacts.map(keyOfContact));
  return lock(scope, id);
}

/** @throws CUSTOMER_NOT_FOUND, and as `createCustomer` CUSTOMER_CONTACT_CONFLICT */
export async function updateCustomer(
  scope: OrganizationScope,
  { patch }: CustomerStatements,
  id: string,
  { contacts, ...input }: CustomerUpdate,
): Promise<Json<Customer>> {
  if (!contacts) return patch(scope, id, input);
  const columns = contactColumns(contacts);
  return claimContacts(scope, id, columns.contactKeys, async (within) => {
    const body = await patch(within, id, { ...input, ...columns });
    const stored = parseJson(body).contacts.map(keyOfContact);
    if (stored.join() !== columns.contactKeys.join()) throw new LostRace('A trigger kept the contacts.');
    return body;
  });
}

/**
 * `update customers set archived_at = now() where … and archived_at is null returning id`; a trigger releases the contacts.
 * @throws CUSTOMER_NOT_FOUND
 */
export const archiveCustomer = withMergedHint(
  defineArchive<ArchivedCustomer>('customers.archive', activeCustomers, {
    id: customers.id,
    archived: sql`true`,
  }),
);

const listRecords = defineList('customers.list_records', recordView, {
  ...lists,
  query: CustomerRecordListQuery,
  filters: {
    ...lists.filters,
    // Archived customers have no rows of contact keys.
    archivedContact: {
      where: ($: Placeholder) => sql`${customers.contactKeys} &&
        array(select concat(type, ' ', key) from json_each_text(${$}::json) as sent(type, key))`,
      value: contactKeysIn,
    },
    mergedInto: {
      ...equals(customers.mergedInto),
      where: ($: Placeholder) => sql`${customers.mergedInto} = ${survivorOf($)}`,
    },
  },
  archived: { visible: isNotNull(customers.archivedAt), order: newestFirst(customers, customers.archivedAt) },
});

export const listCustomerRecords = (
  scope: OrganizationScope,
  { contact, ...query }: Parameters<typeof listRecords>[1],
) => listRecords(scope, { ...query, [query.archived ? 'archivedContact' : 'contact']: contact });

/**
 * An archived customer too.
 * @throws CUSTOMER_NOT_FOUND
 */
export const getCustomerRecord = defineGet('customers.get_stored', includingArchived(recordView));

const lockCustomerRecord = defineLock(customers, getCustomerRecord);
const restoreArchived = defineRestore('customers.restore', recordView);

/**
 * Restores an archived customer with its contacts.
 * @throws CUSTOMER_NOT_FOUND, CUSTOMER_NOT_ARCHIVED, CUSTOMER_ERASED, CUSTOMER_MERGED,
 * CUSTOMER_CONTACT_CONFLICT
 */
export async function restoreCustomer(scope: OrganizationScope, id: string): Promise<Json<CustomerRecord>> {
  const contactKeys = parseJson(await getCustomerRecord(scope, id)).contacts.map(keyOfContact);
  return scope.transaction(async (within) => {
    await lockUnlinkedThreads(within, contactKeys);
    // Under the lock: a merge or an erasure is seen, or waits.
    const { archivedAt, erasedAt, mergedInto } = parseJson(await lockCustomerRecord(within, id));
    if (archivedAt === null) throw new ApiError('CUSTOMER_NOT_ARCHIVED');
    if (erasedAt !== null) throw new ApiError('CUSTOMER_ERASED');
    if (mergedInto !== null) throw new ApiError('CUSTOMER_MERGED');
    return (await restoreArchived(within, id)) ?? rejectTakenContacts(within, id, contactKeys, 'contacts');
  });
}
