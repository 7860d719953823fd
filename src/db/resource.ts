import { getTableColumns, getTableName, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { type ApiError, type ErrorCode, notFound } from '../errors.ts';
import type { Columns } from './fields.ts';
import type { Fields } from './json.ts';
import type { Params } from './statement.ts';

/** A table whose rows belong to organizations. */
export type TenantTable = PgTable & { organizationId: PgColumn; id: PgColumn };

/** Records of one kind, as the API knows them. Each stands beside its table, in schema/. */
export type Resource<Table extends TenantTable = TenantTable> = {
  readonly table: Table;
  /** What makes a row visible: lists, lookups and writes see no other. */
  readonly visible: SQL;
  /** How a missing record is answered. */
  readonly missing: { readonly code: ErrorCode; readonly noun: string };
  /** True when `live_counts` keeps the number of visible rows. */
  readonly isCounted: boolean;
  /** Where reads look; without it, records are rendered while reading. See read-row.ts. */
  readonly readRow?: ReadRow | undefined;
  /** Where searches look; without it, in the table itself. See search-row.ts. */
  readonly searchRow?: SearchRow | undefined;
};

/** A table with the body of each visible record. Its other columns are copies of the record's, for filters and order. */
export type ReadRow = TenantTable & { updatedAt: PgColumn; rendering: PgColumn; body: PgColumn };

/** A table with the folded text of each visible record. Its other columns are copies of the record's, for filters. */
export type SearchRow = {
  readonly table: TenantTable & { search: PgColumn; archivedAt: PgColumn };
  /** The fields that the folded text is made of. */
  readonly texts: readonly string[];
};

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

export const nameOf = ({ table }: Pick<Resource, 'table'>): string => getTableName(table);

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
