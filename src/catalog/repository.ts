import { type SQL, sql } from 'drizzle-orm';
import { defineGet, defineLockedGet } from '../db/define/get.ts';
import { changeFilters, contains, defineList, equals, newestFirst } from '../db/define/list.ts';
import { defineArchive, defineCreate, defineUpdate } from '../db/define/write.ts';
import type { OrganizationScope, Queries } from '../db/run/scope.ts';
import { liveProducts, products } from '../db/schema/catalog.ts';
import { columnsOf, fieldsOf } from '../db/sql/field-columns.ts';
import { newId } from '../db/sql/ids.ts';
import { isoTime, type Json } from '../db/sql/json.ts';
import { type Params, prepared, unprepared } from '../db/sql/statement.ts';
import {
  CatalogProduct,
  type CatalogProductCreate,
  CatalogProductListQuery,
  CatalogProductUpdate,
  CatalogProductVariant,
} from './schema.ts';

export const productView = {
  ...liveProducts,
  fields: fieldsOf(CatalogProduct, products, { variants: products.variants }),
};

const productColumns = columnsOf(CatalogProductUpdate, products);

/** The filters of the catalog. */
export const productFilters = {
  ...changeFilters,
  budgetTier: equals('budgetTier'),
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

const VARIANT_FIELDS = Object.keys(CatalogProductVariant.shape) as (keyof CatalogProductVariant)[];

/** The variant as answers show it: every field, in their order. */
function variantOf(input: CatalogProductCreate['variants'][number], position: number): CatalogProductVariant {
  const { includes, excludes } = input;
  const given = { ...input, id: newId(), position, includes: includes ?? [], excludes: excludes ?? [] };
  const entries = VARIANT_FIELDS.map((field) => [
    field,
    (given as Partial<CatalogProductVariant>)[field] ?? null,
  ]);
  return Object.fromEntries(entries) as CatalogProductVariant;
}

/** Creates a product with its variants. */
export const createCatalogProduct = (
  scope: OrganizationScope,
  { variants, ...product }: CatalogProductCreate,
  id = newId(),
): Promise<Json<CatalogProduct>> =>
  createProduct(scope, id, { ...product, variants: variants.map(variantOf) });

/**
 * Changes the fields that the body has; null clears one. Values equal to the stored ones change nothing.
 * @throws CATALOG_PRODUCT_NOT_FOUND
 */
export const updateCatalogProduct = defineUpdate(productView, productColumns);

/** @throws CATALOG_PRODUCT_NOT_FOUND */
export const archiveCatalogProduct = defineArchive(liveProducts);

/** A purged product, for the log. */
export type PurgedProduct = { organizationId: string; id: string; archivedAt: string; variants: number };

const dueStatement = unprepared(
  'products.due_for_purge',
  ($: Params<{ before: string; limit: number }>): SQL<{ organizationId: string; id: string }> => sql`
    select ${products.organizationId} as "organizationId", ${products.id} from ${products}
    where ${products.archivedAt} < ${$.before}::timestamptz order by ${products.archivedAt} limit ${$.limit}`,
);

/** Looks again under the lock: a product that was restored since then stays. */
const purgeStatement = prepared(
  'products.purge',
  ($: Params<{ organizationId: string; ids: string[]; before: string }>): SQL<PurgedProduct> => sql`
    delete from ${products} where ${products.organizationId} = ${$.organizationId}
      and ${products.id} = any(${$.ids}::uuid[]) and ${products.archivedAt} < ${$.before}::timestamptz
    returning ${products.organizationId} as "organizationId", ${products.id},
      ${isoTime(products.archivedAt)} as "archivedAt", json_array_length(${products.variants}) as variants`,
);

/**
 * Removes products that were archived before a moment, oldest first, with their variants. It takes the products of
 * every organization; those of one organization all go, or none of them.
 * @param before ISO 8601
 * @param limit products at most
 */
export async function purgeCatalogProducts(
  db: Queries,
  before: string,
  limit: number,
): Promise<PurgedProduct[]> {
  const due = await db.read(dueStatement, { before, limit });
  const purged: PurgedProduct[] = [];
  for (const [organizationId, rows] of Map.groupBy(due, (row) => row.organizationId)) {
    const ids = rows.map(({ id }) => id);
    purged.push(...(await db.write(purgeStatement, { organizationId, ids, before })));
  }
  return purged;
}
