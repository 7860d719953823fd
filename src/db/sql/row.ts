import { and, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Columns } from './field-columns.ts';

/** For INSERT: `"title", "type", …`. */
export const columnList = (columns: Columns): SQL =>
  sql.join(
    Object.values(columns).map(({ name }) => sql.identifier(name)),
    sql`, `,
  );

/** The values of a write. In a template, a placeholder is sent as `rowValues` has it, not encoded again. */
export const placeholdersOf = (columns: Columns): Record<string, SQL> =>
  Object.fromEntries(Object.keys(columns).map((field) => [field, sql`${sql.placeholder(field)}`]));

/** Whether the row has the values. Columns of JSON, which has no equality, are not compared. */
export function hasValues(columns: Columns): SQL<boolean> {
  const compared = Object.entries(columns).filter(([, column]) => column.dataType !== 'json');
  const same = compared.map(
    ([field, column]) => sql`${column} is not distinct from ${sql.placeholder(field)}`,
  );
  return sql`${and(...same) ?? true}`;
}

/** A JSON array of objects as a table `sent`: the columns, and `place`, the position in the array. */
export function sentRows(columns: Columns, json: SQLWrapper): SQL {
  const fields = Object.entries(columns).map(
    ([field, column]) => sql`${sql.identifier(field)} ${sql.raw(column.getSQLType())}`,
  );
  return sql`rows from (json_to_recordset(${json}::json) as (${sql.join(fields, sql`, `)}))
    with ordinality as sent(${columnList(columns)}, place)`;
}

export type Storable<Body, Name extends string> = Body & Record<Exclude<keyof Body, Name>, never>;

/** An array column that is never null stores an empty array for null. */
function stored(column: PgColumn, value: unknown): unknown {
  if (column.dataType === 'json') return JSON.stringify(value);
  return value ?? (column.dataType === 'array' && column.notNull ? [] : null);
}

/** The values of a whole row. An absent field is null, or an empty array. */
export const rowValues = <Name extends string, Body extends object>(
  columns: Columns<Name>,
  body: Storable<Body, Name>,
): Record<Name, unknown> =>
  Object.fromEntries(
    (Object.entries(columns) as [Name, PgColumn][]).map(([field, column]) => [
      field,
      stored(column, (body as Partial<Record<Name, unknown>>)[field]),
    ]),
  ) as Record<Name, unknown>;
