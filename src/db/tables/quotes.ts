import { isNull, sql } from 'drizzle-orm';
import { bigint, index, integer, numeric, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import {
  createdAt,
  id,
  isActive,
  listIndex,
  organizationId,
  recordColumns,
  searchDocument,
  searched,
  timestamp,
} from './columns.ts';
import { customers } from './customers.ts';
import { opportunities } from './opportunities.ts';
import { primary, recordKeys, searchKeys, toRecord } from './organizations.ts';
import type { Resource } from './resource.ts';

/** Quotes of opportunities. */
export const quotes = pgTable(
  'quotes',
  {
    ...recordColumns(),
    opportunityId: uuid('opportunity_id').notNull(),
    title: text('title').notNull(),
    status: text('status').notNull(),
    destination: text('destination'),
    customerId: uuid('customer_id'),
    price: numeric('price', { mode: 'number' }),
    currency: text('currency'),
    /** The random, immutable part of the public quote link. */
    token: text('token').notNull(),
    openCount: integer('open_count').notNull().default(0),
    firstOpenedAt: timestamp('first_opened_at'),
    lastOpenedAt: timestamp('last_opened_at'),
    /** Set by a trigger when the quote is first published without it. */
    publishedAt: timestamp('published_at'),
  },
  (table) => [
    ...recordKeys('quotes', table),
    toRecord('quotes_opportunity_fkey', table, table.opportunityId, opportunities),
    toRecord('quotes_customer_fkey', table, table.customerId, customers),
    // Partial as conversations_chain_idx is.
    uniqueIndex('quotes_token_key').on(table.organizationId, table.token).where(sql`token is not null`),
    // For a public link, which names no organization. Not unique: a cluster has unique indexes by organization only.
    index('quotes_token_idx').on(table.token),
    listIndex('quotes_status_idx', table, isActive, [table.status]),
    // With archived rows: an erasure looks them up too.
    listIndex('quotes_opportunity_idx', table, sql`opportunity_id is not null`, [table.opportunityId]),
    listIndex('quotes_customer_idx', table, sql`customer_id is not null`, [table.customerId]),
    listIndex('quotes_no_customer_idx', table, sql`customer_id is null and archived_at is null`),
    listIndex('quotes_opened_idx', table, isActive, [sql`(open_count > 0)`], [table.openCount, table.status]),
  ],
);

/** Search documents of quotes: title and destination. */
export const searchableQuotes = pgTable('searchable_quotes', searchDocument(), (table) =>
  searchKeys('searchable_quotes', table),
);

export const activeQuotes = {
  table: quotes,
  visible: isNull(quotes.archivedAt),
  notFound: 'QUOTE_NOT_FOUND',
  isCounted: true,
  countedBy: { field: 'status', name: 'quotes' },
  searchDocument: searchableQuotes,
  searchedText: searched(quotes.title, quotes.destination),
} satisfies Resource;

/** Descriptions of the files of quotes. The files are on disk or in S3. */
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
    index('quote_attachments_quote_idx').on(table.organizationId, table.quoteId, table.createdAt, table.id),
  ],
);
