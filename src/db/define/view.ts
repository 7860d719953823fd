import { getTableColumns, getTableName, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { type ApiError, notFound } from '../../errors.ts';
import type { Resource, TenantTable } from '../schema/resource.ts';
import type { Columns } from '../sql/field-columns.ts';
import type { Fields } from '../sql/json.ts';
import type { Params } from '../sql/statement.ts';

/** A resource as a response shows it. */
export type View<T, Table extends TenantTable = TenantTable> = Resource<Table> & {
  readonly fields: Fields<T>;
  /** Tables that only `fields` need. */
  readonly joins?: SQL;
};

/** Names one record. */
export type RecordKey = { organizationId: string; id: string };

/** The placeholder of the organization's id. Every statement on a tenant table has it. */
export const organizationParam = sql.placeholder('organizationId');

export const tableName = ({ table }: Pick<Resource, 'table'>): string => getTableName(table);

/** The columns of a table beside those of these names. */
export const columnsBeside = (table: PgTable, names: readonly string[]): Columns =>
  Object.fromEntries(Object.entries(getTableColumns(table)).filter(([name]) => !names.includes(name)));

/** The row of this key in a table. */
export const keyOf = (
  table: TenantTable,
  $: { organizationId: Placeholder; id: Placeholder | PgColumn },
): SQL => sql`${table.organizationId} = ${$.organizationId} and ${table.id} = ${$.id}`;

/** The row of this key, visible or not. */
export const rowOf = ({ table }: Pick<Resource, 'table'>, $: Params<RecordKey>): SQL => keyOf(table, $);

/** The visible row of this key. */
export const recordOf = (resource: Resource, $: Params<RecordKey>): SQL =>
  sql`${rowOf(resource, $)} and ${resource.visible}`;

/** 404 for a record that is archived, belongs to another organization, or never existed. */
export const missing = ({ missing: { code, noun } }: Pick<Resource, 'missing'>, id: string): ApiError =>
  notFound(code, noun, id);
