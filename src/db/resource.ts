import { getTableName, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { type ApiError, type ErrorCode, notFound } from '../errors.ts';
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
  /** Where searches look; without it, in the table itself. */
  readonly searchable?: Searchable | undefined;
};

/**
 * A table with a row for each record: the folded text that `query` searches, and what `visible` and the other filters read. It
 * has the names of the columns in the record's table, and is a copy of them.
 */
export type Searchable = {
  readonly table: TenantTable;
  /** The fields that the folded text is made of. */
  readonly texts: readonly string[];
};

/** A resource as a response shows it. */
export type View<T, Table extends TenantTable = TenantTable> = Resource<Table> & {
  readonly fields: Fields<T>;
  /** Tables that only `fields` need. */
  readonly joins?: SQL;
  /** Where bodies are kept; without it, they are rendered while reading. */
  readonly bodies?: TenantTable;
};

/** Names one record. */
export type RecordKey = { organizationId: string; id: string };

/** The placeholder of the organization's id. Every statement on a tenant table has it. */
export const organizationParam = sql.placeholder('organizationId');

export const nameOf = ({ table }: Pick<Resource, 'table'>): string => getTableName(table);

/** The row of this key, visible or not. */
export const rowOf = ({ table }: Pick<Resource, 'table'>, $: Params<RecordKey>): SQL =>
  sql`${table.organizationId} = ${$.organizationId} and ${table.id} = ${$.id}`;

/** The visible row of this key. */
export const recordOf = (resource: Resource, $: Params<RecordKey>): SQL =>
  sql`${rowOf(resource, $)} and ${resource.visible}`;

/** 404 for a record that is archived, belongs to another organization, or never existed. */
export const missing = ({ missing: { code, noun } }: Pick<Resource, 'missing'>, id: string): ApiError =>
  notFound(code, noun, id);

/**
 * A CTE with the name of a table. The table's columns then read the rows that the query has just written, and with
 * them the fields of a response.
 */
export const inPlaceOf = (table: PgTable, query: SQL): SQL =>
  sql`${sql.identifier(getTableName(table))} as (${query})`;
