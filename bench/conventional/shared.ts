import { type SQL, sql } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';

export type Database = NodePgDatabase;

export type RouteOptions = { db: Database };

export const iso = (moment: Date | null): string | null => moment?.toISOString() ?? null;

/** As the indexes are ordered; Drizzle's own desc() puts nulls first, which they could not answer. */
export const newest = (column: PgColumn): SQL => sql`${column} desc nulls last`;

export const contains = (table: PgTable, text: string): SQL =>
  sql`${table}.search like public.contains_pattern(${text})`;

export const fullName = (first: string | null, last: string | null): string | null =>
  [first, last].filter(Boolean).join(' ') || null;

export const notFound = (what: string): Error =>
  Object.assign(new Error(`${what} not found`), { statusCode: 404, code: 'NOT_FOUND' });

/** Rows by the id of their parent. */
export function groupBy<Row, Key>(rows: readonly Row[], keyOf: (row: Row) => Key): Map<Key, Row[]> {
  const groups = new Map<Key, Row[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group) group.push(row);
    else groups.set(keyOf(row), [row]);
  }
  return groups;
}
