import { and, sql } from 'drizzle-orm';
import { ApiError } from '../contract/errors.ts';
import {
  activeProducts,
  archivedFields,
  changeFilters,
  columns,
  columnsOf,
  contains,
  defineArchive,
  defineCreate,
  defineGet,
  defineList,
  defineLock,
  defineRestore,
  defineUpdate,
  equals,
  hasEntry,
  type IdempotencyKey,
  type Ids,
  isoTime,
  type Json,
  keyIn,
  newestFirst,
  newId,
  type OrganizationScope,
  type Params,
  parseJson,
  prepared,
  products,
  type Queries,
  qb,
  RETENTION,
  searchableProducts,
  unprepared,
  type View,
  viewOf,
} from '../db/index.ts';
import {
  CatalogProduct,
  CatalogProductListQuery,
  CatalogProductRecord,
  type CatalogProductRecordCreate,
  CatalogProductRecordUpdate,
} from './schema.ts';
import { patchedVariants, variantOf } from './variants.ts';

const isRestorable = sql`${products.archivedAt} >= now() - ${RETENTION}`;

export const productView = viewOf(activeProducts, CatalogProduct, { variants: products.variants });

const recordView = viewOf(activeProducts, CatalogProductRecord, {
  variants: products.variants,
  purgeAt: isoTime(sql`(${products.archivedAt} + ${RETENTION})`),
});

const lists = {
  query: CatalogProductListQuery,
  order: newestFirst(products, products.updatedAt),
  filters: {
    ...changeFilters(activeProducts),
    budgetTier: equals(products.budgetTier, searchableProducts.budgetTier),
    destination: hasEntry(products.destinations, searchableProducts.destinations),
    externalReferenceCode: equals(products.externalReferenceCode, searchableProducts.externalReferenceCode),
    query: contains(activeProducts.searchedText, searchableProducts.search),
    status: equals(products.status, searchableProducts.status),
    type: equals(products.type, searchableProducts.type),
  },
};

export const listCatalogProducts = defineList('products.list', productView, lists);

/** The fields of both APIs have columns; the schemas of a route say which it takes. */
const written = columnsOf(CatalogProductRecordUpdate, products);

/** Active products of an API, with the fields that it shows. The functions throw CATALOG_PRODUCT_NOT_FOUND. */
function statementsOf<T extends CatalogProduct>(name: string, view: View<T>) {
  const get = defineGet(`${name}.get`, view);
  return {
    /** `select … where organization_id = $organizationId and id = $id and archived_at is null` */
    get,
    /** The same, after `select … for no key update`. */
    lock: defineLock(products, get),
    /** `insert into products (…) values (…) returning *` */
    insert: defineCreate(`${name}.create`, view, written),
    /** `update products set title = $title where … and archived_at is null returning *`, of the fields that are sent. */
    patch: defineUpdate(`${name}.update`, view, written, get),
  };
}
export type ProductStatements = ReturnType<typeof statementsOf<CatalogProduct>>;

export const productStatements = statementsOf('products', productView);
export const productRecordStatements = statementsOf('product_records', recordView);

export const createCatalogProduct = (
  scope: OrganizationScope,
  { insert }: ProductStatements,
  { variants, ...product }: CatalogProductRecordCreate,
  key?: IdempotencyKey,
): Promise<Json<CatalogProduct>> =>
  insert(scope, newId(), { ...product, variants: variants.map(variantOf) }, key);

/** @throws CATALOG_PRODUCT_NOT_FOUND, VALIDATION_FAILED for variants that do not match the stored ones */
export async function updateCatalogProduct(
  scope: OrganizationScope,
  { lock, patch }: ProductStatements,
  id: string,
  { variants, ...fields }: CatalogProductRecordUpdate,
): Promise<Json<CatalogProduct>> {
  if (!variants) return patch(scope, id, fields);
  return scope.transaction(async (within) => {
    const stored = parseJson(await lock(within, id));
    return patch(within, id, { ...fields, variants: patchedVariants(variants, stored.variants) });
  });
}

/**
 * `update products set archived_at = now() where … and archived_at is null returning id, archived_at`
 * @throws CATALOG_PRODUCT_NOT_FOUND
 */
export const archiveCatalogProduct = defineArchive(
  'products.archive',
  activeProducts,
  archivedFields(products),
);

/** As the dashboard lists them; with `archived`, those that it can restore. */
export const listCatalogProductRecords = defineList('products.list_records', recordView, {
  ...lists,
  archived: {
    visible: sql`${products.archivedAt} is not null and ${isRestorable}`,
    order: newestFirst(products, products.archivedAt),
  },
});

/**
 * An archived product too, until it is purged.
 * @throws CATALOG_PRODUCT_NOT_FOUND
 */
export const getCatalogProductRecord = defineGet('products.get_stored', {
  ...recordView,
  visible: sql`(${products.archivedAt} is null or ${isRestorable})`,
});

const restoreArchived = defineRestore('products.restore', recordView, isRestorable);

/** @throws CATALOG_PRODUCT_NOT_FOUND also after the retention, CATALOG_PRODUCT_NOT_ARCHIVED */
export async function restoreCatalogProduct(scope: OrganizationScope, id: string) {
  const restored = await restoreArchived(scope, id);
  if (restored) return restored;
  await getCatalogProductRecord(scope, id);
  throw new ApiError('CATALOG_PRODUCT_NOT_ARCHIVED');
}

const isDue = sql`not (${isRestorable})`;

const dueStatement = unprepared('products.due_for_purge', ($: Params<{ limit: number }>) => {
  const { organizationId, id, archivedAt } = products;
  return qb
    .select(columns({ organizationId, id }))
    .from(products)
    .where(isDue)
    .orderBy(archivedAt)
    .limit($.limit);
});

const purgeStatement = prepared('products.purge', ($: Params<Ids>) => {
  const { organizationId, id } = products;
  // A product may have been restored since it was read.
  const isStillDue = and(keyIn(products, $), isDue);
  return qb.delete(products).where(isStillDue).returning(columns({ organizationId, id }));
});

/** Deletes at most `limit` products whose retention is over, oldest first. */
export async function purgeCatalogProducts(db: Queries, limit: number) {
  const due = await db.read(dueStatement, { limit });
  const purged: typeof due = [];
  for (const [organizationId, rows] of Map.groupBy(due, (row) => row.organizationId)) {
    const ids = rows.map(({ id }) => id);
    purged.push(...(await db.write(purgeStatement, { organizationId, ids })));
  }
  return purged;
}
