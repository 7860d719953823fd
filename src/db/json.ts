import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';

/** JSON made by PostgreSQL, as text or as its bytes, sent to the client as it is. `T` is the shape that it has. */
export type Json<T> = (string | Buffer) & { readonly _json?: T };

/** What it says, for the few that need to know. */
export const parseJson = <T>(json: Json<T>): T => JSON.parse(String(json));

/** The fields of a response object and where each comes from. */
export type Fields<T> = { [Name in keyof T]-?: PgColumn | SQL };

const aliased = (fields: Record<string, PgColumn | SQL>): SQL =>
  sql.join(
    Object.entries(fields).map(([name, source]) => sql`${source} as ${sql.identifier(name)}`),
    sql`, `,
  );

/**
 * A query of one column, `body`, with a JSON object per row.
 * @param from what follows the select list, from `from` on
 */
export const jsonRows = <T>(fields: Fields<T>, from: SQL): SQL =>
  sql`select row_to_json(item)::text as body from (select ${aliased(fields)} ${from}) item`;

/** A field that is an array of objects, one per row; empty rather than null. string_agg is faster than json_agg, and adds no spaces. */
export const jsonArray = <T>(fields: Fields<T>, from: SQL): SQL =>
  sql`(select concat('[', string_agg(row_to_json(item)::text, ','), ']')::json from (select ${aliased(fields)} ${from}) item)`;

/** A moment as `2026-11-21T08:25:00.123Z`. */
export const isoTime = (column: PgColumn | SQL): SQL =>
  sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
