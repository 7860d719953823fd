import { sql } from 'drizzle-orm';
import { ApiError } from '../contract/errors.ts';
import {
  ContactTaken,
  customers,
  defineRecordList,
  defineRestore,
  equals,
  type Json,
  type OrganizationScope,
  parseJson,
} from '../db/index.ts';
import { claimContacts, contactKeysIn, keyOfContact } from './contacts.repository.ts';
import {
  activeCustomerRecord,
  archiveCustomer,
  customerLists,
  customerRecordView,
  getCustomerRecord,
  isErased,
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

const restoreArchived = defineRestore(
  customerRecordView,
  sql`${customers.mergedInto} is null and not ${isErased}`,
);

/**
 * Restores an archived customer with its contacts.
 * @throws CUSTOMER_NOT_FOUND, CUSTOMER_NOT_ARCHIVED, CUSTOMER_ERASED, CUSTOMER_MERGED,
 * CUSTOMER_CONTACT_CONFLICT
 */
async function restoreCustomer(scope: OrganizationScope, id: string): Promise<Json<CustomerRecord>> {
  const { contacts } = parseJson(await getCustomerRecord(scope, id));
  return claimContacts(
    scope,
    id,
    contacts.map(keyOfContact),
    async (within) => {
      const restored = await restoreArchived(within, id);
      if (restored) return restored;
      const { archivedAt, erasurePending, erasedAt, mergedInto } = parseJson(
        await getCustomerRecord(within, id),
      );
      if (archivedAt === null) throw new ApiError('CUSTOMER_NOT_ARCHIVED');
      if (erasedAt !== null || erasurePending) throw new ApiError('CUSTOMER_ERASED');
      if (mergedInto !== null) throw new ApiError('CUSTOMER_MERGED', { mergedInto });
      throw new ContactTaken();
    },
    'contacts',
  );
}

/** Customers of the dashboard, archived or not. */
export const customerRecord = {
  ...activeCustomerRecord,
  get: getCustomerRecord,
  list,
  archive: archiveCustomer,
  restore: restoreCustomer,
};
