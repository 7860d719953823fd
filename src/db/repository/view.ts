import { getTableName, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { ApiError } from '../../contract/errors.ts';
import { type Fields, type Json, selectList } from '../sql/json.ts';
import type { Params } from '../sql/statement.ts';
import type { Resource, TenantTable } from '../tables/resource.ts';

export type View<T, Table extends TenantTable = TenantTable> = Resource<Table> & {
  readonly fields: Fields<T>;
};

export type RecordKey = { organizationId: string; id: string };

/** `$.organizationId`, for fields and filters, which get no `$`. */
export const organizationParam = sql.placeholder('organizationId');

export const tableName = ({ table }: Pick<Resource, 'table'>): string => getTableName(table);

export const keyOf = (
  table: TenantTable,
  $: { organizationId: Placeholder; id: Placeholder | PgColumn },
): SQL => sql`${table.organizationId} = ${$.organizationId} and ${table.id} = ${$.id}`;

/** The row with this key, visible or not. */
export const rowOf = ({ table }: Pick<Resource, 'table'>, $: Params<RecordKey>): SQL => keyOf(table, $);

export const recordOf = (resource: Resource, $: Params<RecordKey>): SQL =>
  sql`${rowOf(resource, $)} and ${resource.visible}`;

export const selectBodies = <T>({ fields }: Pick<View<T>, 'fields'>, source: SQL): SQL<{ body: Json<T> }> =>
  sql`select row_to_json(item) as body from (select ${selectList(fields)} ${source}) item`;

/** Renders `with written as (… returning *)`: Citus accepts no `to_char` in `returning`. */
export const written = (view: { table: PgTable; fields: Fields<unknown> }): SQL =>
  selectBodies(view, sql`from written as ${view.table}`);

/** A column of the record that `reference` refers to, archived or not; null without one. */
export const named = (value: PgColumn | SQL, other: TenantTable, reference: PgColumn): SQL =>
  sql`(select ${value} from ${other} where ${other.organizationId} = ${organizationParam} and ${other.id} = ${reference})`;

/** 404 for a record that is unknown, archived or of another organization. */
export function recordNotFound({ notFound }: Pick<Resource, 'notFound'>, id: string): ApiError {
  return new ApiError(notFound, { id });
}
