import { getTableColumns, is } from 'drizzle-orm';
import { getTableConfig, type PgColumn, PgTable } from 'drizzle-orm/pg-core';
import * as schema from './index.ts';

export type Owned = PgTable & { organizationId: PgColumn };

const refersTo = (table: PgTable, other: PgTable): boolean =>
  getTableConfig(table).foreignKeys.some((key) => key.reference().foreignTable === other);

/** Each before those that it refers to. */
export function inOrder(tables: readonly Owned[]): Owned[] {
  if (tables.length === 0) return [];
  const isFree = (table: Owned) => !tables.some((other) => other !== table && refersTo(other, table));
  return [...tables.filter(isFree), ...inOrder(tables.filter((table) => !isFree(table)))];
}

/** Its rows follow from those of other tables: triggers and cascades delete them. */
export const isDerived = (table: PgTable): boolean =>
  table === schema.liveCounts ||
  (table !== schema.idempotencyKeys &&
    getTableConfig(table).foreignKeys.every(({ onDelete }) => onDelete === 'cascade'));

/** Every table whose rows belong to organizations. */
export const owned: readonly Owned[] = Object.values(schema).filter(
  (table): table is Owned & typeof table => is(table, PgTable) && 'organizationId' in getTableColumns(table),
);
