import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { knownParams, OrganizationParams } from '../dashboard/params.ts';
import { ifMatch } from '../http/conditional.ts';
import { idempotently } from '../http/idempotency.ts';
import { json } from '../openapi/responses.ts';
import {
  getCatalogProduct,
  listArchivedCatalogProducts,
  listCatalogProducts,
  lockCatalogProduct,
  restoreCatalogProduct,
  updateDashboardFields,
} from './repository.ts';
import {
  CatalogProduct,
  CatalogProductDashboardUpdate,
  RestorableCatalogProductList,
  RestorableCatalogProductListQuery,
} from './schema.ts';

const productParams = knownParams('productId', 'Id of the product.');

export const catalogDashboardRoutes: FastifyPluginCallbackZod<{ now: () => number }> = (
  app,
  { now },
  done,
) => {
  app.get(
    '/catalog/products',
    {
      schema: {
        operationId: 'listCatalogProducts',
        summary: 'List products',
        description:
          'The catalog as /v1 lists it; with `archived=true` the archived products that can still be restored, latest archived first.',
        params: OrganizationParams,
        querystring: RestorableCatalogProductListQuery,
        response: { 200: json(RestorableCatalogProductList, 'A page of products.') },
      },
    },
    async (request) => {
      const { archived, ...query } = request.query;
      return archived
        ? listArchivedCatalogProducts(request.scope, query, now())
        : listCatalogProducts(request.scope, query);
    },
  );

  app.get(
    '/catalog/products/:productId',
    {
      config: { errorCodes: ['CATALOG_PRODUCT_NOT_FOUND'] },
      schema: {
        operationId: 'getCatalogProduct',
        summary: 'Get a product',
        description: 'The product as /v1 returns it.',
        params: productParams,
        response: { 200: json(CatalogProduct, 'The product.') },
      },
    },
    async (request) => getCatalogProduct(request.scope, request.params.productId),
  );

  app.patch(
    '/catalog/products/:productId',
    {
      config: { errorCodes: ['CATALOG_PRODUCT_NOT_FOUND'] },
      schema: {
        operationId: 'updateCatalogProduct',
        summary: 'Update images, destinations and variants of a product',
        description:
          'Changes only the fields in the body; null clears one. `variants` replaces the whole list. All other fields of a product are changed through /v1.',
        params: productParams,
        body: CatalogProductDashboardUpdate,
        response: { 200: json(CatalogProduct, 'The product as it is now.') },
      },
    },
    async (request) =>
      ifMatch(request, lockCatalogProduct, request.params.productId, (scope, id) =>
        updateDashboardFields(scope, id, request.body),
      ),
  );

  app.post(
    '/catalog/products/:productId/restore',
    {
      config: { errorCodes: ['CATALOG_PRODUCT_NOT_FOUND', 'CATALOG_PRODUCT_NOT_ARCHIVED'] },
      schema: {
        operationId: 'restoreCatalogProduct',
        summary: 'Restore an archived product',
        description:
          'Restores the product with all its data, within 30 days after it was archived. A product that is not archived returns 409 CATALOG_PRODUCT_NOT_ARCHIVED.',
        params: productParams,
        response: { 200: json(CatalogProduct, 'The product.') },
      },
    },
    async (request, reply) =>
      idempotently(request, reply, 200, (scope) =>
        restoreCatalogProduct(scope, request.params.productId, now()),
      ),
  );
  done();
};
