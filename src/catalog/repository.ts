import { sql } from 'drizzle-orm';
import { defineArchive } from '../db/archive.ts';
import { builder, named } from '../db/builder.ts';
import type { Queries } from '../db/client.ts';
import { columnsOf, fieldsOf } from '../db/fields.ts';
import { defineGet, defineLockedGet } from '../db/get.ts';
import { newId } from '../db/ids.ts';
import { type Json, jsonArray } from '../db/json.ts';
import { contains, defineList, equals, newestFirst } from '../db/list.ts';
import { addLive } from '../db/live-count.ts';
import { definePatch } from '../db/patch.ts';
import { columnList, columnsFrom, newRow, newRowValues, recordsFrom, toNewRecord } from '../db/record.ts';
import { nameOf, organizationParam, type RecordKey, rowOf, type TenantTable } from '../db/resource.ts';
import {
  liveProducts,
  productBodies,
  products,
  productVariants,
  searchableProducts,
} from '../db/schema/index.ts';
import type { OrganizationScope } from '../db/scope.ts';
import { defineSearchKeeper, makeSearchable } from '../db/searchable.ts';
import { type Params, prepared, unprepared } from '../db/statement.ts';
import { defineBodyKeeper, keepNewBody } from '../db/stored-body.ts';
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
  bodies: productBodies,
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
  budgetTier: equals(products.budgetTier),
  externalReferenceCode: equals(products.externalReferenceCode),
  query: contains(products.search),
  status: equals(products.status),
  type: equals(products.type),
};

export const listCatalogProducts = defineList(productView, {
  query: CatalogProductListQuery,
  order: [newestFirst(products.updatedAt), newestFirst(products.id)],
  filters: productFilters,
});

/** @throws CATALOG_PRODUCT_NOT_FOUND */
export const getCatalogProduct = defineGet(productView);

/** @throws CATALOG_PRODUCT_NOT_FOUND */
export const lockCatalogProduct = defineLockedGet(productView, getCatalogProduct);

type CreateValues = RecordKey & Record<string, unknown>;

const createStatement = prepared('products.create', ($: Params<CreateValues>) =>
  builder
    .insert(products)
    .values({ organizationId: $.organizationId, id: $.id, ...newRow($, productColumns) } as never),
);

const createVariantsStatement = prepared(
  'products.create_variants',
  ($: Params<RecordKey & { variants: string }>) => sql`
    insert into ${productVariants} (organization_id, product_id, ${columnList(variantColumns)})
    select ${products.organizationId}, ${products.id}, ${columnsFrom('input', variantColumns)}
    from ${products}, ${recordsFrom(productVariants, $.variants)} input
    where ${rowOf(liveProducts, $)}`,
);

const searchableStatement = makeSearchable(liveProducts);

const keepBodyStatement = keepNewBody(productView);

/** Creates a product with its variants, all or nothing. */
export async function createCatalogProduct(
  { db, organizationId }: OrganizationScope,
  input: CatalogProductCreate,
  id = newId(),
): Promise<Json<CatalogProduct>> {
  const { variants, ...product } = input;
  const values = {
    ...newRowValues(productColumns, product),
    organizationId,
    id,
    variants: JSON.stringify(
      variants.map((variant, position) => toNewRecord(variantColumns, { ...variant, id: newId(), position })),
    ),
    resource: nameOf(liveProducts),
    amount: 1,
  };
  const [row] = await db.writeTogether(
    [createStatement, createVariantsStatement, searchableStatement, addLive, keepBodyStatement],
    values,
  );
  if (!row) throw new Error('Creating a product returned no row.');
  return row.body;
}

/**
 * Changes the fields that the body has; null clears one. Values equal to the stored ones change nothing.
 * @throws CATALOG_PRODUCT_NOT_FOUND
 */
export const updateCatalogProduct = definePatch(productView, productColumns);

/** @throws CATALOG_PRODUCT_NOT_FOUND */
export const archiveCatalogProduct = defineArchive(liveProducts);

/** What is left of a purged product: enough to tell what became of it. */
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

const purgeFrom = (table: TenantTable, name: string) =>
  prepared(name, ($: Params<Omit<PurgeValues, 'before'>>) =>
    builder
      .delete(table)
      .where(sql`${table.organizationId} = ${$.organizationId} and ${table.id} = any(${$.ids}::uuid[])`),
  );

const purgeBodiesStatement = purgeFrom(productBodies, 'products.purge_bodies');
const purgeSearchableStatement = purgeFrom(searchableProducts, 'products.purge_searchable');
const purgeStatement = purgeFrom(products, 'products.purge');

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
    const variants = await transaction.write(purgeVariantsStatement, { organizationId, ids });
    await transaction.write(purgeBodiesStatement, { organizationId, ids });
    await transaction.write(purgeSearchableStatement, { organizationId, ids });
    await transaction.write(purgeStatement, { organizationId, ids });
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

export const productKeepers = {
  bodies: defineBodyKeeper(productView),
  searchable: defineSearchKeeper(liveProducts),
};
