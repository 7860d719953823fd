import { isNull, sql } from 'drizzle-orm';
import { bigint, index, integer, numeric, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import {
  createdAt,
  id,
  listIndex,
  listOrder,
  organizationId,
  PENDING_LIST,
  record,
  searchDocument,
  timestamp,
} from './columns.ts';
import { customers } from './customers.ts';
import { opportunities } from './opportunities.ts';
import { primary, recordKeys, toRecord } from './organizations.ts';
import type { Resource } from './resource.ts';

/** Quotes, each of an opportunity. */
export const quotes = pgTable(
  'quotes',
  {
    ...record(),
    opportunityId: uuid('opportunity_id').notNull(),
    title: text('title').notNull(),
    status: text('status').notNull(),
    destination: text('destination'),
    customerId: uuid('customer_id'),
    price: numeric('price', { mode: 'number' }),
    currency: text('currency'),
    /** Part of the public quote link. It is random, made once, and never changes. */
    token: text('token').notNull(),
    openCount: integer('open_count').notNull().default(0),
    firstOpenedAt: timestamp('first_opened_at'),
    lastOpenedAt: timestamp('last_opened_at'),
    /** A trigger sets it the first time that the quote is published, where nothing else did. */
    publishedAt: timestamp('published_at'),
  },
  (table) => [
    ...recordKeys('quotes', table),
    toRecord('quotes_opportunity_fkey', table, table.opportunityId, opportunities),
    toRecord('quotes_customer_fkey', table, table.customerId, customers),
    uniqueIndex('quotes_token_key').on(table.organizationId, table.token),
    // The list filtered by status.
    listIndex('quotes_status_idx', table, table.status),
    // The lists filtered by opportunityId and by customerId; and all of an opportunity or a customer that goes, archived ones too.
    index('quotes_opportunity_idx').on(...listOrder(table, table.opportunityId)),
    index('quotes_customer_idx')
      .on(...listOrder(table, table.customerId))
      .where(sql`customer_id is not null`),
  ],
);

/** Quotes as a search sees them: title and destination. */
export const searchableQuotes = pgTable('searchable_quotes', searchDocument(), (table) => [
  primary('searchable_quotes_pkey', table),
  index('searchable_quotes_search_idx')
    .using('gin', table.organizationId, table.search.op('gin_trgm_ops'))
    .with(PENDING_LIST),
]);

/** Quotes that were not archived. */
export const liveQuotes = {
  table: quotes,
  visible: isNull(quotes.archivedAt),
  notFound: { code: 'QUOTE_NOT_FOUND', noun: 'quote', search: 'GET /v1/quotes?query=…' },
  isCounted: true,
  countedBy: { field: 'status', name: 'quotes' },
  searchDocument: searchableQuotes,
} satisfies Resource;

/** Files of quotes: what they are; their bytes are on a disk or in S3. */
export const quoteAttachments = pgTable(
  'quote_attachments',
  {
    organizationId: organizationId(),
    id: id(),
    quoteId: uuid('quote_id').notNull(),
    fileName: text('file_name').notNull(),
    kind: text('kind').notNull(),
    mimeType: text('mime_type').notNull(),
    sizeBytes: bigint('size_bytes', { mode: 'number' }).notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    primary('quote_attachments_pkey', table),
    toRecord('quote_attachments_quote_fkey', table, table.quoteId, quotes),
    // The attachments of a quote, oldest first.
    index('quote_attachments_quote_idx').on(table.organizationId, table.quoteId, table.createdAt, table.id),
  ],
);
