import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { json } from '../http/records.ts';
import * as repository from './repository.ts';
import type { CatalogView } from './routes.ts';
import * as schema from './schema.ts';

export const catalogRecords: CatalogView = {
  product: schema.CatalogProductRecord,
  query: schema.CatalogProductRecordListQuery,
  create: schema.CatalogProductRecordCreate,
  update: schema.CatalogProductRecordUpdate,
  variants: '`variants` replaces the whole list: one save of an editor is one request.',
  list: repository.listCatalogProductRecords,
  get: repository.getCatalogProductRecord,
  statements: repository.productRecordStatements,
};

export const catalogDashboardRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/catalog/products/:productId/restore',
    {
      config: { errorCodes: ['CATALOG_PRODUCT_NOT_FOUND', 'CATALOG_PRODUCT_NOT_ARCHIVED'] },
      schema: {
        operationId: 'restoreCatalogProduct',
        summary: 'Restore an archived product',
        description:
          'The product is active again, with all its fields. Possible until `purgeAt`, 30 days after it was archived.',
        params: schema.CatalogProductParams,
        response: { 200: json(schema.CatalogProductRecord, 'The product as it is now.') },
      },
    },
    async ({ scope, params }) => repository.restoreCatalogProduct(scope, params.productId),
  );
};
