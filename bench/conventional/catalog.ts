import { and, asc, eq, inArray, isNull, type SQL } from 'drizzle-orm';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { v7 } from 'uuid';
import {
  CatalogProduct,
  CatalogProductCreate,
  CatalogProductList,
  CatalogProductListQuery,
  CatalogProductParams,
  CatalogProductUpdate,
} from '../../src/catalog/schema.ts';
import { products, productVariants } from './schema.ts';
import { contains, type Database, groupBy, newest, notFound, type RouteOptions } from './shared.ts';

type ProductRow = typeof products.$inferSelect;
type VariantRow = typeof productVariants.$inferSelect;

const toVariant = ({ organizationId, productId, ...variant }: VariantRow) =>
  ({ ...variant }) as CatalogProduct['variants'][number];

const toProduct = ({ organizationId, archivedAt, ...product }: ProductRow, variants: readonly VariantRow[]) =>
  ({
    ...product,
    createdAt: product.createdAt.toISOString(),
    updatedAt: product.updatedAt.toISOString(),
    variants: variants.map(toVariant),
  }) as CatalogProduct;

const variantsOf = (db: Database, organizationId: string, ids: string[]): Promise<VariantRow[]> =>
  db
    .select()
    .from(productVariants)
    .where(and(eq(productVariants.organizationId, organizationId), inArray(productVariants.productId, ids)))
    .orderBy(asc(productVariants.position));

export const catalogRoutes: FastifyPluginAsyncZod<RouteOptions> = async (app, { db }) => {
  const one = (organizationId: string, id: string): SQL | undefined =>
    and(eq(products.organizationId, organizationId), eq(products.id, id), isNull(products.archivedAt));

  app.get(
    '/catalog/products',
    { schema: { querystring: CatalogProductListQuery, response: { 200: CatalogProductList } } },
    async ({ organizationId, query }) => {
      const { limit, offset } = query;
      const where = and(
        eq(products.organizationId, organizationId),
        isNull(products.archivedAt),
        query.status && eq(products.status, query.status),
        query.type && eq(products.type, query.type),
        query.budgetTier && eq(products.budgetTier, query.budgetTier),
        query.query ? contains(products, query.query) : undefined,
      );
      const [rows, total] = await Promise.all([
        db
          .select()
          .from(products)
          .where(where)
          .orderBy(newest(products.updatedAt), newest(products.id))
          .limit(limit)
          .offset(offset),
        db.$count(products, where),
      ]);
      const variants = groupBy(
        await variantsOf(
          db,
          organizationId,
          rows.map(({ id }) => id),
        ),
        ({ productId }) => productId,
      );
      return {
        data: rows.map((row) => toProduct(row, variants.get(row.id) ?? [])),
        pagination: { limit, offset, total },
      };
    },
  );

  app.get(
    '/catalog/products/:productId',
    { schema: { params: CatalogProductParams, response: { 200: CatalogProduct } } },
    async ({ organizationId, params }) => {
      const [[row], variants] = await Promise.all([
        db.select().from(products).where(one(organizationId, params.productId)),
        variantsOf(db, organizationId, [params.productId]),
      ]);
      if (!row) throw notFound('product');
      return toProduct(row, variants);
    },
  );

  app.post(
    '/catalog/products',
    { schema: { body: CatalogProductCreate, response: { 201: CatalogProduct } } },
    async ({ organizationId, body }, reply) => {
      const { variants, ...product } = body;
      const created = await db.transaction(async (tx) => {
        const [row] = await tx
          .insert(products)
          .values({
            ...product,
            includes: product.includes ?? [],
            excludes: product.excludes ?? [],
            organizationId,
            id: v7(),
          })
          .returning();
        if (!row) throw new Error('no row');
        const children =
          variants.length === 0
            ? []
            : await tx
                .insert(productVariants)
                .values(
                  variants.map((variant, position) => ({
                    ...variant,
                    includes: variant.includes ?? [],
                    excludes: variant.excludes ?? [],
                    organizationId,
                    productId: row.id,
                    id: v7(),
                    position,
                  })),
                )
                .returning();
        return toProduct(row, children);
      });
      return reply.code(201).send(created);
    },
  );

  app.patch(
    '/catalog/products/:productId',
    {
      schema: { params: CatalogProductParams, body: CatalogProductUpdate, response: { 200: CatalogProduct } },
    },
    async ({ organizationId, params, body }) => {
      const { includes, excludes, ...rest } = body;
      const changes = {
        ...rest,
        ...(includes !== undefined && { includes: includes ?? [] }),
        ...(excludes !== undefined && { excludes: excludes ?? [] }),
      };
      const [row] = await db
        .update(products)
        .set({ ...changes, updatedAt: new Date() })
        .where(one(organizationId, params.productId))
        .returning();
      if (!row) throw notFound('product');
      return toProduct(row, await variantsOf(db, organizationId, [row.id]));
    },
  );
};
