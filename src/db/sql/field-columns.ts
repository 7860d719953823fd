import type { GetColumnData } from 'drizzle-orm';
import { getTableColumns, type SQL } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { z } from 'zod';
import type { Fields } from './json.ts';

/**
 * One list of fields. The zod schema says which fields there are, and their order. The table says where they come
 * from. A repository names only the others. A field that is forgotten, invented or of another type does not compile.
 */

type ColumnsOf<Table extends PgTable> = Table['_']['columns'];

/**
 * The column and the field agree: their values are of the same kind, and only a field that can be null has a column
 * that can.
 */
type Fits<Column, Value> = Column extends PgColumn
  ? null extends JsonOf<Column>
    ? null extends Value
      ? SameKind<NonNullable<JsonOf<Column>>, NonNullable<Value>>
      : false
    : SameKind<JsonOf<Column>, NonNullable<Value>>
  : false;

/** A closed list of strings is kept in a text column, so either type may be the narrower one. */
type SameKind<Data, Value> = [Value] extends [Data] ? true : [Data] extends [Value] ? true : false;

/** The type of a column's value in JSON. A moment is text there. */
type JsonOf<Column extends PgColumn> =
  Exclude<GetColumnData<Column>, null> extends Date
    ? string | Extract<GetColumnData<Column>, null>
    : GetColumnData<Column>;

/** The fields for which the table has no column of that name and type. */
type WithoutColumn<Value, Table extends PgTable> = {
  [Name in keyof Value]-?: Name extends keyof ColumnsOf<Table>
    ? Fits<ColumnsOf<Table>[Name], Value[Name]> extends true
      ? never
      : Name
    : Name;
}[keyof Value];

/** Where such fields come from. Other fields may be named too: these override their column. */
type Others<Value, Table extends PgTable> = Record<WithoutColumn<Value, Table>, PgColumn | SQL> &
  Partial<Record<keyof Value, PgColumn | SQL>>;

/** `Given`, but a property that `Value` does not have is refused. */
type Only<Given, Value> = Given & Record<Exclude<keyof Given, keyof Value>, never>;

/**
 * The fields of an answer. Each field of the schema comes from the column of its name, or from `others`.
 * @param others the fields without a column (`displayName`, `contacts`), and those that override theirs
 */
export function fieldsOf<Schema extends z.ZodObject, Table extends PgTable, Given extends object>(
  schema: Schema,
  table: Table,
  ...[others]: Record<never, never> extends Others<z.infer<Schema>, Table>
    ? [others?: Only<Given, z.infer<Schema>> & Others<z.infer<Schema>, Table>]
    : [others: Only<Given, z.infer<Schema>> & Others<z.infer<Schema>, Table>]
): Fields<z.infer<Schema>> {
  const columns = getTableColumns(table) as Record<string, PgColumn>;
  const given = (others ?? {}) as Record<string, PgColumn | SQL>;
  const entries = Object.keys(schema.shape).map((name) => {
    const source = given[name] ?? columns[name];
    if (!source) throw new Error(`The field ${name} comes from nowhere.`);
    return [name, source];
  });
  return Object.fromEntries(entries) as Fields<z.infer<Schema>>;
}

/** Columns under the names of their fields. */
export type Columns<Name extends string = string> = Readonly<Record<Name, PgColumn>>;

/** Whether null of a request can be stored: in a list column it empties the list. */
type TakesNull<Column> = Column extends PgColumn
  ? null extends JsonOf<Column>
    ? true
    : JsonOf<Column> extends readonly unknown[]
      ? true
      : false
  : true;

/** The fields that a request may set to null, and whose column does not take it. */
type NullWithoutRoom<Value, Table extends PgTable> = {
  [Name in keyof Value]-?: null extends Value[Name]
    ? Name extends keyof ColumnsOf<Table>
      ? TakesNull<ColumnsOf<Table>[Name]> extends true
        ? never
        : Name
      : never
    : never;
}[keyof Value];

/** A schema whose every field has a column that takes its values. The compiler's message names the fields that have none. */
type Writable<Schema extends z.ZodObject, Table extends PgTable> =
  WithoutColumn<WrittenBy<Schema>, Table> extends never
    ? NullWithoutRoom<z.infer<Schema>, Table> extends never
      ? unknown
      : { 'fields whose column is never null': NullWithoutRoom<z.infer<Schema>, Table> }
    : { 'fields without a column': WithoutColumn<WrittenBy<Schema>, Table> };

/** The types of the fields that are written, whether or not they may be absent or null. */
type WrittenBy<Schema extends z.ZodObject> = {
  [Name in keyof z.infer<Schema>]-?: NonNullable<z.infer<Schema>[Name]> | null;
};

/**
 * The column of each field that a request writes. Fields that are kept elsewhere are first taken out of the schema
 * with zod's `omit`. Columns that the service fills itself are added to the result.
 */
export function columnsOf<Schema extends z.ZodObject, Table extends PgTable>(
  schema: Schema & Writable<Schema, Table>,
  table: Table,
): Columns<keyof z.infer<Schema> & string> {
  const columns = getTableColumns(table) as Record<string, PgColumn>;
  const entries = Object.keys(schema.shape).map((name) => {
    const column = columns[name];
    if (!column) throw new Error(`The field ${name} has no column.`);
    return [name, column];
  });
  return Object.fromEntries(entries) as Columns<keyof z.infer<Schema> & string>;
}
