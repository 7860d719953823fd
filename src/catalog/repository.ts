import { sql } from 'drizzle-orm';
import type { Queries } from '../db/client.ts';
import { isId, newId } from '../db/ids.ts';
import { type Fields, isoTime, type Json, jsonArray, jsonRows } from '../db/json.ts';
import { defineList, newestFirst, searchFilter } from '../db/list.ts';
import { countLive, liveTotal } from '../db/live-count.ts';
import { patchStatement } from '../db/patch.ts';
import { names, namesOf, recordFrom, recordsFrom, toRecord, writable } from '../db/record.ts';
import { products, productVariants } from '../db/schema/index.ts';
import type { OrganizationScope } from '../db/scope.ts';
import { lookup, planned, rendered } from '../db/statement.ts';
import { type ApiError, notFound } from '../errors.ts';
import type {
  ArchivedCatalogProduct,
  CatalogProduct,
  CatalogProductCreate,
  CatalogProductUpdate,
  CatalogProductVariant,
} from './schema.ts';

const variantFields: Fields<CatalogProductVariant> = {
  id: productVariants.id,
  label: productVariants.label,
  position: productVariants.position,
  status: productVariants.status,
  capacityMin: productVariants.capacityMin,
  capacityMax: productVariants.capacityMax,
  currency: productVariants.currency,
  description: productVariants.description,
  shortDescription: productVariants.shortDescription,
  durationDays: productVariants.durationDays,
  durationHours: productVariants.durationHours,
  includes: productVariants.includes,
  excludes: productVariants.excludes,
  fromPrice: productVariants.fromPrice,
  priceMax: productVariants.priceMax,
};

export const productFields: Fields<CatalogProduct> = {
  id: products.id,
  title: products.title,
  type: products.type,
  status: products.status,
  pricingMode: products.pricingMode,
  budgetTier: products.budgetTier,
  capacityMin: products.capacityMin,
  capacityMax: products.capacityMax,
  coverImage: products.coverImage,
  currency: products.currency,
  description: products.description,
  shortDescription: products.shortDescription,
  specialConditions: products.specialConditions,
  destinations: products.destinations,
  durationDays: products.durationDays,
  durationHours: products.durationHours,
  includes: products.includes,
  excludes: products.excludes,
  gallery: products.gallery,
  externalReferenceCode: products.externalReferenceCode,
  fromPrice: products.fromPrice,
  priceMax: products.priceMax,
  operator: products.operator,
  priceBasis: products.priceBasis,
  validFrom: products.validFrom,
  validUntil: products.validUntil,
  variants: jsonArray(
    variantFields,
    sql`from ${productVariants}
      where ${productVariants.organizationId} = ${products.organizationId} and ${productVariants.productId} = ${products.id}
      order by ${productVariants.position}`,
  ),
  createdAt: isoTime(products.createdAt),
  updatedAt: isoTime(products.updatedAt),
};

/** What a PATCH can change. */
const patchable = writable({
  title: products.title,
  type: products.type,
  status: products.status,
  pricingMode: products.pricingMode,
  budgetTier: products.budgetTier,
  capacityMin: products.capacityMin,
  capacityMax: products.capacityMax,
  currency: products.currency,
  description: products.description,
  shortDescription: products.shortDescription,
  specialConditions: products.specialConditions,
  durationDays: products.durationDays,
  durationHours: products.durationHours,
  includes: products.includes,
  excludes: products.excludes,
  externalReferenceCode: products.externalReferenceCode,
  fromPrice: products.fromPrice,
  priceMax: products.priceMax,
  operator: products.operator,
  priceBasis: products.priceBasis,
  validFrom: products.validFrom,
  validUntil: products.validUntil,
});

/** What a create writes of each variant. */
const variantColumns = writable({
  id: productVariants.id,
  label: productVariants.label,
  position: productVariants.position,
  status: productVariants.status,
  capacityMin: productVariants.capacityMin,
  capacityMax: productVariants.capacityMax,
  currency: productVariants.currency,
  description: productVariants.description,
  shortDescription: productVariants.shortDescription,
  durationDays: productVariants.durationDays,
  includes: productVariants.includes,
  excludes: productVariants.excludes,
  fromPrice: productVariants.fromPrice,
  priceMax: productVariants.priceMax,
});

export const liveProduct = sql`${products.archivedAt} is null`;

const oneProduct = sql`${products.organizationId} = ${sql.placeholder('organizationId')}
  and ${products.id} = ${sql.placeholder('id')} and ${liveProduct}`;

const productNotFound = (id: string): ApiError =>
  notFound('CATALOG_PRODUCT_NOT_FOUND', 'catalog product', id);

/** null empties a list, which is never null itself. */
const withoutNullLists = <
  Body extends { includes?: string[] | null | undefined; excludes?: string[] | null | undefined },
>(
  body: Body,
): Body => ({
  ...body,
  ...(body.includes === null && { includes: [] }),
  ...(body.excludes === null && { excludes: [] }),
});

export const listCatalogProducts = defineList<CatalogProduct, 'budgetTier' | 'query' | 'status' | 'type'>({
  name: 'list_catalog_products',
  table: products,
  fields: productFields,
  visible: liveProduct,
  order: [newestFirst(products.updatedAt), newestFirst(products.id)],
  filters: {
    budgetTier: sql`${products.budgetTier} = ${sql.placeholder('budgetTier')}`,
    query: searchFilter(products.search),
    status: sql`${products.status} = ${sql.placeholder('status')}`,
    type: sql`${products.type} = ${sql.placeholder('type')}`,
  },
  plannedFor: ['query'],
  total: liveTotal('products'),
});

const getStatement = lookup<CatalogProduct, { organizationId: string; id: string }>(
  'get_catalog_product',
  jsonRows(productFields, sql`from ${products} where ${oneProduct}`),
);

/** @throws CATALOG_PRODUCT_NOT_FOUND */
export async function getCatalogProduct(
  { db, organizationId }: OrganizationScope,
  id: string,
): Promise<Json<CatalogProduct>> {
  const [row] = isId(id) ? await db.read(getStatement, { organizationId, id }) : [];
  if (!row) throw productNotFound(id);
  return row.body;
}

const createStatement = rendered<
  CatalogProduct,
  { organizationId: string; id: string; product: string; variants: string }
>(
  'create_catalog_product',
  sql`with products as (
      insert into ${products} (organization_id, id, ${names(patchable)})
      select ${sql.placeholder('organizationId')}::uuid, ${sql.placeholder('id')}::uuid, ${namesOf('input', patchable)}
      from ${recordFrom(products, 'product')} input
      returning *),
    product_variants as (
      insert into ${productVariants} (organization_id, product_id, ${names(variantColumns)})
      select products.organization_id, products.id, ${namesOf('input', variantColumns)}
      from products, ${recordsFrom(productVariants, 'variants')} input
      returning *),
    counted as (${countLive('products', sql`select count(*) from products`)})
    ${jsonRows(productFields, sql`from products`)}`,
);

/** Creates a product with its variants, all or nothing. */
export async function createCatalogProduct(
  { db, organizationId }: OrganizationScope,
  input: CatalogProductCreate,
  id = newId(),
): Promise<Json<CatalogProduct>> {
  const variants = input.variants.map((variant, position) =>
    toRecord(variantColumns, {
      includes: [],
      excludes: [],
      ...withoutNullLists(variant),
      id: newId(),
      position,
    }),
  );
  const product = toRecord(patchable, { includes: [], excludes: [], ...withoutNullLists(input) });
  const [row] = await db.write(createStatement, {
    organizationId,
    id,
    product: JSON.stringify(product),
    variants: JSON.stringify(variants),
  });
  if (!row) throw new Error('Creating a product returned no row.');
  return row.body;
}

const updateStatement = patchStatement<CatalogProduct>({
  name: 'update_catalog_product',
  table: products,
  fields: productFields,
  columns: patchable,
  where: oneProduct,
});

/**
 * Changes the fields that the body has; null clears one. Values equal to the stored ones change nothing.
 * @throws CATALOG_PRODUCT_NOT_FOUND
 */
export async function updateCatalogProduct(
  { db, organizationId }: OrganizationScope,
  id: string,
  input: CatalogProductUpdate,
): Promise<Json<CatalogProduct>> {
  const patch = JSON.stringify(toRecord(patchable, withoutNullLists(input)));
  const [row] = isId(id) ? await db.write(updateStatement, { organizationId, id, patch }) : [];
  if (!row) throw productNotFound(id);
  return row.body;
}

const archiveStatement = rendered<ArchivedCatalogProduct, { organizationId: string; id: string }>(
  'archive_catalog_product',
  sql`with products as (
      update ${products} set archived_at = now() where ${oneProduct} returning *),
    counted as (${countLive('products', sql`select -count(*) from products`)})
    ${jsonRows({ id: products.id, archivedAt: isoTime(products.archivedAt) }, sql`from products`)}`,
);

/** @throws CATALOG_PRODUCT_NOT_FOUND */
export async function archiveCatalogProduct(
  { db, organizationId }: OrganizationScope,
  id: string,
): Promise<Json<ArchivedCatalogProduct>> {
  const [row] = isId(id) ? await db.write(archiveStatement, { organizationId, id }) : [];
  if (!row) throw productNotFound(id);
  return row.body;
}

/** What is left of a purged product: enough to tell what became of it. */
export type PurgedProduct = { organizationId: string; id: string; archivedAt: Date; variants: number };

const purgeStatement = planned<PurgedProduct, { before: string; limit: number }>(
  sql`with due as (
      select ${products.organizationId} as organization_id, ${products.id} as id from ${products}
      where ${products.archivedAt} is not null and ${products.archivedAt} < ${sql.placeholder('before')}::timestamptz
      order by ${products.archivedAt} limit ${sql.placeholder('limit')}
      for update skip locked),
    purged_variants as (
      delete from ${productVariants} using due
      where ${productVariants.organizationId} = due.organization_id and ${productVariants.productId} = due.id
      returning ${productVariants.organizationId}, ${productVariants.productId}),
    purged as (
      delete from ${products} using due
      where ${products.organizationId} = due.organization_id and ${products.id} = due.id
      returning ${products.organizationId}, ${products.id}, ${products.archivedAt})
    select purged.organization_id as "organizationId", purged.id as "id", purged.archived_at as "archivedAt",
      coalesce(counted.amount, 0)::int as "variants"
    from purged left join (
      select organization_id, product_id, count(*) as amount from purged_variants group by organization_id, product_id
    ) counted on counted.organization_id = purged.organization_id and counted.product_id = purged.id`,
);

/**
 * Removes products of every organization that were archived before a moment, oldest first, with their variants, all or
 * nothing. One that is being restored right now is left alone.
 * @param before ISO 8601
 * @param limit products at most
 */
export const purgeCatalogProducts = (db: Queries, before: string, limit: number): Promise<PurgedProduct[]> =>
  db.write(purgeStatement, { before, limit });
