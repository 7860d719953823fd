import { z } from 'zod';
import { sizeRule } from '../../rules/record-size.ts';
import * as f from '../contract/fields.ts';

const type = () => z.enum(['package', 'experience', 'expedition', 'custom']);
const status = () => z.enum(['active', 'paused', 'draft']);
const pricingMode = () => z.enum(['per_person', 'per_group', 'total']);
const budgetTier = () => z.enum(['economic', 'mid', 'premium']);

const product = {
  id: f.recordId(),
  title: f.string('The name of the product, as customers see it.', 'Patagonia Norte en 8 días'),
  type: type().describe('The kind of product.'),
  status: status().describe('`active`: for sale; `paused`: not for sale at present; `draft`: not finished.'),
  pricingMode: pricingMode().describe('What a price covers: a person, a group, or everything.'),
  budgetTier: budgetTier().nullable().describe('The price class, as the agency sets it; null if not set.'),
  capacityMin: f.field(z.int32().nullable(), 'The minimum number of travellers; null if there is none.', 2),
  capacityMax: f.field(z.int32().nullable(), 'The maximum number of travellers; null if there is none.', 16),
  coverImage: f.nullableText('Image reference; catalog images are in a public store.'),
  currency: f.nullableText('The currency of the prices, three characters as in ISO 4217.', 'USD'),
  description: f.nullableText('The full description, for customers.'),
  shortDescription: f.nullableText('A sentence or two, for lists and cards.', 'Lagos, bosques y volcanes.'),
  specialConditions: f.nullableText(
    'Conditions that customers must know before they buy, such as cancellation terms.',
  ),
  destinations: f.field(z.array(z.string()), 'The destinations. Only the dashboard sets them.', [
    'Bariloche',
    'San Martín de los Andes',
  ]),
  durationDays: f.field(z.int32().nullable(), 'The duration in whole days.', 8),
  durationHours: f.nullableNumber('The duration in hours. Only the dashboard sets that of a variant.'),
  includes: f.field(z.array(z.string()), 'What the price includes, one item per entry.', [
    'Hotel',
    'Traslados',
  ]),
  excludes: f.field(z.array(z.string()), 'What the price excludes, one item per entry.', ['Vuelos']),
  gallery: z
    .array(z.string())
    .describe('References of further images; catalog images are in a public store.'),
  externalReferenceCode: f.nullableText(
    "The agency's own code for the product. Use it to sync without storing ids; the list has a filter for it.",
    'PAT-08',
  ),
  fromPrice: f.nullableNumber('The lowest price, in `currency`, for the unit in `pricingMode`.', 1450),
  priceMax: f.nullableNumber('The highest price, in `currency`, for the unit in `pricingMode`.'),
  operator: f.nullableText('The company that operates the trip.'),
  priceBasis: f.nullableText('The basis of the price, such as double occupancy.'),
  validFrom: f.nullableText('Text as it was sent, such as a calendar date.', '2026-12-01'),
  validUntil: f.nullableText('Text as it was sent, such as a calendar date.', '2027-03-31'),
};

export const CatalogProductVariant = f
  .objectLike(product, {
    id: f.id(),
    label: f.string('The name that distinguishes the variant from the others.', 'Temporada alta'),
    position: z.int32().min(0).describe('Position among the variants, from 0.'),
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

export const CatalogProduct = f.object('CatalogProduct', {
  ...product,
  variants: z.array(CatalogProductVariant).describe('The variants of the product, by `position`.'),
  createdAt: f.createdAt(),
  updatedAt: f.updatedAt(),
});
export type CatalogProduct = z.infer<typeof CatalogProduct>;

export const ArchivedCatalogProduct = f.object('ArchivedCatalogProduct', {
  id: f.recordId(),
  archivedAt: f.dateTime().describe('When the product was archived.'),
});

const CatalogProductVariantCreate = f
  .objectLike(CatalogProductVariant.shape, {
    label: f.title(),
    status: status().default('active'),
    capacityMin: f.positiveInteger().nullish(),
    capacityMax: f.positiveInteger().nullish(),
    currency: f.currency().nullish(),
    description: f.longText().nullish(),
    shortDescription: f.shortText().nullish(),
    durationDays: f.positiveInteger().nullish(),
    includes: f.texts().nullish(),
    excludes: f.texts().nullish(),
    fromPrice: f.price().nullish(),
    priceMax: f.price().nullish(),
  })
  .meta({ id: 'CatalogProductVariantCreate' });

const details = {
  budgetTier: budgetTier().nullish(),
  capacityMin: f.positiveInteger().nullish(),
  capacityMax: f.positiveInteger().nullish(),
  currency: f.currency().nullish(),
  description: f.longText().nullish(),
  shortDescription: f.shortText().nullish(),
  specialConditions: f.longText().nullish(),
  operator: f.name().nullish(),
  priceBasis: f.name().nullish(),
  externalReferenceCode: f.name().nullish(),
  durationDays: f.positiveInteger().nullish(),
  durationHours: f.positiveNumber().nullish(),
  includes: f.texts().nullish(),
  excludes: f.texts().nullish(),
  fromPrice: f.price().nullish(),
  priceMax: f.price().nullish(),
  validFrom: f.dateText().nullish(),
  validUntil: f.dateText().nullish(),
};

const variantsOf = <Variant extends z.ZodType>(variant: Variant) => z.array(variant).max(100);

export const CatalogProductParams = z.object({ productId: f.pathId('Id of the product.') });

export const CatalogProductCreate = f
  .objectLike(CatalogProduct.shape, {
    title: f.title(),
    type: type().default('package'),
    status: status().default('active'),
    pricingMode: pricingMode().default('per_person'),
    ...details,
    variants: variantsOf(CatalogProductVariantCreate)
      .default([])
      .describe('Set on creation. Afterwards, only the dashboard changes them.'),
  })
  .meta({
    id: 'CatalogProductCreate',
    description: sizeRule('product'),
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

export const CatalogProductUpdate = f
  .objectLike(CatalogProduct.shape, {
    title: f.title().optional(),
    type: type().optional(),
    status: status().optional(),
    pricingMode: pricingMode().optional(),
    ...details,
  })
  .meta({
    id: 'CatalogProductUpdate',
    description: sizeRule('product'),
    examples: [{ status: 'paused', fromPrice: 1390, validUntil: null }],
  });

export const CatalogProductListQuery = z.object({
  ...f.changeQuery(),
  budgetTier: budgetTier().optional().describe('Products of this tier.'),
  destination: f.textFilter('Products that have exactly this entry in `destinations`.', 600),
  externalReferenceCode: f.textFilter('Products with exactly this code of the agency.', 255),
  query: f.textFilter('Text in the title, short description or description, ignoring case and accents.'),
  status: status().optional().describe('Products in this status.'),
  type: type().optional().describe('Products of this type.'),
});

/** The schemas below belong to the dashboard API only. */

export const CatalogProductRecord = CatalogProduct.extend({
  archivedAt: f.archivedAt(),
  purgeAt: f.nullableDateTime('Until then, the archived product can be restored; null while it is active.'),
}).meta({ id: 'CatalogProductRecord' });
export type CatalogProductRecord = z.infer<typeof CatalogProductRecord>;

export const CatalogProductRecordListQuery = CatalogProductListQuery.extend({ archived: f.archivedFilter() });

const images = () => f.texts().nullish().describe('null empties the list.');

const own = {
  coverImage: f
    .text({ max: 2_000 })
    .nullish()
    .describe('Image reference; catalog images are in a public store.'),
  gallery: images(),
  destinations: images(),
};

const CatalogProductVariantRecordCreate = CatalogProductVariantCreate.extend(
  f.objectLike(CatalogProductVariant.shape, { durationHours: f.positiveNumber().nullish() }).shape,
).meta({ id: 'CatalogProductVariantRecordCreate' });

export const CatalogProductRecordCreate = CatalogProductCreate.safeExtend({
  ...own,
  variants: variantsOf(CatalogProductVariantRecordCreate).default([]),
}).meta({
  id: 'CatalogProductRecordCreate',
  description: sizeRule('product'),
  examples: [
    { title: 'Oaxaca', destinations: ['Oaxaca'], variants: [{ label: 'Medio día', durationHours: 5 }] },
  ],
});
export type CatalogProductRecordCreate = z.infer<typeof CatalogProductRecordCreate>;

const CatalogProductVariantUpdate = f
  .patchOf(CatalogProductVariantRecordCreate)
  .extend({
    id: f.uuid().optional().describe('Id of the stored variant to change. Without an id the variant is new.'),
  })
  .meta({
    id: 'CatalogProductVariantUpdate',
    description:
      'With the `id` of a stored variant: fields left out stay. Without an id: `label` is required.',
  });
export type CatalogProductVariantUpdate = z.infer<typeof CatalogProductVariantUpdate>;

export const CatalogProductRecordUpdate = CatalogProductUpdate.extend({
  ...own,
  variants: variantsOf(CatalogProductVariantUpdate)
    .optional()
    .describe('The whole list, in order. A stored variant that it omits is removed.'),
}).meta({
  id: 'CatalogProductRecordUpdate',
  description: sizeRule('product'),
  examples: [
    { fromPrice: 1390, coverImage: 'https://images.example.com/oaxaca.jpg', destinations: ['Oaxaca'] },
  ],
});
export type CatalogProductRecordUpdate = z.infer<typeof CatalogProductRecordUpdate>;
