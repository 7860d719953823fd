import { getTableName, sql } from 'drizzle-orm';
import { ApiError } from '../contract/errors.ts';
import {
  activeProducts,
  archivedOf,
  changeFilters,
  columnsOf,
  contains,
  defineArchive,
  defineCreate,
  defineGet,
  defineList,
  defineLockedGet,
  definePurge,
  defineRestore,
  defineUpdate,
  equals,
  fieldsOf,
  hasEntry,
  type IdempotencyKey,
  inTransaction,
  isoTime,
  type Json,
  newestFirst,
  newId,
  type OrganizationScope,
  parseJson,
  products,
  searchableProducts,
  type View,
} from '../db/index.ts';
import {
  CatalogProduct,
  CatalogProductListQuery,
  CatalogProductRecord,
  type CatalogProductRecordCreate,
  CatalogProductRecordUpdate,
} from './schema.ts';
import { patchedVariants, variantOf } from './variants.ts';

export const productView = {
  ...activeProducts,
  fields: fieldsOf(CatalogProduct, products, { variants: products.variants }),
};

/** 30 days. In hours: a day of PostgreSQL has 23 or 25 hours when its time zone changes the clock. */
const RETENTION = sql.raw(`interval '720 hours'`);

const isRestorable = sql`${products.archivedAt} >= now() - ${RETENTION}`;

const recordView = {
  ...activeProducts,
  fields: fieldsOf(CatalogProductRecord, products, {
    variants: products.variants,
    archivedAt: products.archivedAt,
    purgeAt: isoTime(sql`(${products.archivedAt} + ${RETENTION})`),
  }),
};

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

export const listCatalogProducts = defineList(productView, lists);

/** The fields of both APIs have columns; the schemas of a route say which it takes. */
const columns = columnsOf(CatalogProductRecordUpdate, products);

/** The functions throw CATALOG_PRODUCT_NOT_FOUND. */
function defineProducts<T extends CatalogProduct>(view: View<T>, name = getTableName(view.table)) {
  const get = defineGet(view, `${name}.get`);
  const lock = defineLockedGet(view, `${name}.get`);
  const insert = defineCreate(view, columns, `${name}.create`);
  const patch = defineUpdate(view, columns, `${name}.update`, get);
  return {
    get,
    lock,
    create: (
      scope: OrganizationScope,
      { variants, ...product }: CatalogProductRecordCreate,
      key?: IdempotencyKey,
    ): Promise<Json<T>> => insert(scope, newId(), { ...product, variants: variants.map(variantOf) }, key),
    /** @throws VALIDATION_FAILED for variants that do not match the stored ones */
    update: (
      scope: OrganizationScope,
      id: string,
      { variants, ...fields }: CatalogProductRecordUpdate,
    ): Promise<Json<T>> => {
      if (!variants) return patch(scope, id, fields);
      return inTransaction(scope, async (within) => {
        const stored = parseJson(await lock(within, id));
        return patch(within, id, { ...fields, variants: patchedVariants(variants, stored.variants) });
      });
    },
  };
}

export const publicProducts = defineProducts(productView);
export const {
  get: getCatalogProduct,
  create: createCatalogProduct,
  update: updateCatalogProduct,
} = publicProducts;

/** @throws CATALOG_PRODUCT_NOT_FOUND */
export const archiveCatalogProduct = defineArchive(activeProducts);

type PurgedProduct = { organizationId: string; id: string; archivedAt: string; variants: number };

export const purgeCatalogProducts = definePurge<PurgedProduct>(activeProducts, sql`not (${isRestorable})`, {
  organizationId: products.organizationId,
  id: products.id,
  archivedAt: products.archivedAt,
  variants: sql`json_array_length(${products.variants})`,
});

const getStored = defineGet(
  { ...recordView, visible: sql`(${products.archivedAt} is null or ${isRestorable})` },
  'products.get_stored',
);
const restoreArchived = defineRestore(recordView, isRestorable);

/** Products of the dashboard: archived ones too, until they are purged. */
export const catalogProductRecord = {
  ...defineProducts(recordView, 'product_records'),
  get: getStored,
  list: defineList(recordView, {
    ...lists,
    name: 'products.list_records',
    archived: {
      ...archivedOf(products),
      visible: sql`${products.archivedAt} is not null and ${isRestorable}`,
    },
  }),
  archive: archiveCatalogProduct,
  /** @throws CATALOG_PRODUCT_NOT_FOUND also after the retention, CATALOG_PRODUCT_NOT_ARCHIVED */
  restore: async (scope: OrganizationScope, id: string): Promise<Json<CatalogProductRecord>> => {
    const restored = await restoreArchived(scope, id);
    if (restored) return restored;
    await getStored(scope, id);
    throw new ApiError('CATALOG_PRODUCT_NOT_ARCHIVED');
  },
};
