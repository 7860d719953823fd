import { z } from 'zod';
import { sizeRule } from '../../rules/record-size.ts';
import {
  archivedAt,
  archivedFilter,
  changeQuery,
  currency,
  dateText,
  dateTime,
  describedAs,
  field,
  id,
  longText,
  name,
  nullableNumber,
  nullableText,
  oneOf,
  patchOf,
  pathId,
  positiveInteger,
  positiveNumber,
  price,
  shortText,
  text,
  textFilter,
  texts,
  title,
  uuid,
} from '../contract/fields.ts';
import { rejectedFields, SET_IN_DASHBOARD } from '../http/ignored-parameters.ts';

const type = () => oneOf(['package', 'experience', 'expedition', 'custom']);
const status = () => oneOf(['active', 'paused', 'draft']);
const pricingMode = () => oneOf(['per_person', 'per_group', 'total']);
const budgetTier = () => oneOf(['economic', 'mid', 'premium']);

const clearableTexts = () => texts().nullable();

const product = {
  id: field(id(), 'Opaque, immutable identifier.'),
  title: field(z.string(), 'The name of the product, as customers see it.', 'Patagonia Norte en 8 días'),
  type: field(type(), 'The kind of product.'),
  status: field(status(), '`active`: for sale; `paused`: not for sale at present; `draft`: not finished.'),
  pricingMode: field(pricingMode(), 'What a price covers: a person, a group, or everything.'),
  budgetTier: field(budgetTier().nullable(), 'The price class, as the agency sets it; null if not set.'),
  capacityMin: field(z.int32().nullable(), 'The minimum number of travellers; null if there is none.', 2),
  capacityMax: field(z.int32().nullable(), 'The maximum number of travellers; null if there is none.', 16),
  coverImage: nullableText('Image reference; catalog images are in a public store.'),
  currency: nullableText('The currency of the prices, three characters as in ISO 4217.', 'USD'),
  description: nullableText('The full description, for customers.'),
  shortDescription: nullableText('A sentence or two, for lists and cards.', 'Lagos, bosques y volcanes.'),
  specialConditions: nullableText(
    'Conditions that customers must know before they buy, such as cancellation terms.',
  ),
  destinations: field(z.array(z.string()), 'The destinations. Only the dashboard sets them.', [
    'Bariloche',
    'San Martín de los Andes',
  ]),
  durationDays: field(z.int32().nullable(), 'The duration in whole days.', 8),
  durationHours: nullableNumber('The duration in hours. Only the dashboard sets that of a variant.'),
  includes: field(z.array(z.string()), 'What the price includes, one item per entry.', [
    'Hotel',
    'Traslados',
  ]),
  excludes: field(z.array(z.string()), 'What the price excludes, one item per entry.', ['Vuelos']),
  gallery: field(z.array(z.string()), 'References of further images; catalog images are in a public store.'),
  externalReferenceCode: nullableText(
    "The agency's own code for the product. Use it to sync without storing ids; the list has a filter for it.",
    'PAT-08',
  ),
  fromPrice: nullableNumber('The lowest price, in `currency`, for the unit in `pricingMode`.', 1450),
  priceMax: nullableNumber('The highest price, in `currency`, for the unit in `pricingMode`.'),
  operator: nullableText('The company that operates the trip.'),
  priceBasis: nullableText('The basis of the price, such as double occupancy.'),
  validFrom: nullableText('Text as it was sent, such as a calendar date.', '2026-12-01'),
  validUntil: nullableText('Text as it was sent, such as a calendar date.', '2027-03-31'),
};

export const CatalogProductVariant = z
  .object(
    describedAs(product, {
      id: id(),
      label: field(z.string(), 'The name that distinguishes the variant from the others.', 'Temporada alta'),
      position: field(z.int32().min(0), 'Position among the variants, from 0.'),
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
    variants: field(z.array(CatalogProductVariant), 'The variants of the product, by `position`.'),
    createdAt: field(dateTime(), 'When it was created.'),
    updatedAt: field(dateTime(), 'When it was last changed. The list has this order, newest first.'),
  })
  .meta({ id: 'CatalogProduct' });
export type CatalogProduct = z.infer<typeof CatalogProduct>;

export const ArchivedCatalogProduct = z
  .object({
    id: field(id(), 'Opaque, immutable identifier.'),
    archivedAt: field(dateTime(), 'When the product was archived.'),
  })
  .meta({ id: 'ArchivedCatalogProduct' });

const CatalogProductVariantCreate = z
  .object(
    describedAs(CatalogProductVariant.shape, {
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
  .register(rejectedFields, { durationHours: SET_IN_DASHBOARD });

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

export const CatalogProductParams = z.object({ productId: pathId('Id of the product.') });

export const CatalogProductCreate = z
  .object(
    describedAs(CatalogProduct.shape, {
      title: title(),
      type: type().default('package'),
      status: status().default('active'),
      pricingMode: pricingMode().default('per_person'),
      ...details,
      variants: variantsOf(CatalogProductVariantCreate)
        .default([])
        .describe('Set on creation. Afterwards, only the dashboard changes them.'),
    }),
  )
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
  })
  .register(rejectedFields, {
    coverImage: SET_IN_DASHBOARD,
    destinations: SET_IN_DASHBOARD,
    gallery: SET_IN_DASHBOARD,
  });
export type CatalogProductCreate = z.infer<typeof CatalogProductCreate>;

export const CatalogProductUpdate = z
  .object(
    describedAs(CatalogProduct.shape, {
      title: title().optional(),
      type: type().optional(),
      status: status().optional(),
      pricingMode: pricingMode().optional(),
      ...details,
    }),
  )
  .meta({
    id: 'CatalogProductUpdate',
    description: sizeRule('product'),
    examples: [{ status: 'paused', fromPrice: 1390, validUntil: null }],
  });

export const CatalogProductListQuery = z.object({
  ...changeQuery(),
  budgetTier: budgetTier().optional().describe('Products of this tier.'),
  destination: textFilter('Products that have exactly this entry in `destinations`.', 1_000),
  externalReferenceCode: textFilter('Products with exactly this code of the agency.', 255),
  query: textFilter('Text in the title, short description or description, ignoring case and accents.'),
  status: status().optional().describe('Products in this status.'),
  type: type().optional().describe('Products of this type.'),
});

/** The schemas below belong to the dashboard API only. */

export const CatalogProductRecord = CatalogProduct.extend({
  archivedAt: archivedAt(),
  purgeAt: field(
    dateTime().nullable(),
    'Until then, the archived product can be restored; null while it is active.',
  ),
}).meta({ id: 'CatalogProductRecord' });
export type CatalogProductRecord = z.infer<typeof CatalogProductRecord>;

export const CatalogProductRecordListQuery = CatalogProductListQuery.extend({ archived: archivedFilter() });

const images = () => texts().nullable().optional().describe('null empties the list.');

const own = {
  coverImage: text({ max: 2_000 })
    .nullish()
    .describe('Image reference; catalog images are in a public store.'),
  gallery: images(),
  destinations: images(),
};

const CatalogProductVariantRecordCreate = CatalogProductVariantCreate.extend(
  describedAs(CatalogProductVariant.shape, { durationHours: positiveNumber().nullish() }),
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

const CatalogProductVariantUpdate = patchOf(CatalogProductVariantRecordCreate)
  .extend({
    id: uuid().optional().describe('Id of the stored variant to change. Without an id the variant is new.'),
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
