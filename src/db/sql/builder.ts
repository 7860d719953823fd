import { is, type SQL, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { type PgColumn, PgTimestamp } from 'drizzle-orm/pg-core';
import { isoTime } from './json.ts';

/** Drizzle's query builder, for composing statements only: it has no connection. `Queries` runs them. */
export const builder = drizzle.mock({ casing: 'snake_case' });

/** Columns for `select` and `returning`. Each is named as in the result; a moment becomes ISO 8601 text. */
export const named = <Source extends Record<string, PgColumn>>(
  columns: Source,
): { [Name in keyof Source]: SQL.Aliased<JsonOf<Source[Name]['_']['data']> | NullOf<Source[Name]>> } =>
  Object.fromEntries(
    Object.entries(columns).map(([name, column]) => [
      name,
      (is(column, PgTimestamp) ? isoTime(column) : sql`${column}`).as(name),
    ]),
  ) as never;

/** A moment becomes text. */
type JsonOf<Data> = Data extends Date ? string : Data;

type NullOf<Column extends PgColumn> = Column['_']['notNull'] extends true ? never : null;
