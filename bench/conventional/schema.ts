import { doublePrecision, integer, numeric, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core';

/** What is not as the service has it; see rivals.sql. Nobody selects `search`, so no table has it here. */

const moment = () => timestamp({ withTimezone: true, precision: 3 });
const texts = () => text().array().notNull().default([]);
const times = { createdAt: moment().notNull().defaultNow(), updatedAt: moment().notNull().defaultNow() };

export const customers = pgTable('customers', {
  organizationId: uuid().notNull(),
  id: uuid().notNull(),
  firstName: text(),
  lastName: text(),
  city: text(),
  country: text(),
  preferredLanguage: text(),
  summary: text(),
  tags: texts(),
  contactSearch: text().notNull().default(''),
  ...times,
  archivedAt: moment(),
});

export const customerContacts = pgTable('customer_contacts', {
  organizationId: uuid().notNull(),
  id: uuid().notNull(),
  customerId: uuid().notNull(),
  position: integer().notNull(),
  identifierType: text().notNull(),
  identifierValue: text().notNull(),
  contactKey: text().notNull(),
  phoneNumber: text(),
  displayName: text(),
  archivedAt: moment(),
});

export const products = pgTable('products', {
  organizationId: uuid().notNull(),
  id: uuid().notNull(),
  title: text().notNull(),
  type: text().notNull(),
  status: text().notNull(),
  pricingMode: text().notNull(),
  budgetTier: text(),
  capacityMin: integer(),
  capacityMax: integer(),
  coverImage: text(),
  currency: text(),
  description: text(),
  shortDescription: text(),
  specialConditions: text(),
  destinations: texts(),
  durationDays: integer(),
  durationHours: doublePrecision(),
  includes: texts(),
  excludes: texts(),
  gallery: texts(),
  externalReferenceCode: text(),
  fromPrice: numeric({ mode: 'number' }),
  priceMax: numeric({ mode: 'number' }),
  operator: text(),
  priceBasis: text(),
  validFrom: text(),
  validUntil: text(),
  ...times,
  archivedAt: moment(),
});

export const productVariants = pgTable('product_variants', {
  organizationId: uuid().notNull(),
  id: uuid().notNull(),
  productId: uuid().notNull(),
  label: text().notNull(),
  position: integer().notNull(),
  status: text().notNull(),
  capacityMin: integer(),
  capacityMax: integer(),
  currency: text(),
  description: text(),
  shortDescription: text(),
  durationDays: integer(),
  durationHours: doublePrecision(),
  includes: texts(),
  excludes: texts(),
  fromPrice: numeric({ mode: 'number' }),
  priceMax: numeric({ mode: 'number' }),
});
