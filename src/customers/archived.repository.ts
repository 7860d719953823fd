import { sql } from 'drizzle-orm';
import { ApiError } from '../contract/errors.ts';
import {
  ContactTaken,
  defineLockedGet,
  defineRecordList,
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

/** Archived customers have no rows of contact keys. */
const list = defineRecordList(
  customerRecordView,
  {
    ...customerLists,
    query: CustomerRecordFilters,
    filters: { ...customerLists.filters, mergedInto: equals('mergedInto') },
  },
  {
    filters: {
      contact: {
        field: 'contactKeys',
        where: (keys, sent) =>
          sql`${keys} && array(select concat(type, ' ', key) from json_each_text(${sent}::json) as sent(type, key))`,
        value: contactKeysIn,
      },
    },
  },
);

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
  list,
  archive: archiveCustomer,
  restore: restoreCustomer,
};
