import { is, type SQL, sql } from 'drizzle-orm';
import { type PgColumn, PgTimestamp } from 'drizzle-orm/pg-core';

declare const shape: unique symbol;

/** JSON of a `T`, as the bytes of a response. */
export type Json<T> = Buffer & { readonly [shape]: T };

export const parseJson = <T>(json: Json<T>): T => JSON.parse(json.toString());

export const jsonOf = <T>(text: string): Json<T> => Buffer.from(text) as Json<T>;

export const toJson = <T>(value: T): Json<T> => jsonOf(JSON.stringify(value));

/** The source of each field of a response, in the response's order. */
export type Fields<T> = { readonly [Name in keyof T]-?: PgColumn | SQL };

/** A timestamp as `2026-11-21T08:25:00.123Z`. */
export const isoTime = (timestamp: PgColumn | SQL): SQL<string> =>
  sql`to_char(${timestamp} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const fieldValue = (source: PgColumn | SQL): PgColumn | SQL =>
  is(source, PgTimestamp) ? isoTime(source) : source;

export const selectList = (fields: Readonly<Record<string, PgColumn | SQL>>): SQL =>
  sql.join(
    Object.entries(fields).map(([name, source]) => sql`${fieldValue(source)} as ${sql.identifier(name)}`),
    sql`, `,
  );

export const jsonRow = <T>(fields: Fields<T>): SQL<Json<T>> =>
  sql`(select row_to_json(item) from (select ${selectList(fields)}) item)`;
