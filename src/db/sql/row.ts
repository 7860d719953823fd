import { is, SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Columns } from './field-columns.ts';

/** For INSERT: `"title", "type", …`. */
export const columnList = (columns: Columns): SQL =>
  sql.join(
    Object.values(columns).map(({ name }) => sql.identifier(name)),
    sql`, `,
  );

/** For INSERT: `$3, $4, …`. Null becomes the column's default, if that is SQL and the column is never null. */
export const valueList = (columns: Columns): SQL =>
  sql.join(
    Object.entries(columns).map(([field, column]) => {
      const value = sql.placeholder(field);
      return column.notNull && is(column.default, SQL)
        ? sql`coalesce(${value}, ${column.default})`
        : sql`${value}`;
    }),
    sql`, `,
  );

/** For UPDATE: `"title" = $3, "type" = $4, …`. */
export const assignments = (columns: Columns): SQL =>
  sql.join(
    Object.entries(columns).map(
      ([field, { name }]) => sql`${sql.identifier(name)} = ${sql.placeholder(field)}`,
    ),
    sql`, `,
  );

/** Whether the row has the values. Columns of JSON, which has no equality, are not compared. */
export function hasValues(columns: Columns): SQL {
  const compared = Object.entries(columns).filter(([, column]) => column.dataType !== 'json');
  const same = compared.map(
    ([field, column]) => sql`${column} is not distinct from ${sql.placeholder(field)}`,
  );
  return same.length === 0 ? sql`true` : sql.join(same, sql` and `);
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
