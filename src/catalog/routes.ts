import { recordRoutes, recordView } from '../http/record-routes.ts';
import { archiveCatalogProduct, listCatalogProducts, publicProducts } from './repository.ts';
import {
  ArchivedCatalogProduct,
  CatalogProduct,
  CatalogProductCreate,
  CatalogProductListQuery,
  CatalogProductUpdate,
} from './schema.ts';

export const catalogRoutes = recordRoutes({
  path: '/catalog/products',
  title: 'a product',
  name: 'CatalogProduct',
  plural: 'products',
  notFound: 'CATALOG_PRODUCT_NOT_FOUND',
  descriptions: {
    list: 'Products that are not archived, most recently updated first, with their variants. Use it to find a product by text, kind, price class or your own code, and to walk through the catalog.',
    create: 'Creates a product with its variants, all or nothing. Use it to put a trip into the catalog.',
    get: 'One product with its variants. Use it to read a product whose id you know.',
    update:
      'Only the dashboard changes `variants`. Use it to change prices, texts or the status of a product.',
    archive:
      'The product is archived. The dashboard can restore it within 30 days; then it is purged. Use it to remove a product for good. To stop selling a product for a time, set its `status` to `paused`.',
  },
});

export const publicCatalog = recordView({
  schemas: {
    record: CatalogProduct,
    query: CatalogProductListQuery,
    create: CatalogProductCreate,
    patch: CatalogProductUpdate,
    archived: ArchivedCatalogProduct,
  },
  functions: { ...publicProducts, list: listCatalogProducts, archive: archiveCatalogProduct },
});
