import { and, getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { z } from 'zod';
import type { Fields } from './query.ts';

/** The fields of requests and responses, and the columns of their names. */

type Row<Table extends PgTable> = Table['$inferSelect'];

/** Either type may be the narrower one: a text column holds the values of an enum. */
type SameKind<Data, Value> = [Value] extends [Data] ? true : [Data] extends [Value] ? true : false;

/** Whether the column has the field's type, and is null only if the field can be. */
type Fits<Data, Value> = null extends Data
  ? null extends Value
    ? SameKind<NonNullable<Data>, NonNullable<Value>>
    : false
  : SameKind<Data, NonNullable<Value>>;

type WithoutColumn<Value, Table extends PgTable> = {
  [Name in keyof Value]-?: Name extends keyof Row<Table>
    ? Fits<Row<Table>[Name], Value[Name]> extends true
      ? never
      : Name
    : Name;
}[keyof Value];

/** A source for each field without a column; a source for another field overrides its column. */
type Sources<Value, Table extends PgTable> = Record<WithoutColumn<Value, Table>, PgColumn | SQL> &
  Partial<Record<keyof Value, PgColumn | SQL>>;

type Only<Input, Value> = Input & Record<Exclude<keyof Input, keyof Value>, never>;

function pickFields(schema: z.ZodObject, sources: Readonly<Record<string, unknown>>): object {
  const entries = Object.keys(schema.shape).map((name) => {
    if (!sources[name]) throw new Error(`The field ${name} has no column.`);
    return [name, sources[name]];
  });
  return Object.fromEntries(entries);
}

/**
 * The fields of a response. A field comes from the column of its name and type; without one, it does not compile.
 * @param sources of fields without a column (`displayName`), or in place of one
 */
export function fieldsOf<Schema extends z.ZodObject, Table extends PgTable, Input extends object>(
  schema: Schema,
  table: Table,
  ...[sources]: Record<never, never> extends Sources<z.infer<Schema>, Table>
    ? [sources?: Only<Input, z.infer<Schema>> & Sources<z.infer<Schema>, Table>]
    : [sources: Only<Input, z.infer<Schema>> & Sources<z.infer<Schema>, Table>]
): Fields<z.infer<Schema>> {
  return pickFields(schema, { ...getTableColumns(table), ...sources }) as Fields<z.infer<Schema>>;
}

export type Columns<Name extends string = string> = Readonly<Record<Name, PgColumn>>;

/** The fields that can be null, and whose column cannot. A column of arrays stores an empty one for null. */
type FieldsNotNull<Value, Table extends PgTable> = {
  [Name in keyof Value & keyof Row<Table>]: null extends Value[Name]
    ? null extends Row<Table>[Name]
      ? never
      : Row<Table>[Name] extends readonly unknown[]
        ? never
        : Name
    : never;
}[keyof Value & keyof Row<Table>];

/** `unknown`, or a type that names the fields in the compiler's error. */
type Writable<Schema extends z.ZodObject, Table extends PgTable> =
  WithoutColumn<WrittenBy<Schema>, Table> extends never
    ? FieldsNotNull<z.infer<Schema>, Table> extends never
      ? unknown
      : { 'fields whose column is never null': FieldsNotNull<z.infer<Schema>, Table> }
    : { 'fields without a column': WithoutColumn<WrittenBy<Schema>, Table> };

type WrittenBy<Schema extends z.ZodObject> = {
  [Name in keyof z.infer<Schema>]-?: NonNullable<z.infer<Schema>[Name]> | null;
};

/** The column of each field that a request writes. A field without a column of its type does not compile. */
export function columnsOf<Schema extends z.ZodObject, Table extends PgTable>(
  schema: Schema & Writable<Schema, Table>,
  table: Table,
): Columns<keyof z.infer<Schema> & string> {
  return pickFields(schema, getTableColumns(table)) as Columns<keyof z.infer<Schema> & string>;
}

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
