import { z } from 'zod';
import { CatalogProduct, CatalogProductListQuery } from '../../catalog/schema.ts';
import { dateTime, oneOf, page, text, texts } from '../../fields.ts';
import { knownParams } from '../params.ts';

export const RestorableCatalogProduct = CatalogProduct.extend({
  archivedAt: dateTime(),
  purgeAt: dateTime().describe('Until then the product can be restored.'),
}).meta({ id: 'RestorableCatalogProduct' });
export type RestorableCatalogProduct = z.infer<typeof RestorableCatalogProduct>;

export const RestorableCatalogProductList = page(RestorableCatalogProduct).meta({
  id: 'RestorableCatalogProductList',
});

export const RestorableCatalogProductListQuery = CatalogProductListQuery.extend({
  archived: oneOf(['true']).describe('Live products are listed by /v1.'),
});

const images = () => texts().nullable().optional().describe('null empties the list.');

export const CatalogProductMediaUpdate = z
  .object({
    coverImage: text({ max: 2_000 })
      .nullish()
      .describe('Image reference; catalog images are in a public store.'),
    gallery: images(),
    destinations: images(),
  })
  .meta({
    id: 'CatalogProductMediaUpdate',
    examples: [{ coverImage: 'https://images.example.com/oaxaca.jpg', destinations: ['Oaxaca'] }],
  });
export type CatalogProductMediaUpdate = z.infer<typeof CatalogProductMediaUpdate>;

export const ProductParams = knownParams('productId', 'Id of the product.');
