import { getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { z } from 'zod';
import type { Resource } from '../tables/resource.ts';
import { commaSeparated, type Fields } from './query.ts';

/** The fields of responses and requests, and the columns of their names. A field that does not fit its column does not compile. */

/** A text column has the values of an enum. A column that can be null needs a field that can be. */
type WithoutColumn<Value, Row> = {
  [Name in keyof Value]-?: Name extends keyof Row
    ? [Value[Name], Row[Name] & null] extends [Row[Name], Value[Name]]
      ? never
      : Name
    : Name;
}[keyof Value];

/** A column of arrays stores an empty one for null. */
type Unwritable<Value, Row> = {
  [Name in keyof Value]-?: Name extends keyof Row
    ? Value[Name] extends Row[Name] | undefined | (Row[Name] extends unknown[] ? null : never)
      ? never
      : Name
    : Name;
}[keyof Value];

type Source = PgColumn | SQL;

export type Columns<Name extends string = string> = Readonly<Record<Name, PgColumn>>;

function pickFields<Picked>(schema: z.ZodObject, sources: Readonly<Record<string, Source>>): Picked {
  const entries = Object.keys(schema.shape).map((name) => {
    if (!sources[name]) throw new Error(`The field ${name} has no column.`);
    return [name, sources[name]];
  });
  return Object.fromEntries(entries);
}

type Sources<Schema extends z.ZodObject, Table extends PgTable> = Record<
  WithoutColumn<z.infer<Schema>, Table['$inferSelect']>,
  Source
> &
  Partial<Record<keyof z.infer<Schema>, Source>>;

/** The fields of a response: `sources` of those without a column (`displayName`), or in place of one, and columns. */
export const fieldsOf = <Schema extends z.ZodObject, Table extends PgTable>(
  schema: Schema,
  table: Table,
  sources: Sources<Schema, Table>,
): Fields<z.infer<Schema>> => pickFields(schema, { ...getTableColumns(table), ...sources });

/** The view of a resource with these fields. */
export const viewOf = <Of extends Resource, Schema extends z.ZodObject>(
  resource: Of,
  schema: Schema,
  sources: Sources<Schema, Of['table']>,
) => ({ ...resource, fields: fieldsOf<Schema, Of['table']>(schema, resource.table, sources) });

/** The column of each field that a request writes. */
export const columnsOf = <Schema extends z.ZodObject, Table extends PgTable>(
  schema: Schema &
    Record<Unwritable<z.infer<Schema>, Table['$inferSelect']>, 'has no column that takes its values'>,
  table: Table,
): Columns<keyof z.infer<Schema> & string> => pickFields(schema, getTableColumns(table));

/** For INSERT: `"title", "type", …`. */
export const columnList = (columns: Columns): SQL =>
  commaSeparated(Object.values(columns).map(({ name }) => sql.identifier(name)));

/** The values of a write. In a template, a placeholder is sent as `rowValues` has it, not encoded again. */
export const placeholdersOf = (columns: Columns): Record<string, SQL> =>
  Object.fromEntries(Object.keys(columns).map((field) => [field, sql`${sql.placeholder(field)}`]));

/** The values of a whole row. An absent field is null, or an empty array where the column is never null. */
export function rowValues<Name extends string>(
  columns: Columns<Name>,
  body: Readonly<Partial<Record<Name, unknown>>>,
): Record<string, unknown> {
  const given: Readonly<Record<string, unknown>> = body;
  return Object.fromEntries(
    Object.entries<PgColumn>(columns).map(([field, { dataType, notNull }]) => {
      if (dataType === 'json') return [field, JSON.stringify(given[field])];
      return [field, given[field] ?? (dataType === 'array' && notNull ? [] : null)];
    }),
  );
}
