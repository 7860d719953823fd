import { sql } from 'drizzle-orm';
import type { Resource, SearchRow } from '../schema/resource.ts';
import type { Columns } from '../sql/field-columns.ts';
import { columnList, columnsFrom } from '../sql/row.ts';
import { type Params, prepared, type Statement } from '../sql/statement.ts';
import { columnsBeside, keyOf, type RecordKey, recordOf, tableName } from './view.ts';

/**
 * Search rows: beside each visible record one narrow row with its searched text and filters. Every change of a record moves its
 * `updated_at`; a search row is written only when the searched text or a filter changes, so that no other change
 * writes the trigram index.
 */

export type Searched = Resource & { readonly searchRow: SearchRow };

/** The columns that a search row copies from its record. */
export const searchedColumns = ({ table }: SearchRow): Columns =>
  columnsBeside(table, ['organizationId', 'id']);

/** Whether a write of these fields can change what a search sees. */
export const isSearched = (searchRow: SearchRow | undefined, fields: readonly string[]): boolean =>
  searchRow !== undefined &&
  fields.some((field) => searchRow.texts.includes(field) || field in searchedColumns(searchRow));

/** The step that writes the search row from the record. It writes nothing where both agree. */
export function putSearchRow(resource: Searched): Statement<never, RecordKey> {
  const { table, searchRow } = resource;
  const columns = searchedColumns(searchRow);
  const [kept, excluded] = [columnsFrom('kept', columns), columnsFrom('excluded', columns)];
  return prepared(
    `${tableName(resource)}.put_search_row`,
    ($: Params<RecordKey>) => sql<never>`
      insert into ${searchRow.table} as kept (organization_id, id, ${columnList(columns)})
      select ${table.organizationId}, ${table.id}, ${columnsFrom(tableName(resource), columns)} from ${table}
      where ${recordOf(resource, $)}
      on conflict (organization_id, id) do update set (${columnList(columns)}) = row(${excluded})
      where row(${kept}) is distinct from row(${excluded})`,
  );
}

/** The step that takes the search row of a record away that is not visible. */
export const dropSearchRow = (resource: Resource, { table }: SearchRow): Statement<never, RecordKey> =>
  prepared(
    `${tableName(resource)}.drop_search_row`,
    ($: Params<RecordKey>) => sql<never>`delete from ${table} where ${keyOf(table, $)}`,
  );
