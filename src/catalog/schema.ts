import { z } from 'zod';
import { MAX_PRODUCT_TEXT, textFault } from '../../rules/product-text.ts';
import {
  addIssue,
  changeQuery,
  currency,
  dateText,
  dateTime,
  id,
  longText,
  meaningAsIn,
  name,
  oneOf,
  page,
  pathId,
  positiveInteger,
  positiveNumber,
  price,
  shortText,
  shown,
  text,
  textFilter,
  texts,
  title,
  uuid,
} from '../contract/fields.ts';
import { patchOf } from '../dashboard/params.ts';
import { refusals, SET_IN_DASHBOARD } from '../http/ignored-parameters.ts';

const type = () => oneOf(['package', 'experience', 'expedition', 'custom']);
const status = () => oneOf(['active', 'paused', 'draft']);
const pricingMode = () => oneOf(['per_person', 'per_group', 'total']);
const budgetTier = () => oneOf(['economic', 'mid', 'premium']);

/** null empties the list. */
const clearableTexts = () => texts().nullable();

const product = {
  id: shown(id(), 'Never changes; text without a meaning of its own.'),
  title: shown(z.string(), 'What customers read first.', 'Patagonia Norte en 8 días'),
  type: shown(type(), 'What kind of product it is.'),
  status: shown(
    status(),
    'Whether it is for sale: `active`, not at the moment: `paused`, or not finished: `draft`.',
  ),
  pricingMode: shown(pricingMode(), 'What a price is for: a person, a group, or everything.'),
  budgetTier: shown(
    budgetTier().nullable(),
    'The price class that the agency puts it in; null when it does not say.',
  ),
  capacityMin: shown(z.int32().nullable(), 'The fewest travellers; null when there is no such limit.', 2),
  capacityMax: shown(z.int32().nullable(), 'The most travellers; null when there is no such limit.', 16),
  coverImage: shown(z.string().nullable(), 'Image reference; catalog images are in a public store.'),
  currency: shown(
    z.string().nullable(),
    'The currency of its prices, three characters, as in ISO 4217.',
    'USD',
  ),
  description: shown(z.string().nullable(), 'All about it, for customers.'),
  shortDescription: shown(
    z.string().nullable(),
    'A sentence or two, for lists and cards.',
    'Lagos, bosques y volcanes.',
  ),
  specialConditions: shown(
    z.string().nullable(),
    'What customers must know before they buy, such as the terms of cancelling.',
  ),
  destinations: shown(z.array(z.string()), 'Where it leads, as the dashboard keeps it.', [
    'Bariloche',
    'San Martín de los Andes',
  ]),
  durationDays: shown(z.int32().nullable(), 'How long it takes, in whole days.', 8),
  durationHours: shown(z.number().nullable(), 'How long it takes, in hours, where days are too coarse.'),
  includes: shown(z.array(z.string()), 'What is in the price, each entry one thing.', ['Hotel', 'Traslados']),
  excludes: shown(z.array(z.string()), 'What is not in the price, each entry one thing.', ['Vuelos']),
  gallery: shown(z.array(z.string()), 'References of further images; catalog images are in a public store.'),
  externalReferenceCode: shown(
    z.string().nullable(),
    "The agency's own code for the product. Use it to sync without keeping ids; see the filter of the list.",
    'PAT-08',
  ),
  fromPrice: shown(
    z.number().nullable(),
    'The lowest price, in `currency`, per what `pricingMode` says.',
    1450,
  ),
  priceMax: shown(z.number().nullable(), 'The highest price, in `currency`, per what `pricingMode` says.'),
  operator: shown(z.string().nullable(), 'Who carries out the trip.'),
  priceBasis: shown(z.string().nullable(), 'What the price rests on, such as double occupancy.'),
  validFrom: shown(z.string().nullable(), 'Text as it was sent, such as a calendar date.', '2026-12-01'),
  validUntil: shown(z.string().nullable(), 'Text as it was sent, such as a calendar date.', '2027-03-31'),
};

export const CatalogProductVariant = z
  .object(
    meaningAsIn(product, {
      id: id(),
      label: shown(z.string(), 'What tells the variant from the others.', 'Temporada alta'),
      position: shown(z.int32().min(0), 'Place among the variants, from 0.'),
      status: status(),
      capacityMin: z.int32().nullable(),
      capacityMax: z.int32().nullable(),
      currency: z
        .string()
        .nullable()
        .meta({ examples: ['USD'] }),
      description: z.string().nullable(),
      shortDescription: z.string().nullable(),
      durationDays: z.int32().nullable(),
      durationHours: z.number().nullable(),
      includes: z.array(z.string()),
      excludes: z.array(z.string()),
      fromPrice: z
        .number()
        .nullable()
        .meta({ examples: [1790] }),
      priceMax: z.number().nullable(),
    }),
  )
  .meta({ id: 'CatalogProductVariant' });
export type CatalogProductVariant = z.infer<typeof CatalogProductVariant>;

export const CatalogProduct = z
  .object({
    ...product,
    variants: shown(z.array(CatalogProductVariant), 'Forms that it is sold in, by their position.'),
    createdAt: shown(dateTime(), 'When it was created.'),
    updatedAt: shown(dateTime(), 'When it was last changed; the list is in this order, the newest first.'),
  })
  .meta({ id: 'CatalogProduct' });
export type CatalogProduct = z.infer<typeof CatalogProduct>;

export const CatalogProductList = page(CatalogProduct).meta({ id: 'CatalogProductList' });

export const ArchivedCatalogProduct = z
  .object({
    id: shown(id(), 'Never changes; text without a meaning of its own.'),
    archivedAt: shown(dateTime(), 'When it left the catalog.'),
  })
  .meta({ id: 'ArchivedCatalogProduct' });
export type ArchivedCatalogProduct = z.infer<typeof ArchivedCatalogProduct>;

const CatalogProductVariantCreate = z
  .object(
    meaningAsIn(CatalogProductVariant.shape, {
      label: title(),
      status: status().default('active'),
      capacityMin: positiveInteger().nullish(),
      capacityMax: positiveInteger().nullish(),
      currency: currency().nullish(),
      description: longText().nullish(),
      shortDescription: shortText().nullish(),
      durationDays: positiveInteger().nullish(),
      includes: clearableTexts().optional(),
      excludes: clearableTexts().optional(),
      fromPrice: price().nullish(),
      priceMax: price().nullish(),
    }),
  )
  .meta({ id: 'CatalogProductVariantCreate' })
  .register(refusals, { durationHours: SET_IN_DASHBOARD });

/** The fields that create and PATCH both take, but those with defaults. */
const details = {
  budgetTier: budgetTier().nullish(),
  capacityMin: positiveInteger().nullish(),
  capacityMax: positiveInteger().nullish(),
  currency: currency().nullish(),
  description: longText().nullish(),
  shortDescription: shortText().nullish(),
  specialConditions: longText().nullish(),
  operator: name().nullish(),
  priceBasis: name().nullish(),
  externalReferenceCode: name().nullish(),
  durationDays: positiveInteger().nullish(),
  durationHours: positiveNumber().nullish(),
  includes: clearableTexts().optional(),
  excludes: clearableTexts().optional(),
  fromPrice: price().nullish(),
  priceMax: price().nullish(),
  validFrom: dateText().nullish(),
  validUntil: dateText().nullish(),
};

const variantsOf = <Variant extends z.ZodType>(variant: Variant) => z.array(variant).max(100);

const TEXT_LIMIT = `All text of a product with its variants takes at most ${MAX_PRODUCT_TEXT} bytes, as JSON in UTF-8.`;

export const CatalogProductCreate = z
  .object(
    meaningAsIn(CatalogProduct.shape, {
      title: title(),
      type: type().default('package'),
      status: status().default('active'),
      pricingMode: pricingMode().default('per_person'),
      ...details,
      variants: variantsOf(CatalogProductVariantCreate)
        .default([])
        .describe('Set on creation; later only the dashboard changes them.'),
    }),
  )
  .check((payload) => {
    const issue = textFault(payload.value);
    if (issue) addIssue(payload, issue.message, issue.path);
  })
  .meta({
    id: 'CatalogProductCreate',
    description: TEXT_LIMIT,
    examples: [
      {
        title: 'Patagonia Norte en 8 días',
        type: 'package',
        budgetTier: 'mid',
        currency: 'USD',
        durationDays: 8,
        fromPrice: 1450,
        includes: ['Hotel', 'Traslados'],
        externalReferenceCode: 'PAT-08',
        variants: [{ label: 'Temporada alta', fromPrice: 1790 }],
      },
    ],
  })
  .register(refusals, {
    coverImage: SET_IN_DASHBOARD,
    destinations: SET_IN_DASHBOARD,
    gallery: SET_IN_DASHBOARD,
  });
export type CatalogProductCreate = z.infer<typeof CatalogProductCreate>;

export const CatalogProductUpdate = z
  .object(
    meaningAsIn(CatalogProduct.shape, {
      title: title().optional(),
      type: type().optional(),
      status: status().optional(),
      pricingMode: pricingMode().optional(),
      ...details,
    }),
  )
  .meta({
    id: 'CatalogProductUpdate',
    description: TEXT_LIMIT,
    examples: [{ status: 'paused', fromPrice: 1390, validUntil: null }],
  });
export type CatalogProductUpdate = z.infer<typeof CatalogProductUpdate>;

export const CatalogProductListQuery = z.object({
  ...changeQuery(),
  budgetTier: budgetTier().optional().describe('Products of this tier.'),
  destination: textFilter('Products that have exactly this entry in `destinations`.', 1_000),
  externalReferenceCode: textFilter('Products with exactly this code of your own.', 255),
  query: textFilter('Text in the title, short description or description, whatever its case and accents.'),
  status: status().optional().describe('Products in this status.'),
  type: type().optional().describe('Products of this type.'),
});
export type CatalogProductListQuery = z.infer<typeof CatalogProductListQuery>;

export const CatalogProductParams = z.object({ productId: pathId('Id of the product.') });

/** From here on: what only the dashboard API has. */

export const RestorableCatalogProduct = CatalogProduct.extend({
  archivedAt: dateTime().optional().describe('Of archived products.'),
  purgeAt: dateTime().optional().describe('Of archived products: until then the product can be restored.'),
}).meta({ id: 'RestorableCatalogProduct' });
export type RestorableCatalogProduct = z.infer<typeof RestorableCatalogProduct>;

export const RestorableCatalogProductList = page(RestorableCatalogProduct).meta({
  id: 'RestorableCatalogProductList',
});

export const RestorableCatalogProductListQuery = CatalogProductListQuery.extend({
  archived: oneOf(['true'])
    .optional()
    .describe('Archived products that can still be restored, latest archived first.'),
});

const images = () => texts().nullable().optional().describe('null empties the list.');

const CatalogProductVariantUpdate = patchOf(CatalogProductVariantCreate)
  .extend(
    meaningAsIn(CatalogProductVariant.shape, {
      id: uuid().optional().describe('Id of the stored variant to change. Without an id the variant is new.'),
      durationHours: positiveNumber().nullish(),
    }),
  )
  .meta({
    id: 'CatalogProductVariantUpdate',
    description:
      'With the `id` of a stored variant: fields left out stay. Without an id: `label` is required.',
  });
export type CatalogProductVariantUpdate = z.infer<typeof CatalogProductVariantUpdate>;

export const CatalogProductDashboardUpdate = z
  .object({
    coverImage: text({ max: 2_000 })
      .nullish()
      .describe('Image reference; catalog images are in a public store.'),
    gallery: images(),
    destinations: images(),
    variants: variantsOf(CatalogProductVariantUpdate)
      .optional()
      .describe('The whole list, in order. A stored variant that it omits is removed.'),
  })
  .meta({
    id: 'CatalogProductDashboardUpdate',
    description: TEXT_LIMIT,
    examples: [{ coverImage: 'https://images.example.com/oaxaca.jpg', destinations: ['Oaxaca'] }],
  });
export type CatalogProductDashboardUpdate = z.infer<typeof CatalogProductDashboardUpdate>;
