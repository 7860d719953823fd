import { getTableName, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Columns } from './fields.ts';
import { isId } from './ids.ts';
import type { Json } from './json.ts';
import { columnList, columnsFrom, nextUpdatedAt, type Storable, toRecord } from './record.ts';
import { missing, nameOf, type RecordKey, recordOf, rowOf, type TenantTable, type View } from './resource.ts';
import type { OrganizationScope } from './scope.ts';
import { changeSearchable, changesSearch } from './searchable.ts';
import { type Params, rendered, type Statement } from './statement.ts';
import { renderAndKeep } from './stored-body.ts';

type PatchedView<T> = View<T, TenantTable & { updatedAt: PgColumn }>;

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
  view: PatchedView<T>,
  columns: Columns,
  name: string,
): Statement<{ body: Json<T> }, PatchValues> {
  const { table, searchable } = view;
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
      ${searchable && changesSearch(view, Object.keys(columns)) ? sql`, searched as (${changeSearchable(searchable, 'changed', 'stored')})` : sql``}
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

/**
 * Makes the function that changes the fields which a body has; null clears one. Values equal to the stored ones change
 * nothing. It throws the resource's not-found.
 */
export function definePatch<T, Name extends string>(
  view: PatchedView<T>,
  columns: Columns<Name>,
  name = `${nameOf(view)}.update`,
) {
  const statement = patchStatement(view, columns, name);
  // A statement that names no searched column leaves the texts where they are: PostgreSQL writes and folds none again.
  const unsearched = Object.fromEntries(
    Object.entries(columns as Columns).filter(([field]) => !changesSearch(view, [field])),
  );
  const isAll = Object.keys(unsearched).length === Object.keys(columns).length;
  const unsearchedStatement = isAll ? statement : patchStatement(view, unsearched, `${name}_unsearched`);

  /** @param relatedChanged true when rows that belong to the record have changed */
  return async <Body extends object>(
    { db, organizationId }: OrganizationScope,
    id: string,
    input: Storable<Body, Name>,
    relatedChanged = false,
  ): Promise<Json<T>> => {
    const patch = JSON.stringify(toRecord(columns, input));
    const chosen = Object.keys(input).every((field) => field in unsearched) ? unsearchedStatement : statement;
    const [row] = isId(id) ? await db.write(chosen, { organizationId, id, patch, relatedChanged }) : [];
    if (!row) throw missing(view, id);
    return row.body;
  };
}
