import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { json } from '../http/records.ts';
import {
  getCatalogProductRecord,
  listCatalogProductRecords,
  productRecordStatements,
  restoreCatalogProduct,
} from './repository.ts';
import type { CatalogView } from './routes.ts';
import {
  CatalogProductParams,
  CatalogProductRecord,
  CatalogProductRecordCreate,
  CatalogProductRecordListQuery,
  CatalogProductRecordUpdate,
} from './schema.ts';

export const catalogRecords: CatalogView = {
  product: CatalogProductRecord,
  query: CatalogProductRecordListQuery,
  create: CatalogProductRecordCreate,
  update: CatalogProductRecordUpdate,
  variants: '`variants` replaces the whole list: one save of an editor is one request.',
  list: listCatalogProductRecords,
  get: getCatalogProductRecord,
  statements: productRecordStatements,
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
        params: CatalogProductParams,
        response: { 200: json(CatalogProductRecord, 'The product as it is now.') },
      },
    },
    async ({ scope, params }) => restoreCatalogProduct(scope, params.productId),
  );
};
