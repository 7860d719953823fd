import { isNull, sql } from 'drizzle-orm';
import {
  doublePrecision,
  index,
  integer,
  numeric,
  pgTable,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
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

const noTexts = sql`'{}'::text[]`;

/** The fields of a product that `query` searches. */
export const searchedProductFields = ['title', 'shortDescription', 'description'];

export const products = pgTable(
  'products',
  {
    organizationId: organizationId(),
    id: uuid().notNull(),
    title: text().notNull(),
    type: text().notNull(),
    status: text().notNull(),
    pricingMode: text().notNull(),
    budgetTier: text(),
    capacityMin: integer(),
    capacityMax: integer(),
    coverImage: text(),
    currency: text(),
    description: text(),
    shortDescription: text(),
    specialConditions: text(),
    destinations: text().array().notNull().default(noTexts),
    durationDays: integer(),
    durationHours: doublePrecision(),
    includes: text().array().notNull().default(noTexts),
    excludes: text().array().notNull().default(noTexts),
    gallery: text().array().notNull().default(noTexts),
    externalReferenceCode: text(),
    fromPrice: numeric({ mode: 'number' }),
    priceMax: numeric({ mode: 'number' }),
    operator: text(),
    priceBasis: text(),
    validFrom: text(),
    validUntil: text(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    archivedAt: archivedAt(),
    search: text().notNull().generatedAlwaysAs(folded(searchedProductFields)),
  },
  (table) => [
    primary('products_pkey', table),
    toOrganization('products_organization_fkey', table),
    // The dashboard's archive, latest first.
    index('products_archived_idx')
      .on(table.organizationId, table.archivedAt.desc(), table.id.desc())
      .where(sql`archived_at is not null`),
    // For the purge of all organizations together, oldest first. It reads no other columns of a product.
    index('products_due_idx')
      .on(table.archivedAt, table.organizationId, table.id)
      .where(sql`archived_at is not null`),
  ],
);

/** Read rows of products; see db/define/read-row.ts. The release before fills the copies only when it commits (migration 0014). */
export const productBodies = pgTable(
  'product_bodies',
  {
    ...readRowColumns(),
    type: text(),
    status: text(),
    budgetTier: text(),
    externalReferenceCode: text(),
  },
  (table) => [
    primary('product_bodies_pkey', table),
    toRecord('product_bodies_product_fkey', table, table.id, products).onDelete('cascade'),
    // The list, in its order.
    index('product_bodies_live_idx').on(...listOrder(table)),
    // The list filtered by status, type or budgetTier. The columns after the id serve two filters at once. Without
    // them the total would be counted in the table.
    index('product_bodies_status_idx').on(...listOrder(table, table.status), table.type, table.budgetTier),
    index('product_bodies_type_idx').on(...listOrder(table, table.type), table.budgetTier),
    index('product_bodies_budget_tier_idx').on(...listOrder(table, table.budgetTier)),
    // The list filtered by externalReferenceCode.
    index('product_bodies_external_reference_code_idx')
      .on(...listOrder(table, table.externalReferenceCode))
      .where(sql`external_reference_code is not null`),
  ],
);

/** Products as a search sees them; see db/define/search-row.ts. */
export const searchableProducts = pgTable(
  'searchable_products',
  {
    organizationId: organizationId(),
    id: uuid().notNull(),
    type: text().notNull(),
    status: text().notNull(),
    budgetTier: text(),
    externalReferenceCode: text(),
    search: text().notNull(),
    archivedAt: archivedAt(),
  },
  (table) => [
    primary('searchable_products_pkey', table),
    toRecord('searchable_products_product_fkey', table, table.id, products).onDelete('cascade'),
    // The list filtered by query, also together with other filters.
    index('searchable_products_idx')
      .using('gin', table.organizationId, table.externalReferenceCode, table.search.op('gin_trgm_ops'))
      .with(SHORT_PENDING_LIST)
      .where(isLive),
  ],
);

/** The active catalog. */
export const liveProducts = {
  table: products,
  visible: isNull(products.archivedAt),
  missing: { code: 'CATALOG_PRODUCT_NOT_FOUND', noun: 'catalog product' },
  isCounted: true,
  readRow: productBodies,
  searchRow: { table: searchableProducts, texts: searchedProductFields },
} satisfies Resource;

export const productVariants = pgTable(
  'product_variants',
  {
    organizationId: organizationId(),
    id: uuid().notNull(),
    productId: uuid().notNull(),
    label: text().notNull(),
    position: integer().notNull(),
    status: text().notNull(),
    capacityMin: integer(),
    capacityMax: integer(),
    currency: text(),
    description: text(),
    shortDescription: text(),
    durationDays: integer(),
    durationHours: doublePrecision(),
    includes: text().array().notNull().default(noTexts),
    excludes: text().array().notNull().default(noTexts),
    fromPrice: numeric({ mode: 'number' }),
    priceMax: numeric({ mode: 'number' }),
  },
  (table) => [
    primary('product_variants_pkey', table),
    toRecord('product_variants_product_fkey', table, table.productId, products),
    // The variants of a product, in order.
    uniqueIndex('product_variants_position_key').on(table.organizationId, table.productId, table.position),
  ],
);
