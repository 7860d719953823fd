import { type SQL, sql } from 'drizzle-orm';
import { ApiError } from '../contract/errors.ts';
import { text } from '../contract/fields.ts';
import type { OrganizationScope, Queries } from '../db/pool/scope.ts';
import { defineGet, defineLockedGet } from '../db/repository/get.ts';
import {
  changeFilters,
  contains,
  defineList,
  equals,
  newestFirst,
  type Page,
} from '../db/repository/list.ts';
import { missing, type RecordKey, rowOf } from '../db/repository/view.ts';
import { type Body, defineArchive, defineCreate, defineUpdate } from '../db/repository/write.ts';
import { columnsOf, fieldsOf } from '../db/sql/field-columns.ts';
import { isId, newId } from '../db/sql/ids.ts';
import { type Fields, isoTime, type Json, jsonRow, parseJson } from '../db/sql/json.ts';
import { type Params, prepared, unprepared } from '../db/sql/statement.ts';
import { liveProducts, products } from '../db/tables/catalog.ts';
import { RETENTION_DAYS, retainedSince } from './retention.ts';
import {
  CatalogProduct,
  type CatalogProductCreate,
  CatalogProductListQuery,
  CatalogProductMediaUpdate,
  CatalogProductUpdate,
  CatalogProductVariant,
  RestorableCatalogProduct,
} from './schema.ts';

export const productView = {
  ...liveProducts,
  fields: fieldsOf(CatalogProduct, products, { variants: products.variants }),
};

const productColumns = columnsOf(CatalogProductUpdate, products);

/** The filters of the catalog. */
const productFilters = {
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
export function variantOf(
  input: CatalogProductCreate['variants'][number],
  position: number,
): CatalogProductVariant {
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

const purgedFields: Fields<PurgedProduct> = {
  organizationId: products.organizationId,
  id: products.id,
  archivedAt: products.archivedAt,
  variants: sql`json_array_length(${products.variants})`,
};

/** Looks again under the lock: a product that was restored since then stays. */
const purgeStatement = prepared(
  'products.purge',
  ($: Params<{ organizationId: string; ids: string[]; before: string }>): SQL<Body<PurgedProduct>> => sql`
    delete from ${products} where ${products.organizationId} = ${$.organizationId}
      and ${products.id} = any(${$.ids}::uuid[]) and ${products.archivedAt} < ${$.before}::timestamptz
    returning ${jsonRow(purgedFields)} as body`,
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
    const gone = await db.write(purgeStatement, { organizationId, ids, before });
    purged.push(...gone.map(({ body }) => parseJson(body)));
  }
  return purged;
}

/** In hours, because a day of PostgreSQL has 23 or 25 of them when its time zone changes the clock. */
const purgeAt = isoTime(
  sql`(${products.archivedAt} + interval '${sql.raw(String(RETENTION_DAYS * 24))} hours')`,
);

/** As the search rows have it, which only products of the catalog have. */
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
    searchRow: undefined,
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
 * The archived products that can still be restored, latest archived first.
 * @param now milliseconds since 1970
 */
export const listArchivedCatalogProducts = (
  scope: OrganizationScope,
  query: ArchivedQuery,
  now: number,
): Promise<Json<Page<RestorableCatalogProduct>>> =>
  listArchived(scope, { ...query, since: retainedSince(now) });

/**
 * Changes the media fields that the body has. Null clears a field. Values equal to the stored ones change nothing.
 * @throws CATALOG_PRODUCT_NOT_FOUND
 */
export const updateCatalogProductMedia = defineUpdate(
  productView,
  columnsOf(CatalogProductMediaUpdate, products),
  'products.update_media',
);

const restoreStatement = prepared(
  'products.restore',
  ($: Params<RecordKey & { since: string }>): SQL<{ body: Json<CatalogProduct> }> => sql`
    update ${products} set archived_at = null
    where ${rowOf(liveProducts, $)} and ${products.archivedAt} >= ${$.since}::timestamptz
    returning ${jsonRow(productView.fields)} as body`,
);

/**
 * Brings an archived product back, as long as it is retained. Its `updatedAt` moves.
 * @param now milliseconds since 1970
 * @throws CATALOG_PRODUCT_NOT_FOUND also past the retention, CATALOG_PRODUCT_NOT_ARCHIVED
 */
export async function restoreCatalogProduct(
  scope: OrganizationScope,
  id: string,
  now: number,
): Promise<Json<CatalogProduct>> {
  const { db, organizationId } = scope;
  if (!isId(id)) throw missing(liveProducts, id);
  const [restored] = await db.write(restoreStatement, { organizationId, id, since: retainedSince(now) });
  if (restored) return restored.body;
  await getCatalogProduct(scope, id);
  throw new ApiError('CATALOG_PRODUCT_NOT_ARCHIVED', 'The catalog product is not archived.');
}
