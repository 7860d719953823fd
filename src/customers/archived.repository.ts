import { type Placeholder, sql } from 'drizzle-orm';
import { ApiError } from '../contract/errors.ts';
import {
  archivedOf,
  ContactTaken,
  customers,
  defineList,
  defineLockedGet,
  defineRestore,
  equals,
  inTransaction,
  type Json,
  type OrganizationScope,
  parseJson,
  storedOf,
} from '../db/index.ts';
import { contactKeysIn, keyOfContact, lockUnlinkedThreads, rejectTaken } from './contacts.repository.ts';
import {
  activeCustomerRecord,
  archiveCustomer,
  customerLists,
  customerRecordView,
  getCustomerRecord,
} from './repository.ts';
import { type CustomerRecord, CustomerRecordFilters } from './schema.ts';

const list = defineList(customerRecordView, {
  ...customerLists,
  name: 'customers.list_records',
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
  archived: archivedOf(customers),
});

const restoreArchived = defineRestore(customerRecordView);
const lockCustomerRecord = defineLockedGet(storedOf(customerRecordView), 'customers.get_stored');

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
    const restored = await restoreArchived(within, id);
    if (restored) return restored;
    await rejectTaken(within, id, contactKeys, 'contacts');
    throw new ContactTaken();
  });
}

/** Customers of the dashboard, archived or not. */
export const customerRecord = {
  ...activeCustomerRecord,
  get: getCustomerRecord,
  list: (scope: OrganizationScope, { contact, ...query }: Parameters<typeof list>[1]) =>
    list(scope, { ...query, [query.archived ? 'archivedContact' : 'contact']: contact }),
  archive: archiveCustomer,
  restore: restoreCustomer,
};
