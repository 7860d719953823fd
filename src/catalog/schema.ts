import { z } from 'zod';
import {
  currency,
  dateText,
  dateTime,
  described,
  id,
  longText,
  name,
  oneOf,
  page,
  pageQuery,
  positiveInteger,
  positiveNumber,
  price,
  shortText,
  textFilter,
  texts,
  title,
} from '../fields.ts';
import { refusals } from '../http/ignored-parameters.ts';
import { MAX_PRODUCT_TEXT, textFault } from './product-text.ts';

const type = () => oneOf(['package', 'experience', 'expedition', 'custom']);
const status = () => oneOf(['active', 'paused', 'draft']);
const pricingMode = () => oneOf(['per_person', 'per_group', 'total']);
const budgetTier = () => oneOf(['economic', 'mid', 'premium']);

/** Of products and of their variants, in answers and in bodies alike. */
const MEANINGS = {
  id: 'Never changes; text without a meaning of its own.',
  title: 'What customers read first.',
  label: 'What tells the variant from the others.',
  type: 'What kind of product it is.',
  status: 'Whether it is for sale: `active`, not at the moment: `paused`, or not finished: `draft`.',
  pricingMode: 'What a price is for: a person, a group, or everything.',
  budgetTier: 'The price class that the agency puts it in; null when it does not say.',
  capacityMin: 'The fewest travellers; null when there is no such limit.',
  capacityMax: 'The most travellers; null when there is no such limit.',
  currency: 'The currency of its prices, three characters, as in ISO 4217.',
  description: 'All about it, for customers.',
  shortDescription: 'A sentence or two, for lists and cards.',
  specialConditions: 'What customers must know before they buy, such as the terms of cancelling.',
  destinations: 'Where it leads, as the dashboard keeps it.',
  durationDays: 'How long it takes, in whole days.',
  durationHours: 'How long it takes, in hours, where days are too coarse.',
  includes: 'What is in the price, each entry one thing.',
  excludes: 'What is not in the price, each entry one thing.',
  gallery: 'References of further images; catalog images are in a public store.',
  externalReferenceCode:
    "The agency's own code for the product. Use it to sync without keeping ids; see the filter of the list.",
  fromPrice: 'The lowest price, in `currency`, per what `pricingMode` says.',
  priceMax: 'The highest price, in `currency`, per what `pricingMode` says.',
  operator: 'Who carries out the trip.',
  priceBasis: 'What the price rests on, such as double occupancy.',
  archivedAt: 'When it left the catalog.',
  createdAt: 'When it was created.',
  updatedAt: 'When it was last changed; the list is in this order, the newest first.',
};

/** null empties the list. */
const clearableTexts = () => texts().nullable();

export const CatalogProductVariant = z
  .object(
    described(
      {
        id: id(),
        label: z.string().meta({ examples: ['Temporada alta'] }),
        position: z.int32().min(0).describe('Place among the variants, from 0.'),
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
      },
      MEANINGS,
    ),
  )
  .meta({ id: 'CatalogProductVariant' });
export type CatalogProductVariant = z.infer<typeof CatalogProductVariant>;

export const CatalogProduct = z
  .object(
    described(
      {
        id: id(),
        title: z.string().meta({ examples: ['Patagonia Norte en 8 días'] }),
        type: type(),
        status: status(),
        pricingMode: pricingMode(),
        budgetTier: budgetTier().nullable(),
        capacityMin: z
          .int32()
          .nullable()
          .meta({ examples: [2] }),
        capacityMax: z
          .int32()
          .nullable()
          .meta({ examples: [16] }),
        coverImage: z.string().nullable().describe('Image reference; catalog images are in a public store.'),
        currency: z
          .string()
          .nullable()
          .meta({ examples: ['USD'] }),
        description: z.string().nullable(),
        shortDescription: z
          .string()
          .nullable()
          .meta({ examples: ['Lagos, bosques y volcanes.'] }),
        specialConditions: z.string().nullable(),
        destinations: z.array(z.string()).meta({ examples: [['Bariloche', 'San Martín de los Andes']] }),
        durationDays: z
          .int32()
          .nullable()
          .meta({ examples: [8] }),
        durationHours: z.number().nullable(),
        includes: z.array(z.string()).meta({ examples: [['Hotel', 'Traslados']] }),
        excludes: z.array(z.string()).meta({ examples: [['Vuelos']] }),
        gallery: z.array(z.string()),
        externalReferenceCode: z
          .string()
          .nullable()
          .describe("The agency's own code for the product, to sync by without storing ids of this service.")
          .meta({ examples: ['PAT-08'] }),
        fromPrice: z
          .number()
          .nullable()
          .meta({ examples: [1450] }),
        priceMax: z.number().nullable(),
        operator: z.string().nullable(),
        priceBasis: z.string().nullable(),
        validFrom: z
          .string()
          .nullable()
          .describe('Text as it was sent, such as a calendar date.')
          .meta({ examples: ['2026-12-01'] }),
        validUntil: z
          .string()
          .nullable()
          .describe('Text as it was sent, such as a calendar date.')
          .meta({ examples: ['2027-03-31'] }),
        variants: z.array(CatalogProductVariant).describe('Forms that it is sold in, by their position.'),
        createdAt: dateTime(),
        updatedAt: dateTime(),
      },
      MEANINGS,
    ),
  )
  .meta({ id: 'CatalogProduct' });
export type CatalogProduct = z.infer<typeof CatalogProduct>;

export const CatalogProductList = page(CatalogProduct).meta({ id: 'CatalogProductList' });

export const ArchivedCatalogProduct = z
  .object(described({ id: id(), archivedAt: dateTime() }, MEANINGS))
  .meta({ id: 'ArchivedCatalogProduct' });
export type ArchivedCatalogProduct = z.infer<typeof ArchivedCatalogProduct>;

export const CatalogProductVariantCreate = z
  .object(
    described(
      {
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
      },
      MEANINGS,
    ),
  )
  .meta({ id: 'CatalogProductVariantCreate' });

/** What create and PATCH both take. Fields with defaults are not among them. */
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

const TEXT_LIMIT = `All text of a product with its variants takes at most ${MAX_PRODUCT_TEXT} bytes, as JSON in UTF-8.`;

export const CatalogProductCreate = z
  .object(
    described(
      {
        title: title(),
        type: type().default('package'),
        status: status().default('active'),
        pricingMode: pricingMode().default('per_person'),
        ...details,
        variants: z
          .array(CatalogProductVariantCreate)
          .max(100)
          .default([])
          .describe('Set here only; a PATCH does not change them.'),
      },
      MEANINGS,
    ),
  )
  .superRefine((product, context) => {
    const fault = textFault(product);
    if (fault) context.addIssue({ code: 'custom', ...fault });
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
  });
export type CatalogProductCreate = z.infer<typeof CatalogProductCreate>;

export const CatalogProductUpdate = z
  .object(
    described(
      {
        title: title().optional(),
        type: type().optional(),
        status: status().optional(),
        pricingMode: pricingMode().optional(),
        ...details,
      },
      MEANINGS,
    ),
  )
  .meta({
    id: 'CatalogProductUpdate',
    description: TEXT_LIMIT,
    examples: [{ status: 'paused', fromPrice: 1390, validUntil: null }],
  })
  .register(refusals, { variants: 'cannot be changed after creation' });
export type CatalogProductUpdate = z.infer<typeof CatalogProductUpdate>;

export const CatalogProductListQuery = z.object({
  ...pageQuery(),
  budgetTier: budgetTier().optional().describe('Products of this tier.'),
  externalReferenceCode: textFilter('Products with exactly this code of your own.', 255),
  query: textFilter('Text in the title, short description or description, whatever its case and accents.'),
  status: status().optional().describe('Products in this status.'),
  type: type().optional().describe('Products of this type.'),
});
export type CatalogProductListQuery = z.infer<typeof CatalogProductListQuery>;

export const CatalogProductParams = z.object({ productId: id().describe('Id of the product.') });
