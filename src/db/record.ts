import { is, type Placeholder, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { PgArray, type PgColumn, type PgTable } from 'drizzle-orm/pg-core';
import type { Columns } from './fields.ts';
import { columnName, type Params } from './statement.ts';

/** Rows that travel as one JSON parameter, so that one statement serves any set of fields. */

/** The columns' names, for INSERT and SET: `"title", "type", …`. */
export const columnList = (columns: Columns): SQL =>
  sql.join(
    Object.values(columns).map((column) => sql.identifier(columnName(column))),
    sql`, `,
  );

/** The columns read from another relation: `input."title", input."type", …`. */
export const columnsFrom = (relation: string, columns: Columns): SQL =>
  sql.join(
    Object.values(columns).map((column) => sql`${sql.raw(relation)}.${sql.identifier(columnName(column))}`),
    sql`, `,
  );

/** A row with the table's columns, read from a JSON object. */
export const recordFrom = (table: PgTable, json: SQLWrapper): SQL =>
  sql`jsonb_populate_record(null::${table}, ${json}::jsonb)`;

/** The same for a JSON array: a row for each of its objects. */
export const recordsFrom = (table: PgTable, json: SQLWrapper): SQL =>
  sql`jsonb_populate_recordset(null::${table}, ${json}::jsonb)`;

/** A body whose every field has a column. */
export type Storable<Body, Name extends string> = Body & Record<Exclude<keyof Body, Name>, never>;

/** A list is never null in the database: null empties it. */
const isList = (column: PgColumn): boolean => is(column, PgArray) && column.notNull;

/**
 * The fields of a body under the names of their columns, for such a parameter. An absent field stays absent, and a
 * patch leaves its column alone. A field without a column does not compile.
 */
export function toRecord<Name extends string, Body extends object>(
  columns: Columns<Name>,
  body: Storable<Body, Name>,
): Record<string, unknown> {
  const fields = body as Partial<Record<Name, unknown>>;
  const record: Record<string, unknown> = {};
  for (const [field, column] of Object.entries(columns) as [Name, PgColumn][]) {
    const value = fields[field];
    if (value !== undefined) record[columnName(column)] = value === null && isList(column) ? [] : value;
  }
  return record;
}

/** The same for a new row. A list that is absent is empty. */
export function toNewRecord<Name extends string, Body extends object>(
  columns: Columns<Name>,
  body: Storable<Body, Name>,
): Record<string, unknown> {
  const lists = (Object.values(columns) as PgColumn[]).filter(isList);
  return {
    ...Object.fromEntries(lists.map((column) => [columnName(column), []])),
    ...toRecord(columns, body),
  };
}

/** The placeholders of a new row, under the names of its fields. Each is sent as its column takes it. */
export const newRow = ($: Params<Record<string, unknown>>, columns: Columns): Record<string, SQL> =>
  Object.fromEntries(
    Object.entries(columns).map(([field, column]) => [
      field,
      sql`${sql.param($[field] as Placeholder, column)}`,
    ]),
  );

/** The values of such a row. What is absent is null, or an empty list. A field without a column does not compile. */
export const newRowValues = <Name extends string, Body extends object>(
  columns: Columns<Name>,
  body: Storable<Body, Name>,
): Record<string, unknown> =>
  Object.fromEntries(
    (Object.entries(columns) as [Name, PgColumn][]).map(([field, column]) => [
      field,
      (body as Partial<Record<Name, unknown>>)[field] ?? (isList(column) ? [] : null),
    ]),
  );

/**
 * `updated_at` of a row that changes. It always grows, also within one millisecond and after a clock was set back. It
 * goes through UTC: Citus refuses an expression that depends on the time zone.
 */
export const nextUpdatedAt = (updatedAt: PgColumn): SQL =>
  sql`greatest(now(), (${updatedAt} at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC')`;
