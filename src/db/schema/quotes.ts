import { isNull } from 'drizzle-orm';
import { bigint, index, integer, numeric, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import {
  archivedAt,
  createdAt,
  folded,
  isLive,
  listOrder,
  moment,
  NO_PENDING_LIST,
  organizationId,
  updatedAt,
} from './columns.ts';
import { customers } from './customers.ts';
import { opportunities } from './opportunities.ts';
import { primary, toOrganization, toRecord } from './organizations.ts';
import type { Resource } from './resource.ts';

/** The fields of a quote that `query` searches. */
export const searchedQuoteFields = ['title', 'destination'];

export const quotes = pgTable(
  'quotes',
  {
    organizationId: organizationId(),
    id: uuid().notNull(),
    opportunityId: uuid().notNull(),
    title: text().notNull(),
    status: text().notNull(),
    destination: text(),
    customerId: uuid(),
    price: numeric({ mode: 'number' }),
    currency: text(),
    /** Part of the public quote link. It is random, made once, and never changes. */
    token: text().notNull(),
    openCount: integer().notNull().default(0),
    firstOpenedAt: moment(),
    lastOpenedAt: moment(),
    publishedAt: moment(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    archivedAt: archivedAt(),
    search: text().notNull().generatedAlwaysAs(folded(searchedQuoteFields)),
  },
  (table) => [
    primary('quotes_pkey', table),
    toOrganization('quotes_organization_fkey', table),
    toRecord('quotes_opportunity_fkey', table, table.opportunityId, opportunities),
    toRecord('quotes_customer_fkey', table, table.customerId, customers),
    uniqueIndex('quotes_token_key').on(table.organizationId, table.token),
    // The list, in its order.
    index('quotes_live_idx')
      .on(...listOrder(table))
      .where(isLive),
    // The list filtered by status.
    index('quotes_status_idx')
      .on(...listOrder(table, table.status))
      .where(isLive),
    // The list filtered by opportunityId.
    index('quotes_opportunity_idx')
      .on(...listOrder(table, table.opportunityId))
      .where(isLive),
    // The list filtered by customerId.
    index('quotes_customer_idx')
      .on(...listOrder(table, table.customerId))
      .where(isLive),
    // The list filtered by query.
    index('quotes_search_idx')
      .using('gin', table.organizationId, table.search.op('gin_trgm_ops'))
      .with(NO_PENDING_LIST)
      .where(isLive),
  ],
);

/** Quotes that were not archived. */
export const liveQuotes = {
  table: quotes,
  visible: isNull(quotes.archivedAt),
  missing: { code: 'QUOTE_NOT_FOUND', noun: 'quote' },
  isCounted: true,
} satisfies Resource;

export const quoteAttachments = pgTable(
  'quote_attachments',
  {
    organizationId: organizationId(),
    id: uuid().notNull(),
    quoteId: uuid().notNull(),
    fileName: text().notNull(),
    kind: text().notNull(),
    mimeType: text().notNull(),
    sizeBytes: bigint({ mode: 'number' }).notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    primary('quote_attachments_pkey', table),
    toRecord('quote_attachments_quote_fkey', table, table.quoteId, quotes),
    // The attachments of a quote, oldest first.
    index('quote_attachments_quote_idx').on(table.organizationId, table.quoteId, table.createdAt, table.id),
  ],
);
