import { sql } from 'drizzle-orm';
import { ApiError } from '../contract/errors.ts';
import { text } from '../contract/fields.ts';
import {
  changeFilters,
  columnsOf,
  contains,
  createBounded,
  defineArchive,
  defineBoundedUpdate,
  defineCreate,
  defineGet,
  defineList,
  defineLockedGet,
  definePurge,
  defineRestore,
  equals,
  fieldsOf,
  hasEntry,
  isoTime,
  type Json,
  liveProducts,
  newestFirst,
  newId,
  type OrganizationScope,
  type Page,
  type Params,
  products,
} from '../db/index.ts';
import { RETENTION_DAYS, retainedSince } from './retention.ts';
import {
  CatalogProduct,
  type CatalogProductCreate,
  CatalogProductDashboardUpdate,
  CatalogProductListQuery,
  CatalogProductUpdate,
  RestorableCatalogProduct,
} from './schema.ts';
import { patchedVariants, variantOf } from './variants.ts';

export const productView = {
  ...liveProducts,
  fields: fieldsOf(CatalogProduct, products, { variants: products.variants }),
};

const productColumns = columnsOf(CatalogProductUpdate, products);

const productFilters = {
  ...changeFilters,
  budgetTier: equals('budgetTier'),
  destination: hasEntry('destinations'),
  externalReferenceCode: equals('externalReferenceCode'),
  query: contains(),
  status: equals('status'),
  type: equals('type'),
};

export const listCatalogProducts = defineList(productView, {
  query: CatalogProductListQuery,
  order: newestFirst('updatedAt'),
  filters: productFilters,
});

/** @throws CATALOG_PRODUCT_NOT_FOUND */
export const getCatalogProduct = defineGet(productView);

/** @throws CATALOG_PRODUCT_NOT_FOUND */
export const lockCatalogProduct = defineLockedGet(productView);

const createProduct = defineCreate(productView, { ...productColumns, variants: products.variants });

/** @throws VALIDATION_FAILED if the product would be too large */
export const createCatalogProduct = (
  scope: OrganizationScope,
  { variants, ...product }: CatalogProductCreate,
  id = newId(),
): Promise<Json<CatalogProduct>> =>
  createBounded(scope, 'product', { ...product, variants }, (within) =>
    createProduct(within, id, { ...product, variants: variants.map(variantOf) }),
  );

/** @throws CATALOG_PRODUCT_NOT_FOUND, VALIDATION_FAILED if the product would be too large */
export const updateCatalogProduct = defineBoundedUpdate(productView, 'product', productColumns);

/** @throws CATALOG_PRODUCT_NOT_FOUND */
export const archiveCatalogProduct = defineArchive(liveProducts);

type PurgedProduct = { organizationId: string; id: string; archivedAt: string; variants: number };

export const purgeCatalogProducts = definePurge<PurgedProduct>(liveProducts, {
  organizationId: products.organizationId,
  id: products.id,
  archivedAt: products.archivedAt,
  variants: sql`json_array_length(${products.variants})`,
});

/** In hours: a day of PostgreSQL has 23 or 25 hours when its time zone changes the clock. */
const purgeAt = isoTime(
  sql`(${products.archivedAt} + interval '${sql.raw(String(RETENTION_DAYS * 24))} hours')`,
);

/** The text of a search document, which archived products do not have. */
const searchedText = sql`fold_text(concat_ws(chr(31), ${products.title}, ${products.shortDescription}, ${products.description}))`;

const listArchived = defineList(
  {
    ...liveProducts,
    fields: fieldsOf(RestorableCatalogProduct, products, {
      variants: products.variants,
      archivedAt: products.archivedAt,
      purgeAt,
    }),
    visible: sql`${products.archivedAt} is not null`,
    isCounted: false,
    searchDocument: undefined,
  },
  {
    name: 'products.list_archived',
    query: CatalogProductListQuery.extend({ since: text({ max: 64 }) }),
    order: newestFirst('archivedAt'),
    filters: {
      since: {
        field: 'archivedAt',
        where: (archivedAt, since) => sql`${archivedAt} >= ${since}::timestamptz`,
      },
      ...productFilters,
      query: {
        field: 'title',
        where: (_column, text) => sql`${searchedText} like contains_pattern(${text})`,
      },
    },
  },
);

type ArchivedQuery = Omit<Parameters<typeof listArchived>[1], 'since'>;

/**
 * Archived products that can still be restored, latest archived first.
 * @param now milliseconds since 1970
 */
export const listArchivedCatalogProducts = (
  scope: OrganizationScope,
  query: ArchivedQuery,
  now: number,
): Promise<Json<Page<RestorableCatalogProduct>>> =>
  listArchived(scope, { ...query, since: retainedSince(now) });

const updateFields = defineBoundedUpdate(
  productView,
  'product',
  columnsOf(CatalogProductDashboardUpdate, products),
  'products.update_dashboard',
);

/** @throws CATALOG_PRODUCT_NOT_FOUND, VALIDATION_FAILED, also for variants that do not match the stored ones */
export const updateDashboardFields = (
  scope: OrganizationScope,
  id: string,
  { variants, ...patch }: CatalogProductDashboardUpdate,
): Promise<Json<CatalogProduct>> =>
  updateFields(
    scope,
    id,
    patch,
    variants ? (stored) => ({ ...patch, variants: patchedVariants(variants, stored.variants) }) : patch,
  );

const restore = defineRestore(
  productView,
  ($: Params<{ since: string }>) => sql`${products.archivedAt} >= ${$.since}::timestamptz`,
);

/**
 * @param now milliseconds since 1970
 * @throws CATALOG_PRODUCT_NOT_FOUND also after the retention, CATALOG_PRODUCT_NOT_ARCHIVED
 */
export async function restoreCatalogProduct(
  scope: OrganizationScope,
  id: string,
  now: number,
): Promise<Json<CatalogProduct>> {
  const restored = await restore(scope, id, { since: retainedSince(now) });
  if (restored) return restored;
  await getCatalogProduct(scope, id);
  throw new ApiError('CATALOG_PRODUCT_NOT_ARCHIVED');
}
