import { getTableColumns, getTableName, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Columns } from './fields.ts';
import { defineKeeper, type Keeper } from './keeper.ts';
import { columnList, columnsFrom } from './record.ts';
import {
  nameOf,
  organizationParam,
  type RecordKey,
  type Resource,
  rowOf,
  type Searchable,
} from './resource.ts';
import { columnName, type Params, prepared, type Statement } from './statement.ts';

/**
 * What searches see of the records, in a narrow table beside: the folded text, and the columns of the filters that
 * can be sent with it. Every change of a record moves its `updated_at`, and then PostgreSQL puts the whole row into its
 * indexes again. The trigram index was most of that work. Now it is on a table that is written only when what is searched
 * changes.
 */

type SearchableResource = Resource & { readonly searchable: Searchable };

/** The columns that such a row copies from its record. */
function copiedColumns({ table }: Searchable): Columns {
  const { organizationId, id, ...copied } = getTableColumns(table);
  return copied;
}

/** A relation of the query as one value: SET takes it, and a comparison. */
const rowFrom = (relation: string, searchable: Searchable): SQL =>
  sql`row(${columnsFrom(relation, copiedColumns(searchable))})`;

/** Whether a write of these fields can change what a search sees. */
export const changesSearch = (
  { searchable }: Pick<Resource, 'searchable'>,
  fields: readonly string[],
): boolean =>
  searchable !== undefined &&
  fields.some((field) => searchable.texts.includes(field) || field in copiedColumns(searchable));

/** Whether searches can compare this column of the record. */
export const canSearch = (searchable: Searchable, column: PgColumn): boolean =>
  Object.values(copiedColumns(searchable)).some((copied) => columnName(copied) === columnName(column));

/** Copies these records. A copy that is there is replaced. */
function copyStatement({ table, searchable }: SearchableResource, which: SQL): SQL {
  const columns = copiedColumns(searchable);
  return sql`insert into ${searchable.table} as searchable (organization_id, id, ${columnList(columns)})
    select ${table.organizationId}, ${table.id}, ${columnsFrom(getTableName(table), columns)} from ${table} where ${which}
    on conflict (organization_id, id) do update set (${columnList(columns)}) = ${rowFrom('excluded', searchable)}`;
}

/** The step of a transaction that lets searches see a record as it is: one that was created, or restored. */
export const makeSearchable = (resource: SearchableResource): Statement<never, RecordKey> =>
  prepared(
    `${nameOf(resource)}.make_searchable`,
    ($: Params<RecordKey>) => sql<never>`${copyStatement(resource, rowOf(resource, $))}`,
  );

/**
 * The part of a statement that changes a record. It only ever updates the copy, which is there as long as the record is: a
 * statement that has waited for the record's lock does not see what was inserted while it waited.
 * @param changed names the relation that has the record as it is written
 * @param stored names one whose `record` is the locked record as it was: nothing is written when searches see both alike
 */
export function changeSearchable(searchable: Searchable, changed: string, stored?: string): SQL {
  const written = rowFrom(changed, searchable);
  const isOther = stored
    ? sql`and exists (select from ${sql.identifier(stored)}
        where ${rowFrom(`(${stored}.record)`, searchable)} is distinct from ${written})`
    : sql``;
  return sql`update ${searchable.table} searchable
    set (${columnList(copiedColumns(searchable))}) = ${written} from ${sql.identifier(changed)}
    where searchable.organization_id = ${organizationParam} and searchable.id = ${sql.identifier(changed)}.id ${isOther}`;
}

/** For jobs: finds records that searches see other than they are, and mends that. */
export function defineSearchKeeper(resource: SearchableResource): Keeper {
  const { searchable } = resource;
  const isOther = sql`(kept.id is null
    or ${rowFrom('kept', searchable)} is distinct from ${rowFrom(nameOf(resource), searchable)})`;
  return defineKeeper(resource, {
    copies: 'searchable',
    table: searchable.table,
    stale: isOther,
    where: sql`true`,
    refresh: (which) => ({ copy_searchable: copyStatement(resource, which) }),
  });
}
