import { is, type SQL, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { type PgColumn, PgTimestamp } from 'drizzle-orm/pg-core';
import { isoTime } from './json.ts';

/** Drizzle's query builder, to compose statements with. It has no connection: statements are run by the verbs of `Queries`. */
export const builder = drizzle.mock({ casing: 'snake_case' });

/** Columns for `select` and `returning`, each under the name that it has in the result; moments in ISO 8601. */
export const named = <Source extends Record<string, PgColumn>>(
  columns: Source,
): { [Name in keyof Source]: SQL.Aliased<JsonOf<Source[Name]['_']['data']> | NullOf<Source[Name]>> } =>
  Object.fromEntries(
    Object.entries(columns).map(([name, column]) => [
      name,
      (is(column, PgTimestamp) ? isoTime(column) : sql`${column}`).as(name),
    ]),
  ) as never;

/** A moment is told as text. */
type JsonOf<Data> = Data extends Date ? string : Data;

type NullOf<Column extends PgColumn> = Column['_']['notNull'] extends true ? never : null;
