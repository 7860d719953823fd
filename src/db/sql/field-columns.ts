import type { GetColumnData } from 'drizzle-orm';
import { getTableColumns, type SQL } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { z } from 'zod';
import type { Fields } from '../query.ts';

type ColumnsOf<Table extends PgTable> = Table['_']['columns'];

/** Whether the column has the field's type, and is null only if the field can be. */
type Fits<Column, Value> = Column extends PgColumn
  ? null extends GetColumnData<Column>
    ? null extends Value
      ? SameKind<NonNullable<GetColumnData<Column>>, NonNullable<Value>>
      : false
    : SameKind<GetColumnData<Column>, NonNullable<Value>>
  : false;

/** Either type may be the narrower one: a text column holds the values of an enum. */
type SameKind<Data, Value> = [Value] extends [Data] ? true : [Data] extends [Value] ? true : false;

type WithoutColumn<Value, Table extends PgTable> = {
  [Name in keyof Value]-?: Name extends keyof ColumnsOf<Table>
    ? Fits<ColumnsOf<Table>[Name], Value[Name]> extends true
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
  [Name in keyof Value & keyof ColumnsOf<Table>]: null extends Value[Name]
    ? GetColumnData<ColumnsOf<Table>[Name]> extends readonly unknown[]
      ? never
      : null extends GetColumnData<ColumnsOf<Table>[Name]>
        ? never
        : Name
    : never;
}[keyof Value & keyof ColumnsOf<Table>];

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
