import { isDeepStrictEqual } from 'node:util';
import type { FastifyRequest } from 'fastify';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { validationFailed } from '../contract/errors.ts';
import { NULL_CLEARS } from '../contract/fields.ts';
import { parseJson } from '../db/index.ts';
import { ifMatch } from '../http/conditional.ts';
import { idempotently } from '../http/idempotency.ts';
import { isStrict } from '../http/ignored-parameters.ts';
import { json } from '../openapi/responses.ts';
import {
  archiveCatalogProduct,
  createCatalogProduct,
  getCatalogProduct,
  listCatalogProducts,
  lockCatalogProduct,
  updateCatalogProduct,
} from './repository.ts';
import {
  ArchivedCatalogProduct,
  CatalogProduct,
  CatalogProductCreate,
  CatalogProductList,
  CatalogProductListQuery,
  CatalogProductParams,
  CatalogProductUpdate,
} from './schema.ts';

/** Under strict handling, a client may send a product back as it read it, but not with changed variants. */
async function rejectOtherVariants(request: FastifyRequest, id: string): Promise<void> {
  const { variants } = request.sentBody as { variants?: unknown };
  if (variants === undefined || !isStrict(request)) return;
  const stored = parseJson(await getCatalogProduct(request.scope, id));
  if (isDeepStrictEqual(variants, stored.variants)) return;
  throw validationFailed([
    { path: 'body.variants', message: 'cannot be changed here: change variants in the dashboard' },
  ]);
}

export const catalogRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  app.get(
    '/catalog/products',
    {
      schema: {
        operationId: 'listCatalogProducts',
        summary: 'List products',
        description:
          'Products that are not archived, most recently updated first, with their variants. Use it to find a product by text, kind, price class or your own code, and to walk through the catalog.',
        querystring: CatalogProductListQuery,
        response: { 200: json(CatalogProductList, 'A page of products.') },
      },
    },
    async (request) => listCatalogProducts(request.scope, request.query),
  );

  app.post(
    '/catalog/products',
    {
      schema: {
        operationId: 'createCatalogProduct',
        summary: 'Create a product',
        description:
          'Creates a product with its variants, all or nothing; later only the dashboard changes variants. Use it to put a trip into the catalog.',
        body: CatalogProductCreate,
        response: { 201: json(CatalogProduct, 'The product.') },
      },
    },
    async (request, reply) =>
      idempotently(request, reply, 201, (scope) => createCatalogProduct(scope, request.body)),
  );

  app.get(
    '/catalog/products/:productId',
    {
      config: { errorCodes: ['CATALOG_PRODUCT_NOT_FOUND'] },
      schema: {
        operationId: 'getCatalogProduct',
        summary: 'Get a product',
        description: 'One product with its variants. Use it to read a product whose id you know.',
        params: CatalogProductParams,
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
        summary: 'Update a product',
        description: `Changes only the fields in the body; ${NULL_CLEARS}. A text or a list replaces what was there. If nothing differs, nothing changes, and \`updatedAt\` stays as it is. Only the dashboard changes \`variants\`. Use it to change prices, texts or the status of a product.`,
        params: CatalogProductParams,
        body: CatalogProductUpdate,
        response: { 200: json(CatalogProduct, 'The product as it is now.') },
      },
    },
    async (request) => {
      const { productId } = request.params;
      await rejectOtherVariants(request, productId);
      return ifMatch(request, lockCatalogProduct, productId, (scope, id) =>
        updateCatalogProduct(scope, id, request.body, request.body),
      );
    },
  );

  app.delete(
    '/catalog/products/:productId',
    {
      config: { errorCodes: ['CATALOG_PRODUCT_NOT_FOUND'] },
      schema: {
        operationId: 'archiveCatalogProduct',
        summary: 'Archive a product',
        description:
          'The product is archived. The dashboard can restore it within 30 days; then it is purged. Use it to remove a product for good. To stop selling a product for a time, set its `status` to `paused`.',
        params: CatalogProductParams,
        response: { 200: json(ArchivedCatalogProduct, 'The product was archived.') },
      },
    },
    async (request) => ifMatch(request, lockCatalogProduct, request.params.productId, archiveCatalogProduct),
  );
  done();
};
