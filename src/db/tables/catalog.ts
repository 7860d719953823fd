import { isNull, sql } from 'drizzle-orm';
import { doublePrecision, index, integer, json, numeric, pgTable, text } from 'drizzle-orm/pg-core';
import { isActive, listIndex, recordColumns, searchDocument, searched, texts } from './columns.ts';
import { recordKeys, searchKeys } from './organizations.ts';
import type { Resource } from './resource.ts';

/** Products with their variants. Long texts come last: the trigger that compares rows stops at the first difference. */
export const products = pgTable(
  'products',
  {
    ...recordColumns(),
    type: text('type').notNull(),
    status: text('status').notNull(),
    pricingMode: text('pricing_mode').notNull(),
    budgetTier: text('budget_tier'),
    capacityMin: integer('capacity_min'),
    capacityMax: integer('capacity_max'),
    currency: text('currency'),
    durationDays: integer('duration_days'),
    durationHours: doublePrecision('duration_hours'),
    fromPrice: numeric('from_price', { mode: 'number' }),
    priceMax: numeric('price_max', { mode: 'number' }),
    priceBasis: text('price_basis'),
    validFrom: text('valid_from'),
    validUntil: text('valid_until'),
    externalReferenceCode: text('external_reference_code'),
    operator: text('operator'),
    coverImage: text('cover_image'),
    title: text('title').notNull(),
    destinations: texts('destinations'),
    includes: texts('includes'),
    excludes: texts('excludes'),
    gallery: texts('gallery'),
    /** An array of CatalogProductVariant. */
    variants: json('variants').notNull().default(sql`'[]'::json`),
    shortDescription: text('short_description'),
    specialConditions: text('special_conditions'),
    description: text('description'),
  },
  (table) => [
    ...recordKeys('products', table),
    listIndex('products_status_idx', table, isActive, [table.status], [table.type, table.budgetTier]),
    listIndex('products_type_idx', table, isActive, [table.type], [table.budgetTier]),
    listIndex('products_budget_tier_idx', table, isActive, [table.budgetTier]),
    listIndex(
      'products_external_reference_code_idx',
      table,
      sql`archived_at is null and external_reference_code is not null`,
      [table.externalReferenceCode],
    ),
    // For the purge of all organizations: an index-only scan.
    index('products_due_idx')
      .on(table.archivedAt, table.organizationId, table.id)
      .where(sql`archived_at is not null`),
  ],
);

/** Search documents of products: title, short description and description. */
export const searchableProducts = pgTable(
  'searchable_products',
  {
    ...searchDocument(),
    type: text('type').notNull(),
    status: text('status').notNull(),
    budgetTier: text('budget_tier'),
    externalReferenceCode: text('external_reference_code'),
    destinations: texts('destinations'),
  },
  (table) => searchKeys('searchable_products', table, table.destinations),
);

export const activeProducts = {
  table: products,
  visible: isNull(products.archivedAt),
  notFound: 'CATALOG_PRODUCT_NOT_FOUND',
  isCounted: true,
  countedBy: { field: 'status', name: 'products' },
  searchDocument: searchableProducts,
  searchedText: searched(products.title, products.shortDescription, products.description),
} satisfies Resource;
