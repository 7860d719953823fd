import { getTableName, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Columns } from './fields.ts';
import type { Json } from './json.ts';
import { columnList, columnsFrom, nextUpdatedAt } from './record.ts';
import { nameOf, type RecordKey, recordOf, rowOf, type TenantTable, type View } from './resource.ts';
import { type Params, rendered, type Statement } from './statement.ts';
import { renderAndKeep } from './stored-body.ts';

export type PatchValues = RecordKey & {
  /** A JSON object of columns; see `toRecord`. */
  patch: string;
  /** True when rows that belong to the record have changed: it then counts as changed too. */
  relatedChanged: boolean;
};

/**
 * Composes the statement that merges a JSON object over a record, and renders the result. It writes a row only when
 * something differs, and only then `updatedAt` moves. It returns no row when the record does not exist.
 * @param columns what the patch may change
 */
export function patchStatement<T>(
  view: View<T, TenantTable & { updatedAt: PgColumn }>,
  columns: Columns,
  name = `${nameOf(view)}.update`,
): Statement<{ body: Json<T> }, PatchValues> {
  const { table } = view;
  return rendered(
    name,
    ($: Params<PatchValues>) => sql<{ body: Json<T> }>`with
      stored as (select ${table} as record from ${table} where ${recordOf(view, $)} for update),
      patched as (select input.* from stored, jsonb_populate_record(stored.record, ${$.patch}::jsonb) input),
      changed as (
        update ${table} set (${columnList(columns)}) = row(${columnsFrom('patched', columns)}),
          updated_at = ${nextUpdatedAt(table.updatedAt)}
        from stored, patched
        where ${recordOf(view, $)} and (${$.relatedChanged}::boolean
          or row(${columnsFrom('(stored.record)', columns)}) is distinct from row(${columnsFrom('patched', columns)}))
        returning ${table}.*)
      ${renderAndKeep(
        view,
        sql`from (select * from changed union all
          select (record).* from stored where not exists (select from changed)) ${sql.identifier(getTableName(table))}`,
        // Who waited for the lock has seen the record's children as they were before: what it renders is not kept.
        sql`exists (select from changed)
          and (select ${table.updatedAt} from ${table} where ${rowOf(view, $)}) = (select (record).updated_at from stored)`,
      )}`,
  );
}
