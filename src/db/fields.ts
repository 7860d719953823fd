import type { GetColumnData } from 'drizzle-orm';
import { getTableColumns, type SQL } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { z } from 'zod';
import type { Fields } from './json.ts';

/**
 * One list of fields: the zod shape says which fields there are and in which order, the table where they come from. Only
 * what is neither is named by a repository. A field that is forgotten, invented or of another type does not compile.
 */

type ColumnsOf<Table extends PgTable> = Table['_']['columns'];

/** What the column gives in JSON fits what the field says: the same kind, and null only where the field has it. */
type Fits<Column, Value> = Column extends PgColumn
  ? null extends JsonOf<Column>
    ? null extends Value
      ? SameKind<NonNullable<JsonOf<Column>>, NonNullable<Value>>
      : false
    : SameKind<JsonOf<Column>, NonNullable<Value>>
  : false;

/** A closed list of strings is kept in a text column: either may be the narrower one. */
type SameKind<Data, Value> = [Value] extends [Data] ? true : [Data] extends [Value] ? true : false;

/** What the column gives in JSON; a moment is text there. */
type JsonOf<Column extends PgColumn> =
  Exclude<GetColumnData<Column>, null> extends Date
    ? string | Extract<GetColumnData<Column>, null>
    : GetColumnData<Column>;

/** The fields that have no column of their name and type. */
type WithoutColumn<Value, Table extends PgTable> = {
  [Name in keyof Value]-?: Name extends keyof ColumnsOf<Table>
    ? Fits<ColumnsOf<Table>[Name], Value[Name]> extends true
      ? never
      : Name
    : Name;
}[keyof Value];

/** Where the fields come from that are no columns, and those that override one. */
type Others<Value, Table extends PgTable> = Record<WithoutColumn<Value, Table>, PgColumn | SQL> &
  Partial<Record<keyof Value, PgColumn | SQL>>;

/** `Given` with nothing that `Value` has not. */
type Only<Given, Value> = Given & Record<Exclude<keyof Given, keyof Value>, never>;

/**
 * What a response shows: each field of the schema from the table's column of its name, or from `others`.
 * @param others the fields that are no columns of the table (`displayName`, `contacts`), or that override one
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

/** A schema whose every field is a column of the table; the message names those that are not. */
type Writable<Schema extends z.ZodObject, Table extends PgTable> =
  WithoutColumn<WrittenBy<Schema>, Table> extends never
    ? unknown
    : { 'fields without a column': WithoutColumn<WrittenBy<Schema>, Table> };

/** As written: an absent field is no matter here, and null in a list that is never null empties it. */
type WrittenBy<Schema extends z.ZodObject> = {
  [Name in keyof z.infer<Schema>]-?: NonNullable<z.infer<Schema>[Name]> | null;
};

/**
 * What a request writes: the column of each field of its schema. Fields that are kept elsewhere are taken out of the
 * schema first, by zod's own `omit`; columns that we write ourselves are added to the result.
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
