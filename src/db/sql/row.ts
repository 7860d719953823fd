import { is, type Placeholder, type SQL, sql } from 'drizzle-orm';
import { PgArray, type PgColumn } from 'drizzle-orm/pg-core';
import type { Columns } from './field-columns.ts';
import { columnName, type Params } from './statement.ts';

/** A row as values of a statement: each field has a placeholder of its name, and is sent as its column takes it. */

/** The columns' names, for INSERT and SET: `"title", "type", …`. */
export const columnList = (columns: Columns): SQL =>
  sql.join(
    Object.values(columns).map((column) => sql.identifier(columnName(column))),
    sql`, `,
  );

/** The columns read from another relation: `kept."title", kept."type", …`. */
export const columnsFrom = (relation: string, columns: Columns): SQL =>
  sql.join(
    Object.values(columns).map((column) => sql`${sql.raw(relation)}.${sql.identifier(columnName(column))}`),
    sql`, `,
  );

/** A body whose every field has a column. */
export type Storable<Body, Name extends string> = Body & Record<Exclude<keyof Body, Name>, never>;

/** The placeholders of the columns, under the names of their fields. */
export const placeholdersOf = <Name extends string>(
  $: NoInfer<Params<Record<Name, unknown>>>,
  columns: Columns<Name>,
): Record<Name, SQL> =>
  Object.fromEntries(
    (Object.entries(columns) as [Name, PgColumn][]).map(([field, column]) => [
      field,
      sql`${sql.param($[field] as Placeholder, column)}`,
    ]),
  ) as Record<Name, SQL>;

/** A list is never null in the database: null empties it. */
const stored = (column: PgColumn, value: unknown): unknown =>
  value ?? (is(column, PgArray) && column.notNull ? [] : null);

/** The values of a whole row. An absent field is null, or an empty list. A field without a column does not compile. */
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

/**
 * `updated_at` of a row that changes. It always grows, also within one millisecond and after a clock was set back. It
 * goes through UTC: Citus refuses an expression that depends on the time zone.
 */
export const nextUpdatedAt = (updatedAt: PgColumn): SQL =>
  sql`greatest(now(), (${updatedAt} at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC')`;
