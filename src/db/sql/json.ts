import { is, type SQL, sql } from 'drizzle-orm';
import { type PgColumn, PgTimestamp } from 'drizzle-orm/pg-core';

declare const shape: unique symbol;

/** JSON of a `T`, as bytes. PostgreSQL made it, and the client gets it as it is. */
export type Json<T> = Buffer & { readonly [shape]: T };

/** The value itself, where the service must look into it. */
export const parseJson = <T>(json: Json<T>): T => JSON.parse(json.toString());

/** Text that is JSON of a `T`. */
export const jsonOf = <T>(text: string): Json<T> => Buffer.from(text) as Json<T>;

/** JSON of a value that the service made. */
export const toJson = <T>(value: T): Json<T> => jsonOf(JSON.stringify(value));

/** Where each field of a response comes from, in the order of the response. See `fieldsOf`. */
export type Fields<T> = { readonly [Name in keyof T]-?: PgColumn | SQL };

/** A moment as `2026-11-21T08:25:00.123Z`. */
export const isoTime = (moment: PgColumn | SQL): SQL<string> =>
  sql`to_char(${moment} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** For select lists and `returning`: each column under the name of its field; a moment is ISO 8601 text. */
export const selectList = (fields: Readonly<Record<string, PgColumn | SQL>>): SQL =>
  sql.join(
    Object.entries(fields).map(([name, source]) => {
      const value = is(source, PgTimestamp) ? isoTime(source) : source;
      return sql`${value} as ${sql.identifier(name)}`;
    }),
    sql`, `,
  );

/** One JSON object of the fields: a value of a select list. */
export const jsonRow = <T>(fields: Fields<T>): SQL<Json<T>> =>
  sql`(select row_to_json(item) from (select ${selectList(fields)}) item)`;
