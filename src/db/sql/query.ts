import {
  and,
  desc,
  eq,
  type GetColumnData,
  is,
  type Placeholder,
  type SQL,
  type SQLWrapper,
  sql,
} from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { type PgColumn, type PgTable, PgTimestampString } from 'drizzle-orm/pg-core';
import type { Resource, TenantTable } from '../tables/resource.ts';
import type { Json } from './json.ts';
import type { Params } from './statement.ts';

/** Drizzle's query builder. It has no connection: pool/ sends the statements that it composes. */
export const qb = drizzle.mock();

type Source = PgColumn | SQL;

/** The source of each field of a response, in the response's order. */
export type Fields<T> = { readonly [Name in keyof T]-?: Source };

export type View<T, Table extends TenantTable = TenantTable> = Resource<Table> & {
  readonly fields: Fields<T>;
};

/** A timestamp as `2026-11-21T08:25:00.123Z`. */
export const isoTime = (timestamp: Source): SQL<string> =>
  sql`to_char(${timestamp} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const rendered = (source: Source): Source => (is(source, PgTimestampString) ? isoTime(source) : source);

/** pg returns JSON as the bytes of a response. */
type ValueOf<Column> =
  Column extends SQL<infer Value>
    ? Value
    : Column extends PgColumn
      ? Column['_']['columnType'] extends 'PgJson'
        ? Json<GetColumnData<Column>>
        : GetColumnData<Column>
      : never;

/**
 * Selects each source under the name of its field, by which pg returns it. The inner template keeps the names of the
 * tables: Drizzle cuts them from the columns of an outer one.
 */
export function columns<Sources extends Readonly<Record<string, Source>>>(sources: Sources) {
  const fields = Object.entries(sources).map(([name, source]) => {
    const whole = sql`${sql`${rendered(source)}`}`;
    return [name, whole.as(name)];
  });
  return Object.fromEntries(fields) as { [Name in keyof Sources]: SQL.Aliased<ValueOf<Sources[Name]>> };
}

export const commaSeparated = (parts: SQLWrapper[]): SQL => sql.join(parts, sql`, `);

export const selectList = (fields: Readonly<Record<string, Source>>): SQL =>
  commaSeparated(
    Object.entries(fields).map(([name, source]) => sql`${rendered(source)} as ${sql.identifier(name)}`),
  );

export const jsonRow = <T>(fields: Fields<T>): SQL<Json<T>> =>
  sql`(select row_to_json(item) from (select ${selectList(fields)}) item)`;

/** Rows as JSON objects: a seventh cheaper for PostgreSQL than `jsonRow`. */
export function selectJson<T>(fields: Fields<T>, source: PgTable | SQL, where?: SQL, start: Selecting = qb) {
  const item = qb.select(columns(fields)).from(source).where(where).as('item');
  return start.select(columns({ body: sql<Json<T>>`row_to_json(item)` })).from(item);
}

type Selecting = Pick<ReturnType<typeof qb.with>, 'select'>;

export type RecordKey = { organizationId: string; id: string };

/** The organization is among the values of every statement of a scope. */
const organizationId = sql.placeholder('organizationId');

export const ofOrganization = (table: { organizationId: PgColumn }): SQL =>
  eq(table.organizationId, organizationId);

type Key = { id: Placeholder | PgColumn | SQL };

export const keyIs = (table: TenantTable, $: Key) => and(ofOrganization(table), eq(table.id, $.id));

export const isVisible = ({ table, visible }: Pick<Resource, 'table' | 'visible'>, $: Key) =>
  and(keyIs(table, $), visible);

export const isAnyOf = (column: PgColumn, ids: Placeholder): SQL => sql`${column} = any(${ids}::uuid[])`;

export type Ids = { organizationId: string; ids: readonly string[] };

export const keyIn = (table: TenantTable, $: Params<Ids>) =>
  and(ofOrganization(table), isAnyOf(table.id, $.ids));

/** The rows in the order of their ids, so that two transactions that lock them never deadlock. `first` come before. */
export function rowsInOrder(table: TenantTable, where: SQL | undefined, first?: SQL) {
  const { id } = table;
  const order = first ? [desc(first), id] : [id];
  return qb
    .select(columns({ id }))
    .from(table)
    .where(where)
    .orderBy(...order);
}

/** A column of the record that `reference` refers to, archived or not; null without one. */
export const named = (value: Source, other: TenantTable, reference: PgColumn): SQL =>
  sql`(select ${value} from ${other} where ${ofOrganization(other)} and ${other.id} = ${reference})`;

const ALL = { row: sql`*` };

type Write = { returning: (all: typeof ALL) => SQLWrapper };

/** The bodies of written rows. The select is around the write, because Citus accepts no `to_char` in `returning`. */
export function returningJson<T>({ table, fields }: { table: PgTable; fields: Fields<T> }, write: Write) {
  const rows = qb.$with('written', {}).as(write.returning(ALL).getSQL());
  return selectJson(fields, sql`written as ${table}`, undefined, qb.with(rows));
}

/** A value of `updated_at` that no record has: the trigger `touch_record` sets the next one, though nothing else changes. */
export const TOUCHED = sql`'-infinity'`;
