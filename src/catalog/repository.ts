import { sql } from 'drizzle-orm';
import { defineArchive } from '../db/define/archive.ts';
import { defineKeptGet, defineLockedGet } from '../db/define/get.ts';
import { contains, defineList, equals, newestFirst } from '../db/define/list.ts';
import { addLive } from '../db/define/live-count.ts';
import { defineEnd, definePatch, writeRecord } from '../db/define/patch.ts';
import { organizationParam, type RecordKey } from '../db/define/view.ts';
import type { OrganizationScope, Queries } from '../db/run/scope.ts';
import { liveProducts, products, productVariants } from '../db/schema/catalog.ts';
import { columnsOf, fieldsOf } from '../db/sql/field-columns.ts';
import { newId } from '../db/sql/ids.ts';
import { type Json, jsonArray } from '../db/sql/json.ts';
import { placeholdersOf, rowValues } from '../db/sql/row.ts';
import { builder, named, type Params, prepared, step, unprepared } from '../db/sql/statement.ts';
import {
  CatalogProduct,
  type CatalogProductCreate,
  CatalogProductListQuery,
  CatalogProductUpdate,
  CatalogProductVariant,
  CatalogProductVariantCreate,
} from './schema.ts';

export const productView = {
  ...liveProducts,
  fields: fieldsOf(CatalogProduct, products, {
    variants: jsonArray(
      fieldsOf(CatalogProductVariant, productVariants),
      sql`from ${productVariants}
        where ${productVariants.organizationId} = ${organizationParam} and ${productVariants.productId} = ${products.id}
        order by ${productVariants.position}`,
    ),
  }),
};

const productColumns = columnsOf(CatalogProductUpdate, products);

const variantColumns = {
  ...columnsOf(CatalogProductVariantCreate, productVariants),
  id: productVariants.id,
  position: productVariants.position,
};

/** The filters of the catalog and of its archive. */
export const productFilters = {
  budgetTier: equals('budgetTier'),
  externalReferenceCode: equals('externalReferenceCode'),
  query: contains('search'),
  status: equals('status'),
  type: equals('type'),
};

export const listCatalogProducts = defineList(productView, {
  query: CatalogProductListQuery,
  order: newestFirst('updatedAt'),
  filters: productFilters,
});

/** @throws CATALOG_PRODUCT_NOT_FOUND */
export const getCatalogProduct = defineKeptGet(productView);

/** @throws CATALOG_PRODUCT_NOT_FOUND */
export const lockCatalogProduct = defineLockedGet(productView, getCatalogProduct);

const createStatement = prepared(
  'products.create',
  ($: Params<RecordKey & Record<keyof typeof productColumns, unknown>>) =>
    builder.insert(products).values({
      ...placeholdersOf($, productColumns),
      organizationId: $.organizationId,
      id: $.id,
    } as never),
);

const createVariantStatement = prepared(
  'products.create_variant',
  ($: Params<{ organizationId: string; productId: string } & Record<keyof typeof variantColumns, unknown>>) =>
    builder.insert(productVariants).values({
      ...placeholdersOf($, variantColumns),
      organizationId: $.organizationId,
      productId: $.productId,
    } as never),
);

const endOfWrite = defineEnd(productView);

/** Creates a product with its variants, all or nothing. */
export async function createCatalogProduct(
  scope: OrganizationScope,
  { variants, ...product }: CatalogProductCreate,
  id = newId(),
): Promise<Json<CatalogProduct>> {
  const { organizationId } = scope;
  const key = { organizationId, id };
  const body = await writeRecord<CatalogProduct>(scope, [
    step(createStatement, { ...rowValues(productColumns, product), ...key }),
    ...variants.map((variant, position) =>
      step(createVariantStatement, {
        ...rowValues(variantColumns, { ...variant, id: newId(), position }),
        organizationId,
        productId: id,
      }),
    ),
    addLive(organizationId, liveProducts, 1),
    ...endOfWrite(key),
  ]);
  if (body === undefined) throw new Error('Creating a product returned no row.');
  return body;
}

/**
 * Changes the fields that the body has; null clears one. Values equal to the stored ones change nothing.
 * @throws CATALOG_PRODUCT_NOT_FOUND
 */
export const updateCatalogProduct = definePatch(productView, productColumns);

/** @throws CATALOG_PRODUCT_NOT_FOUND */
export const archiveCatalogProduct = defineArchive(liveProducts);

/** A purged product, for the log. */
export type PurgedProduct = { organizationId: string; id: string; archivedAt: string; variants: number };

const dueStatement = unprepared('products.due_for_purge', ($: Params<{ before: string; limit: number }>) =>
  builder
    .select(named({ organizationId: products.organizationId, id: products.id }))
    .from(products)
    .where(sql`${products.archivedAt} is not null and ${products.archivedAt} < ${$.before}::timestamptz`)
    .orderBy(products.archivedAt)
    .limit($.limit),
);

type PurgeValues = { organizationId: string; ids: string[]; before: string };

/**
 * Checks again under the lock. A product that was restored since then stays. One that is being restored is skipped.
 */
const lockDueStatement = prepared('products.purge_lock', ($: Params<PurgeValues>) =>
  builder
    .select(named({ id: products.id, archivedAt: products.archivedAt }))
    .from(products)
    .where(
      sql`${products.organizationId} = ${$.organizationId} and ${products.id} = any(${$.ids}::uuid[])
        and ${products.archivedAt} < ${$.before}::timestamptz`,
    )
    .for('update', { skipLocked: true }),
);

const purgeVariantsStatement = prepared('products.purge_variants', ($: Params<Omit<PurgeValues, 'before'>>) =>
  builder
    .delete(productVariants)
    .where(
      sql`${productVariants.organizationId} = ${$.organizationId} and ${productVariants.productId} = any(${$.ids}::uuid[])`,
    )
    .returning(named({ productId: productVariants.productId })),
);

/** Read rows and search rows go with their record. */
const purgeStatement = prepared('products.purge', ($: Params<Omit<PurgeValues, 'before'>>) =>
  builder
    .delete(products)
    .where(sql`${products.organizationId} = ${$.organizationId} and ${products.id} = any(${$.ids}::uuid[])`),
);

/** Removes the given products that are still due, with their variants: all of them or none. */
const purgeOfOrganization = (
  db: Queries,
  organizationId: string,
  due: readonly string[],
  before: string,
): Promise<PurgedProduct[]> =>
  db.transaction(async (transaction) => {
    const locked = await transaction.write(lockDueStatement, { organizationId, ids: [...due], before });
    const ids = locked.map(({ id }) => id);
    const values = { organizationId, ids };
    const [variants] = await transaction.writeTogether([
      step(purgeVariantsStatement, values),
      step(purgeStatement, values),
    ]);
    return locked.map(({ id, archivedAt }) => ({
      organizationId,
      id,
      archivedAt: String(archivedAt),
      variants: variants.filter(({ productId }) => productId === id).length,
    }));
  });

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
    purged.push(...(await purgeOfOrganization(db, organizationId, ids, before)));
  }
  return purged;
}
