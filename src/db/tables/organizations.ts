import { sql } from 'drizzle-orm';
import {
  type AnyPgColumn,
  type ExtraConfigColumn,
  foreignKey,
  index,
  pgTable,
  primaryKey,
  text,
  uuid,
} from 'drizzle-orm/pg-core';
import { createdAt, isActive, listIndex, timestamp } from './columns.ts';

/** Travel agencies. Every other record belongs to one. */
export const organizations = pgTable('organizations', {
  id: uuid('id').primaryKey(),
  name: text('name').notNull(),
  createdAt: createdAt(),
  /** While it is set, writes are rejected. */
  closedAt: timestamp('closed_at'),
  /** The latest run of the purge. Once it is set, the organization is not found, and its rows are deleted. */
  purgeBeganAt: timestamp('purge_began_at'),
});

/** Tombstones of purged organizations, re-applied after a backup is restored. */
export const purgedOrganizations = pgTable('purged_organizations', {
  id: uuid('id').primaryKey(),
  closedAt: timestamp('closed_at').notNull(),
  purgedAt: timestamp('purged_at').notNull().default(sql`now()`),
});

type Owned = { organizationId: AnyPgColumn };
type Rows = Owned & { id: AnyPgColumn };

export const primary = (name: string, { organizationId, id }: Rows) =>
  primaryKey({ name, columns: [organizationId, id] });

export const toOrganization = (name: string, { organizationId }: Owned) =>
  foreignKey({ name, columns: [organizationId], foreignColumns: [organizations.id] });

type Archivable = Rows & Record<'organizationId' | 'id' | 'archivedAt', ExtraConfigColumn>;

/** The keys of records that can be archived. */
export const archivableKeys = (name: string, table: Archivable) => [
  primary(`${name}_pkey`, table),
  toOrganization(`${name}_organization_fkey`, table),
  index(`${name}_archived_idx`)
    .on(table.organizationId, table.archivedAt.desc(), table.id.desc())
    .where(sql`archived_at is not null`),
];

/** Those of records that are listed by `updatedAt`, too. */
export const recordKeys = (
  name: string,
  table: Archivable & Record<'createdAt' | 'updatedAt', ExtraConfigColumn>,
) => [
  ...archivableKeys(name, table),
  listIndex(`${name}_live_idx`, table, isActive),
  index(`${name}_created_idx`)
    .on(table.organizationId, table.createdAt, table.updatedAt, table.id)
    .where(isActive),
];

/** The limit is the kB of new entries that every search reads, until a write or autovacuum moves them into the index. */
export const searchKeys = (
  name: string,
  table: Rows & Record<'organizationId' | 'search', ExtraConfigColumn>,
  ...arrays: ExtraConfigColumn[]
) => [
  primary(`${name}_pkey`, table),
  index(`${name}_search_idx`)
    .using('gin', table.organizationId, ...arrays, table.search.op('gin_trgm_ops'))
    .with({ fastupdate: true, gin_pending_list_limit: 512 }),
];

export const toRecord = (name: string, { organizationId }: Owned, column: AnyPgColumn, to: Rows) =>
  foreignKey({ name, columns: [organizationId, column], foreignColumns: [to.organizationId, to.id] });
