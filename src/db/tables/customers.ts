import { isNull, type SQL, sql } from 'drizzle-orm';
import { index, json, type PgColumn, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { organizationId, recordColumns, searchDocument, searched, texts, timestamp } from './columns.ts';
import { recordKeys, searchKeys, toRecord } from './organizations.ts';
import type { Resource } from './resource.ts';

/** Customers with their contacts. Long texts come last: the trigger that compares rows stops at the first difference. */
export const customers = pgTable(
  'customers',
  {
    ...recordColumns(),
    /** After several merges, the last customer. */
    mergedInto: uuid('merged_into'),
    preferredLanguage: text('preferred_language'),
    firstName: text('first_name'),
    lastName: text('last_name'),
    city: text('city'),
    country: text('country'),
    tags: texts('tags'),
    /** An array of CustomerContact. The first is the primary contact. */
    contacts: json('contacts').notNull().default(sql`'[]'::json`),
    /** The contact keys, in the order of `contacts`: `email ana@example.com`. */
    contactKeys: texts('contact_keys'),
    /** The text of the contacts in the search document. */
    contactSearch: text('contact_search').notNull().default(''),
    summary: text('summary'),
  },
  (table) => [
    ...recordKeys('customers', table),
    toRecord('customers_merged_into_fkey', table, table.mergedInto, table).onDelete('cascade'),
    // With the same contacts as a person who is erased.
    index('customers_archived_contacts_idx')
      .using('gin', table.organizationId, table.contactKeys)
      .with({ fastupdate: true, gin_pending_list_limit: 512 })
      .where(sql`archived_at is not null`),
    index('customers_merged_into_idx')
      .on(table.organizationId, table.mergedInto)
      .where(sql`merged_into is not null`),
  ],
);

/** Blanks are no name. */
const givenName = (column: PgColumn): SQL => sql`case when btrim(${column}) <> '' then ${column} end`;

/** First and last name, joined; null if the customer has neither. */
export const customerName = sql<
  string | null
>`nullif(concat_ws(' ', ${givenName(customers.firstName)}, ${givenName(customers.lastName)}), '')`;

/** The contacts of active customers, maintained by a trigger. The primary key guarantees that one person is one record. */
export const customerContactKeys = pgTable(
  'customer_contact_keys',
  {
    organizationId: organizationId(),
    identifierType: text('identifier_type').notNull(),
    contactKey: text('contact_key').notNull(),
    customerId: uuid('customer_id').notNull(),
  },
  (table) => [
    primaryKey({
      name: 'customer_contact_keys_pkey',
      columns: [table.organizationId, table.contactKey, table.identifierType],
    }),
  ],
);

/** Tombstones of erased customers, re-applied after a backup is restored. No personal data. */
export const erasures = pgTable(
  'erasures',
  {
    organizationId: organizationId(),
    customerId: uuid('customer_id').notNull(),
    erasedAt: timestamp('erased_at').notNull().default(sql`now()`),
    erased: json('erased').$type<Record<string, number>>().notNull(),
    /** Other customers that had one of the contacts. */
    sameContacts: uuid('same_contacts').array().notNull(),
  },
  (table) => [
    primaryKey({ name: 'erasures_pkey', columns: [table.organizationId, table.customerId] }),
    toRecord('erasures_customer_fkey', table, table.customerId, customers).onDelete('cascade'),
  ],
);

/** Search documents of customers: name, summary and contacts. */
export const searchableCustomers = pgTable(
  'searchable_customers',
  { ...searchDocument(), tags: texts('tags') },
  (table) => searchKeys('searchable_customers', table, table.tags),
);

export const activeCustomers = {
  table: customers,
  visible: isNull(customers.archivedAt),
  mergedInto: customers.mergedInto,
  notFound: 'CUSTOMER_NOT_FOUND',
  isCounted: true,
  searchDocument: searchableCustomers,
  searchedText: searched(customerName, customers.summary, customers.contactSearch),
} satisfies Resource;
