import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { knownParams, OrganizationParams } from '../dashboard/params.ts';
import { answerJson } from '../http/answers.ts';
import { answerIfMatch } from '../http/conditional.ts';
import { idempotently } from '../http/idempotency.ts';
import { responses } from '../openapi/responses.ts';
import { withinTextLimit } from './patched-text.ts';
import {
  getCatalogProduct,
  listArchivedCatalogProducts,
  listCatalogProducts,
  lockCatalogProduct,
  restoreCatalogProduct,
  updateCatalogProductMedia,
} from './repository.ts';
import {
  CatalogProduct,
  CatalogProductMediaUpdate,
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
        response: responses({
          status: 200,
          schema: RestorableCatalogProductList,
          description: 'A page of products.',
        }),
      },
    },
    async (request, reply) => {
      const { archived, ...query } = request.query;
      const page = archived
        ? await listArchivedCatalogProducts(request.scope, query, now())
        : await listCatalogProducts(request.scope, query);
      return answerJson(reply, page);
    },
  );

  app.get(
    '/catalog/products/:productId',
    {
      schema: {
        operationId: 'getCatalogProduct',
        summary: 'Get a product',
        description: 'The product as /v1 shows it.',
        params: productParams,
        response: responses(
          { status: 200, schema: CatalogProduct, description: 'The product.' },
          'CATALOG_PRODUCT_NOT_FOUND',
        ),
      },
    },
    async (request, reply) =>
      answerJson(reply, await getCatalogProduct(request.scope, request.params.productId)),
  );

  app.patch(
    '/catalog/products/:productId',
    {
      schema: {
        operationId: 'updateCatalogProductMedia',
        summary: 'Update the media of a product',
        description:
          'Changes only the fields in the body; null clears one. Everything else of a product is changed through /v1.',
        params: productParams,
        body: CatalogProductMediaUpdate,
        response: responses(
          { status: 200, schema: CatalogProduct, description: 'The product as it is now.' },
          'CATALOG_PRODUCT_NOT_FOUND',
        ),
      },
    },
    async (request, reply) => {
      const { productId } = request.params;
      return answerIfMatch(request, reply, lockCatalogProduct, productId, (scope) =>
        withinTextLimit(scope, productId, request.body, (within) =>
          updateCatalogProductMedia(within, productId, request.body),
        ),
      );
    },
  );

  app.post(
    '/catalog/products/:productId/restore',
    {
      schema: {
        operationId: 'restoreCatalogProduct',
        summary: 'Restore an archived product',
        description:
          'Brings the product back with everything it had, within 30 days of its archiving. A product that is not archived: 409 CATALOG_PRODUCT_NOT_ARCHIVED.',
        params: productParams,
        response: responses(
          { status: 200, schema: CatalogProduct, description: 'The product.' },
          'CATALOG_PRODUCT_NOT_FOUND',
          'CATALOG_PRODUCT_NOT_ARCHIVED',
        ),
      },
    },
    async (request, reply) =>
      idempotently(request, reply, 200, (scope) =>
        restoreCatalogProduct(scope, request.params.productId, now()),
      ),
  );
  done();
};
