import { getTableColumns, is } from 'drizzle-orm';
import { getTableConfig, type PgColumn, PgTable } from 'drizzle-orm/pg-core';
import * as schema from './index.ts';

export type Owned = PgTable & { organizationId: PgColumn };

export const owned: readonly Owned[] = Object.values(schema).filter(
  (table): table is Owned & typeof table => is(table, PgTable) && 'organizationId' in getTableColumns(table),
);

const parents = new Map<PgTable, PgTable[]>(
  owned.map((table) => [table, getTableConfig(table).foreignKeys.map((key) => key.reference().foreignTable)]),
);

/** Sorts each table before the tables that it refers to. */
export function inOrder(tables: readonly Owned[]): Owned[] {
  if (tables.length === 0) return [];
  const isFree = (table: Owned) =>
    !tables.some((other) => other !== table && parents.get(other)?.includes(table));
  return [...tables.filter(isFree), ...inOrder(tables.filter((table) => !isFree(table)))];
}

/** True if triggers or cascades delete the rows. */
export const isDerived = (table: PgTable): boolean =>
  table === schema.liveCounts ||
  (table !== schema.idempotencyKeys &&
    getTableConfig(table).foreignKeys.every(({ onDelete }) => onDelete === 'cascade'));
