import { z } from 'zod';
import {
  currency,
  dateText,
  dateTime,
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
} from '../http/fields.ts';
import { refusals } from '../http/ignored-parameters.ts';
import { MAX_PRODUCT_TEXT, textFault } from './product-text.ts';

const type = () => oneOf(['package', 'experience', 'expedition', 'custom']);
const status = () => oneOf(['active', 'paused', 'draft']);
const pricingMode = () => oneOf(['per_person', 'per_group', 'total']);
const budgetTier = () => oneOf(['economic', 'mid', 'premium']);

/** null empties the list. */
const clearableTexts = () => texts().nullable();

export const CatalogProductVariant = z
  .object({
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
  })
  .meta({ id: 'CatalogProductVariant' });
export type CatalogProductVariant = z.infer<typeof CatalogProductVariant>;

export const CatalogProduct = z
  .object({
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
    variants: z.array(CatalogProductVariant),
    createdAt: dateTime(),
    updatedAt: dateTime(),
  })
  .meta({ id: 'CatalogProduct' });
export type CatalogProduct = z.infer<typeof CatalogProduct>;

export const CatalogProductList = page(CatalogProduct).meta({ id: 'CatalogProductList' });

export const ArchivedCatalogProduct = z
  .object({ id: id(), archivedAt: dateTime() })
  .meta({ id: 'ArchivedCatalogProduct' });
export type ArchivedCatalogProduct = z.infer<typeof ArchivedCatalogProduct>;

export const CatalogProductVariantCreate = z
  .object({
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
  })
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
  .object({
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
  })
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
  .object({
    title: title().optional(),
    type: type().optional(),
    status: status().optional(),
    pricingMode: pricingMode().optional(),
    ...details,
  })
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
