import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { columnName } from './statement.ts';

/** The fields that a request writes, each with its column's name. */
export type Writable<Field extends string = string> = ReadonlyMap<Field, string>;

export const writable = <Field extends string>(columns: Record<Field, PgColumn>): Writable<Field> =>
  new Map(
    (Object.entries(columns) as [Field, PgColumn][]).map(([field, column]) => [field, columnName(column)]),
  );

/** The columns' names, for INSERT and SET. */
export const names = (columns: Writable): SQL =>
  sql.join(
    [...columns.values()].map((name) => sql.identifier(name)),
    sql`, `,
  );

/** The columns of another relation that has them: `patched."title", patched."type", …`. */
export const namesOf = (relation: string, columns: Writable): SQL =>
  sql.join(
    [...columns.values()].map((name) => sql`${sql.raw(relation)}.${sql.identifier(name)}`),
    sql`, `,
  );

/** A row with the table's columns, read from the JSON object in the placeholder. */
export const recordFrom = (table: PgTable, placeholder: string): SQL =>
  sql`jsonb_populate_record(null::${table}, ${sql.placeholder(placeholder)}::jsonb)`;

/** The same for a JSON array: a row for each of its objects. */
export const recordsFrom = (table: PgTable, placeholder: string): SQL =>
  sql`jsonb_populate_recordset(null::${table}, ${sql.placeholder(placeholder)}::jsonb)`;

/**
 * The object's writable fields under their columns' names, for such a placeholder. A field that is absent stays absent,
 * so that a patch leaves its column alone; what is no column is left out.
 */
export function toRecord(columns: Writable, body: Record<string, unknown>): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (const [field, name] of columns) {
    if (body[field] !== undefined) record[name] = body[field];
  }
  return record;
}

/** `updated_at` of a row that changes: later than before even within one millisecond or after a clock was set back. */
export const touched = (updatedAt: PgColumn): SQL =>
  sql`greatest(now(), ${updatedAt} + interval '1 millisecond')`;
