import { sql } from 'drizzle-orm';
import { productFilters, productView } from '../../catalog/repository.ts';
import { RETENTION_DAYS, retainedSince } from '../../catalog/retention.ts';
import { type CatalogProduct, CatalogProductListQuery } from '../../catalog/schema.ts';
import { defineList, newestFirst, type Page } from '../../db/define/list.ts';
import { addLive } from '../../db/define/live-count.ts';
import { defineEnd, definePatch, writeRecord } from '../../db/define/patch.ts';
import { missing, type RecordKey, rowOf } from '../../db/define/view.ts';
import { inTransaction, type OrganizationScope } from '../../db/run/scope.ts';
import { liveProducts, products } from '../../db/schema/index.ts';
import { columnsOf, fieldsOf } from '../../db/sql/field-columns.ts';
import { isId } from '../../db/sql/ids.ts';
import { isoTime, type Json } from '../../db/sql/json.ts';
import { builder, type Params, prepared, step } from '../../db/sql/statement.ts';
import { ApiError } from '../../errors.ts';
import { text } from '../../fields.ts';
import { CatalogProductMediaUpdate, RestorableCatalogProduct } from './schema.ts';

/** In hours, because a day of PostgreSQL has 23 or 25 of them when its time zone changes the clock. */
const purgeAt = isoTime(
  sql`(${products.archivedAt} + interval '${sql.raw(String(RETENTION_DAYS * 24))} hours')`,
);

const listArchived = defineList(
  {
    ...liveProducts,
    fields: fieldsOf(RestorableCatalogProduct, products, {
      variants: productView.fields.variants,
      archivedAt: products.archivedAt,
      purgeAt,
    }),
    visible: sql`${products.archivedAt} is not null`,
    isCounted: false,
    readRow: undefined,
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
export const updateCatalogProductMedia = definePatch(
  productView,
  columnsOf(CatalogProductMediaUpdate, products),
  'products.update_media',
);

const lockArchivedStatement = prepared('products.restore_lock', ($: Params<RecordKey & { since: string }>) =>
  builder
    .select({
      isLive: sql<boolean>`${liveProducts.visible}`.as('isLive'),
      isRetained: sql<boolean>`${products.archivedAt} >= ${$.since}::timestamptz`.as('isRetained'),
    })
    .from(products)
    .where(rowOf(liveProducts, $))
    .for('update'),
);

const restoreStatement = prepared('products.restore', ($: Params<RecordKey>) =>
  builder.update(products).set({ archivedAt: sql`null` }).where(rowOf(liveProducts, $)),
);

const endOfWrite = defineEnd(productView);

/**
 * Brings an archived product back as it was, with its `updatedAt`, as long as it is retained.
 * @param now milliseconds since 1970
 * @throws CATALOG_PRODUCT_NOT_FOUND also past the retention, CATALOG_PRODUCT_NOT_ARCHIVED
 */
export const restoreCatalogProduct = (
  scope: OrganizationScope,
  id: string,
  now: number,
): Promise<Json<CatalogProduct>> =>
  inTransaction(scope, async (within) => {
    const key = { organizationId: within.organizationId, id };
    const [stored] = isId(id)
      ? await within.db.write(lockArchivedStatement, { ...key, since: retainedSince(now) })
      : [];
    if (stored?.isLive)
      throw new ApiError('CATALOG_PRODUCT_NOT_ARCHIVED', 'The catalog product is not archived.');
    if (!stored?.isRetained) throw missing(liveProducts, id);
    const body = await writeRecord<CatalogProduct>(within, [
      step(restoreStatement, key),
      addLive(within.organizationId, liveProducts, 1),
      ...endOfWrite(key),
    ]);
    if (body === undefined) throw new Error('Restoring a product returned no row.');
    return body;
  });
