import { isNull, sql } from 'drizzle-orm';
import { index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import {
  archivedAt,
  createdAt,
  folded,
  isLive,
  listOrder,
  organizationId,
  readRowColumns,
  SHORT_PENDING_LIST,
  updatedAt,
} from './columns.ts';
import { primary, toOrganization, toRecord } from './organizations.ts';
import type { Resource } from './resource.ts';

/** First and last name as they are shown. A search for both together finds the customer. */
const fullName = sql`coalesce(nullif(first_name, '') || ' ' || nullif(last_name, ''), nullif(first_name, ''), last_name)`;

/** The fields of a customer that `query` searches, beside its full name. */
export const searchedCustomerFields = ['summary', 'contactSearch'];

const noTags = sql`'{}'::text[]`;

export const customers = pgTable(
  'customers',
  {
    organizationId: organizationId(),
    id: uuid().notNull(),
    firstName: text(),
    lastName: text(),
    city: text(),
    country: text(),
    preferredLanguage: text(),
    summary: text(),
    tags: text().array().notNull().default(noTags),
    /**
     * The searched texts of the contacts. A generated column reads only its own row, so the writes of contacts copy them
     * here.
     */
    contactSearch: text().notNull().default(''),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    archivedAt: archivedAt(),
    search: text()
      .notNull()
      .generatedAlwaysAs(folded([fullName, ...searchedCustomerFields])),
  },
  (table) => [primary('customers_pkey', table), toOrganization('customers_organization_fkey', table)],
);

/** Read rows of customers; see db/define/read-row.ts. */
export const customerBodies = pgTable('customer_bodies', readRowColumns(), (table) => [
  primary('customer_bodies_pkey', table),
  toRecord('customer_bodies_customer_fkey', table, table.id, customers).onDelete('cascade'),
  // The list, in its order.
  index('customer_bodies_live_idx').on(...listOrder(table)),
]);

/** Customers as a search sees them; see db/define/search-row.ts. */
export const searchableCustomers = pgTable(
  'searchable_customers',
  {
    organizationId: organizationId(),
    id: uuid().notNull(),
    tags: text().array().notNull().default(noTags),
    search: text().notNull(),
    archivedAt: archivedAt(),
  },
  (table) => [
    primary('searchable_customers_pkey', table),
    toRecord('searchable_customers_customer_fkey', table, table.id, customers).onDelete('cascade'),
    // The list filtered by query, by tag, or by both.
    index('searchable_customers_idx')
      .using('gin', table.organizationId, table.tags, table.search.op('gin_trgm_ops'))
      .with(SHORT_PENDING_LIST)
      .where(isLive),
  ],
);

/** The active book. */
export const liveCustomers = {
  table: customers,
  visible: isNull(customers.archivedAt),
  missing: { code: 'CUSTOMER_NOT_FOUND', noun: 'customer' },
  isCounted: true,
  readRow: customerBodies,
  searchRow: {
    table: searchableCustomers,
    texts: ['firstName', 'lastName', ...searchedCustomerFields],
  },
} satisfies Resource;

export const customerContacts = pgTable(
  'customer_contacts',
  {
    organizationId: organizationId(),
    id: uuid().notNull(),
    customerId: uuid().notNull(),
    /** 0 is the primary contact. */
    position: integer().notNull(),
    identifierType: text().notNull(),
    identifierValue: text().notNull(),
    /** Two spellings of one account have the same key; see rules/contact-key.ts. */
    contactKey: text().notNull(),
    phoneNumber: text(),
    displayName: text(),
    /** Set together with the customer's: an archived customer releases its contacts. */
    archivedAt: archivedAt(),
  },
  (table) => [
    primary('customer_contacts_pkey', table),
    toRecord('customer_contacts_customer_fkey', table, table.customerId, customers),
    // One person is one record: within an organization, a live contact belongs to one customer.
    uniqueIndex('customer_contacts_live_key')
      .on(table.organizationId, table.identifierType, table.contactKey)
      .where(isLive),
    // The contacts of a customer, in order.
    index('customer_contacts_customer_idx').on(table.organizationId, table.customerId, table.position),
  ],
);
