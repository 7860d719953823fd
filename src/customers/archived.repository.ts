import { sql } from 'drizzle-orm';
import { searchedTexts } from '../../rules/contact-key.ts';
import { ApiError } from '../contract/errors.ts';
import {
  changeFilters,
  customers,
  defineList,
  defineRestore,
  fieldsOf,
  hasEntry,
  type Json,
  LostRace,
  liveCustomers,
  newestFirst,
  type OrganizationScope,
  parseJson,
} from '../db/index.ts';
import { byContactKeys, claimContacts, containsText, keyOfContact } from './contacts.repository.ts';
import {
  customerName,
  customerView,
  derivedFields,
  erasedAt,
  getCustomerRecord,
  isErased,
} from './repository.ts';
import { type Customer, CustomerFilters, type CustomerListQuery, RestorableCustomer } from './schema.ts';

/** Archived customers have neither a search document nor rows of contact keys. */
const listArchived = defineList(
  {
    ...liveCustomers,
    fields: fieldsOf(RestorableCustomer, customers, {
      ...derivedFields,
      archivedAt: customers.archivedAt,
      erasedAt,
    }),
    visible: sql`${customers.archivedAt} is not null`,
    isCounted: false,
    searchDocument: undefined,
  },
  {
    name: 'customers.list_archived',
    query: CustomerFilters,
    order: newestFirst('archivedAt'),
    filters: {
      ...changeFilters,
      contact: {
        field: 'contactKeys',
        where: (keys, sent) =>
          sql`${keys} && array(select concat(type, ' ', key) from json_each_text(${sent}::json) as sent(type, key))`,
      },
      query: {
        field: 'summary',
        where: (summary, texts) =>
          containsText(
            sql`fold_text(concat_ws(chr(31), ${customerName}, ${summary}, ${customers.contactSearch}))`,
            texts,
          ),
        value: searchedTexts,
      },
      tag: hasEntry('tags'),
    },
  },
);

export const listArchivedCustomers = (scope: OrganizationScope, query: CustomerListQuery) =>
  listArchived(scope, byContactKeys(query));

const restore = defineRestore(customerView, () => sql`${customers.mergedInto} is null and not ${isErased}`);

/**
 * Restores an archived customer with its contacts.
 * @throws CUSTOMER_NOT_FOUND, CUSTOMER_NOT_ARCHIVED, CUSTOMER_ERASED, CUSTOMER_MERGED,
 * CUSTOMER_CONTACT_CONFLICT
 */
export async function restoreCustomer(scope: OrganizationScope, id: string): Promise<Json<Customer>> {
  const { contacts } = parseJson(await getCustomerRecord(scope, id));
  return claimContacts(
    scope,
    id,
    contacts.map(keyOfContact),
    async (within) => {
      const restored = await restore(within, id, {});
      if (restored) return restored;
      const { archivedAt, erasurePending, erasedAt, mergedInto } = parseJson(
        await getCustomerRecord(within, id),
      );
      if (archivedAt === null) throw new ApiError('CUSTOMER_NOT_ARCHIVED');
      if (erasedAt !== null || erasurePending) throw new ApiError('CUSTOMER_ERASED');
      if (mergedInto !== null) throw new ApiError('CUSTOMER_MERGED', { mergedInto });
      throw new LostRace('A contact was taken.');
    },
    'contacts',
  );
}
