import { type SQL, sql } from 'drizzle-orm';
import { getCatalogProduct, productFilters, productView } from '../../catalog/repository.ts';
import { RETENTION_DAYS, retainedSince } from '../../catalog/retention.ts';
import { type CatalogProduct, CatalogProductListQuery } from '../../catalog/schema.ts';
import { defineList, newestFirst, type Page } from '../../db/define/list.ts';
import { bodyOf, missing, type RecordKey, rowOf } from '../../db/define/view.ts';
import { defineUpdate } from '../../db/define/write.ts';
import type { OrganizationScope } from '../../db/run/scope.ts';
import { liveProducts, products } from '../../db/schema/index.ts';
import { columnsOf, fieldsOf } from '../../db/sql/field-columns.ts';
import { isId } from '../../db/sql/ids.ts';
import { isoTime, type Json } from '../../db/sql/json.ts';
import { type Params, prepared } from '../../db/sql/statement.ts';
import { ApiError } from '../../errors.ts';
import { text } from '../../fields.ts';
import { CatalogProductMediaUpdate, RestorableCatalogProduct } from './schema.ts';

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
    returning ${bodyOf(productView)} as body`,
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
