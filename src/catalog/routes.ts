import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { page } from '../contract/fields.ts';
import { ifMatch } from '../http/conditional.ts';
import { IDEMPOTENT, idempotent } from '../http/idempotency.ts';
import { CHANGES, json } from '../http/records.ts';
import * as repository from './repository.ts';
import * as schema from './schema.ts';

/** What an API shows and takes of a product, and the statements that return it. */
export const publicCatalog = {
  product: schema.CatalogProduct,
  query: schema.CatalogProductListQuery,
  create: schema.CatalogProductCreate,
  update: schema.CatalogProductUpdate,
  variants:
    'Only the dashboard changes `variants`. Use it to change prices, texts or the status of a product.',
  list: repository.listCatalogProducts,
  get: repository.productStatements.get,
  statements: repository.productStatements,
};
export type CatalogView = typeof publicCatalog;

export const catalogRoutes: FastifyPluginAsyncZod<CatalogView> = async (app, view) => {
  const { product, statements } = view;

  app.get(
    '/catalog/products',
    {
      config: { access: 'read', resource: 'catalog' },
      schema: {
        operationId: 'listCatalogProducts',
        summary: 'List products',
        description:
          'Products that are not archived, most recently updated first, with their variants. Use it to find a product by text, kind, price class or your own code, and to walk through the catalog.',
        querystring: view.query,
        response: { 200: json(page(product), 'A page of products.') },
      },
    },
    async ({ scope, query }) => view.list(scope, query),
  );

  app.post(
    '/catalog/products',
    {
      config: { access: 'create', resource: 'catalog', errorCodes: IDEMPOTENT },
      schema: {
        operationId: 'createCatalogProduct',
        summary: 'Create a product',
        description:
          'Creates a product with its variants, all or nothing. Use it to put a trip into the catalog.',
        body: view.create,
        response: { 201: json(product, 'The product.') },
      },
    },
    async (request, reply) =>
      idempotent(request, reply, statements.get, (key) =>
        repository.createCatalogProduct(request.scope, statements, request.body, key),
      ),
  );

  app.get(
    '/catalog/products/:productId',
    {
      config: { access: 'read', resource: 'catalog', errorCodes: ['CATALOG_PRODUCT_NOT_FOUND'] },
      schema: {
        operationId: 'getCatalogProduct',
        summary: 'Get a product',
        description: 'One product with its variants. Use it to read a product whose id you know.',
        params: schema.CatalogProductParams,
        response: { 200: json(product, 'The product.') },
      },
    },
    async ({ scope, params }) => view.get(scope, params.productId),
  );

  app.patch(
    '/catalog/products/:productId',
    {
      config: { access: 'write', resource: 'catalog', errorCodes: ['CATALOG_PRODUCT_NOT_FOUND'] },
      schema: {
        operationId: 'updateCatalogProduct',
        summary: 'Update a product',
        description: `${CHANGES} ${view.variants}`,
        params: schema.CatalogProductParams,
        body: view.update,
        response: { 200: json(product, 'The product as it is now.') },
      },
    },
    async (request) =>
      ifMatch(request, statements.lock, request.params.productId, (scope, id) =>
        repository.updateCatalogProduct(scope, statements, id, request.body),
      ),
  );

  app.delete(
    '/catalog/products/:productId',
    {
      config: { access: 'write', resource: 'catalog', errorCodes: ['CATALOG_PRODUCT_NOT_FOUND'] },
      schema: {
        operationId: 'archiveCatalogProduct',
        summary: 'Archive a product',
        description:
          'The product is archived. The dashboard can restore it within 30 days; then it is purged. Use it to remove a product for good. To stop selling a product for a time, set its `status` to `paused`.',
        params: schema.CatalogProductParams,
        response: { 200: json(schema.ArchivedCatalogProduct, 'The product was archived.') },
      },
    },
    async (request) =>
      ifMatch(request, statements.lock, request.params.productId, repository.archiveCatalogProduct),
  );
};
