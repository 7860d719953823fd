import { sql } from 'drizzle-orm';
import { liveProduct, productFields } from '../../catalog/repository.ts';
import { RETENTION_DAYS, retainedSince } from '../../catalog/retention.ts';
import type { CatalogProduct } from '../../catalog/schema.ts';
import { isId } from '../../db/ids.ts';
import { isoTime, type Json, jsonRows } from '../../db/json.ts';
import { defineList, newestFirst, type Page, searchFilter } from '../../db/list.ts';
import { countLive } from '../../db/live-count.ts';
import { patchStatement } from '../../db/patch.ts';
import { toRecord, writable } from '../../db/record.ts';
import { products } from '../../db/schema/index.ts';
import type { OrganizationScope } from '../../db/scope.ts';
import { prepared } from '../../db/statement.ts';
import { ApiError, notFound } from '../../errors.ts';
import type { CatalogProductMediaUpdate, RestorableCatalogProduct } from './schema.ts';

const oneProduct = sql`${products.organizationId} = ${sql.placeholder('organizationId')}
  and ${products.id} = ${sql.placeholder('id')}`;

const productNotFound = (id: string): ApiError =>
  notFound('CATALOG_PRODUCT_NOT_FOUND', 'catalog product', id);

/** In hours: a day of 24, whatever the clocks of the server's time zone do. */
const purgeAt = sql`(${products.archivedAt} + interval '${sql.raw(String(RETENTION_DAYS * 24))} hours')`;

const listArchived = defineList<
  RestorableCatalogProduct,
  'since' | 'budgetTier' | 'query' | 'status' | 'type'
>({
  name: 'list_archived_products',
  table: products,
  fields: { ...productFields, archivedAt: isoTime(products.archivedAt), purgeAt: isoTime(purgeAt) },
  visible: sql`${products.archivedAt} is not null`,
  order: [newestFirst(products.archivedAt), newestFirst(products.id)],
  filters: {
    since: sql`${products.archivedAt} >= ${sql.placeholder('since')}::timestamptz`,
    budgetTier: sql`${products.budgetTier} = ${sql.placeholder('budgetTier')}`,
    query: searchFilter(products.search),
    status: sql`${products.status} = ${sql.placeholder('status')}`,
    type: sql`${products.type} = ${sql.placeholder('type')}`,
  },
});

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

const mediaColumns = writable({
  coverImage: products.coverImage,
  gallery: products.gallery,
  destinations: products.destinations,
});

const updateMediaStatement = patchStatement<CatalogProduct>({
  name: 'update_catalog_product_media',
  table: products,
  fields: productFields,
  columns: mediaColumns,
  where: sql`${oneProduct} and ${liveProduct}`,
});

/**
 * Changes the media fields that the body has; null clears one. Values equal to the stored ones change nothing.
 * @throws CATALOG_PRODUCT_NOT_FOUND
 */
export async function updateCatalogProductMedia(
  { db, organizationId }: OrganizationScope,
  id: string,
  input: CatalogProductMediaUpdate,
): Promise<Json<CatalogProduct>> {
  const lists = {
    ...(input.gallery === null && { gallery: [] }),
    ...(input.destinations === null && { destinations: [] }),
  };
  const patch = JSON.stringify(toRecord(mediaColumns, { ...input, ...lists }));
  const [row] = isId(id) ? await db.write(updateMediaStatement, { organizationId, id, patch }) : [];
  if (!row) throw productNotFound(id);
  return row.body;
}

const restoreStatement = prepared<
  { body: Json<CatalogProduct> | null; isLive: boolean },
  { organizationId: string; id: string; since: string }
>(
  'restore_catalog_product',
  sql`with stored as (select ${products.archivedAt} from ${products} where ${oneProduct} for update),
    restored as (
      update ${products} set archived_at = null from stored
      where ${oneProduct} and stored.archived_at >= ${sql.placeholder('since')}::timestamptz
      returning ${products}.*),
    counted as (${countLive('products', sql`select count(*) from restored`)})
    select (${jsonRows(productFields, sql`from restored products`)}) as body,
      exists (select from stored where archived_at is null) as "isLive"`,
);

/**
 * Brings an archived product back as it was, `updatedAt` included, while it is retained.
 * @param now milliseconds since 1970
 * @throws CATALOG_PRODUCT_NOT_FOUND also past the retention, CATALOG_PRODUCT_NOT_ARCHIVED
 */
export async function restoreCatalogProduct(
  { db, organizationId }: OrganizationScope,
  id: string,
  now: number,
): Promise<Json<CatalogProduct>> {
  const since = retainedSince(now);
  const [row] = isId(id) ? await db.write(restoreStatement, { organizationId, id, since }) : [];
  if (row?.isLive) throw new ApiError('CATALOG_PRODUCT_NOT_ARCHIVED', 'The catalog product is not archived.');
  if (!row?.body) throw productNotFound(id);
  return row.body;
}
