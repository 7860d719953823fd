import { sql } from 'drizzle-orm';
import { type AnyPgColumn, foreignKey, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { createdAt, listIndexes, timestamp } from './columns.ts';

/** Travel agencies; every other record belongs to one. */
export const organizations = pgTable('organizations', {
  id: uuid('id').primaryKey(),
  name: text('name').notNull(),
  createdAt: createdAt(),
  /** While it is closed, nobody writes. */
  closedAt: timestamp('closed_at'),
  /** From then on it is gone, and its rows go one after another. */
  purgeBeganAt: timestamp('purge_began_at'),
});

/** Organizations that are gone: what is purged again after a restore. */
export const purgedOrganizations = pgTable('purged_organizations', {
  id: uuid('id').primaryKey(),
  closedAt: timestamp('closed_at').notNull(),
  purgedAt: timestamp('purged_at').notNull().default(sql`now()`),
});

/** The keys of tables whose rows belong to organizations. Each carries the organization, so that no row leads into another one. */

type Owned = { organizationId: AnyPgColumn };
type Rows = Owned & { id: AnyPgColumn };

/** The primary key: an id is one within its organization. */
export const primary = (name: string, { organizationId, id }: Rows) =>
  primaryKey({ name, columns: [organizationId, id] });

/** The key to the organization itself. */
export const toOrganization = (name: string, { organizationId }: Owned) =>
  foreignKey({ name, columns: [organizationId], foreignColumns: [organizations.id] });

/** The keys of a record with a list of its own, and what its list is read by. */
export const recordKeys = (name: string, table: Rows & Parameters<typeof listIndexes>[1]) => [
  primary(`${name}_pkey`, table),
  toOrganization(`${name}_organization_fkey`, table),
  ...listIndexes(name, table),
];

/** The key to a record of the same organization. */
export const toRecord = (name: string, { organizationId }: Owned, column: AnyPgColumn, to: Rows) =>
  foreignKey({ name, columns: [organizationId, column], foreignColumns: [to.organizationId, to.id] });
