import { foreignKey, integer, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { products } from './catalog.ts';
import { moment, organizationId } from './columns.ts';
import { customers } from './customers.ts';

/**
 * The JSON of a record as its GET shows it, made when the record is written, so that reading does not make it again. It
 * counts only while `updatedAt` is the record's, and `rendering` that of this release (see db/stored-body.ts).
 */
const columns = () => ({
  organizationId: organizationId(),
  id: uuid().notNull(),
  updatedAt: moment().notNull(),
  /** Which list of fields made it. */
  rendering: integer().notNull(),
  body: text().notNull(),
});

export const productBodies = pgTable('product_bodies', columns(), (table) => [
  primaryKey({ name: 'product_bodies_pkey', columns: [table.organizationId, table.id] }),
  foreignKey({
    name: 'product_bodies_product_fkey',
    columns: [table.organizationId, table.id],
    foreignColumns: [products.organizationId, products.id],
  }).onDelete('cascade'),
]);

export const customerBodies = pgTable('customer_bodies', columns(), (table) => [
  primaryKey({ name: 'customer_bodies_pkey', columns: [table.organizationId, table.id] }),
  foreignKey({
    name: 'customer_bodies_customer_fkey',
    columns: [table.organizationId, table.id],
    foreignColumns: [customers.organizationId, customers.id],
  }).onDelete('cascade'),
]);
