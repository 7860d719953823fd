import { isNull, sql } from 'drizzle-orm';
import { index, json, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { id, organizationId, PENDING_LIST, record, searchDocument, texts, timestamp } from './columns.ts';
import { primary, recordKeys, toRecord } from './organizations.ts';
import type { Resource } from './resource.ts';

/** Customers with their contacts. Long texts are the last columns: the trigger that compares rows stops at the first difference. */
export const customers = pgTable(
  'customers',
  {
    ...record(),
    /** The customer that an archived one was merged into: at the end of a chain of merges, the live one. */
    mergedInto: uuid('merged_into'),
    preferredLanguage: text('preferred_language'),
    firstName: text('first_name'),
    lastName: text('last_name'),
    city: text('city'),
    country: text('country'),
    tags: texts('tags'),
    /** An array of CustomerContact, as answers show it: read and written only with the customer. The first is the primary contact. */
    contacts: json('contacts').notNull().default(sql`'[]'::json`),
    /** The key of each contact, in their order: `email ana@example.com`. A trigger claims them while the customer is live. */
    contactKeys: texts('contact_keys'),
    /** What `query` finds of the contacts; written with them, because the contact key is a rule of the service. */
    contactSearch: text('contact_search').notNull().default(''),
    summary: text('summary'),
  },
  (table) => [
    ...recordKeys('customers', table),
    toRecord('customers_merged_into_fkey', table, table.mergedInto, table).onDelete('cascade'),
    index('customers_archived_idx')
      .on(table.organizationId, table.archivedAt.desc(), table.id.desc())
      .where(sql`archived_at is not null`),
    // The records of one person.
    index('customers_merged_into_idx')
      .on(table.organizationId, table.mergedInto)
      .where(sql`merged_into is not null`),
  ],
);

/**
 * The contacts of live customers. The primary key is the promise that one person is one record: within an organization a contact
 * belongs to one customer. Two spellings of one account have the same key; see rules/contact-key.ts. A trigger of customers keeps
 * them.
 */
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

/** Customers whose content was erased. It is what an operator erases again after a restore; it has no text of a person. */
export const erasures = pgTable(
  'erasures',
  {
    organizationId: organizationId(),
    customerId: uuid('customer_id').notNull(),
    erasedAt: timestamp('erased_at').notNull().default(sql`now()`),
    /** The number of erased records, by kind. */
    erased: json('erased').$type<Record<string, number>>().notNull(),
  },
  (table) => [
    primaryKey({ name: 'erasures_pkey', columns: [table.organizationId, table.customerId] }),
    toRecord('erasures_customer_fkey', table, table.customerId, customers).onDelete('cascade'),
  ],
);

/** Files of erased customers that the storage has not let go of yet, by the ids of their attachments. */
export const erasedFiles = pgTable(
  'erased_files',
  { organizationId: organizationId(), id: id(), customerId: uuid('customer_id').notNull() },
  (table) => [
    primary('erased_files_pkey', table),
    toRecord('erased_files_customer_fkey', table, table.customerId, customers).onDelete('cascade'),
  ],
);

/** Customers as a search sees them: name, summary and contacts. */
export const searchableCustomers = pgTable(
  'searchable_customers',
  { ...searchDocument(), tags: texts('tags') },
  (table) => [
    primary('searchable_customers_pkey', table),
    // The list filtered by query, by tag, or by both.
    index('searchable_customers_search_idx')
      .using('gin', table.organizationId, table.tags, table.search.op('gin_trgm_ops'))
      .with(PENDING_LIST),
  ],
);

/** The active book. */
export const liveCustomers = {
  table: customers,
  visible: isNull(customers.archivedAt),
  notFound: {
    code: 'CUSTOMER_NOT_FOUND',
    noun: 'customer',
    search: 'GET /v1/customers?contact=… or ?query=…',
  },
  isCounted: true,
  searchDocument: searchableCustomers,
} satisfies Resource;
