import { hash } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { OrganizationScope } from '../run/scope.ts';
import type { ReadRow, Resource, TenantTable } from '../schema/resource.ts';
import { type Json, jsonRows } from '../sql/json.ts';
import { columnList, columnsFrom } from '../sql/row.ts';
import { type Params, prepared, type Statement, textOf, unprepared } from '../sql/statement.ts';
import { columnsBeside, keyOf, type RecordKey, recordOf, tableName, type View } from './view.ts';

/**
 * Read rows: beside each visible record one row with its body as a GET shows it, so that reading neither renders nor joins.
 * A write of a record begins with the record's lock, and ends in `refresh`. A body counts while it is of this release's
 * rendering. Any other record is rendered while reading (`defineRender`).
 * Measured over rendering while reading: a list of 25 products takes a quarter of PostgreSQL's processor time.
 */

/** A resource that has read rows. */
export type KeptView<T> = View<T, TenantTable & { updatedAt: PgColumn }> & { readonly readRow: ReadRow };

/** A number for the list of fields: another one for any other SQL that renders them. */
export const renderingOf = <T>({ fields }: Pick<View<T>, 'fields'>): SQL =>
  sql.raw(String(Number.parseInt(hash('sha256', textOf(jsonRows(fields, sql``))).slice(0, 7), 16)));

/** The columns that a read row copies from its record. */
export const copiesOf = (readRow: ReadRow) =>
  columnsBeside(readRow, ['organizationId', 'id', 'rendering', 'body']);

/**
 * The step that renders the record and writes its read row. It writes nothing where the row has this version and rendering,
 * or where the record is not visible. The transaction must hold the record's lock.
 */
export function refresh<T>(view: KeptView<T>): Statement<never, RecordKey> {
  const { table, readRow } = view;
  const copies = copiesOf(readRow);
  const rendering = renderingOf(view);
  return prepared(
    `${tableName(view)}.refresh`,
    ($: Params<RecordKey>) => sql<never>`
      insert into ${readRow} as kept (organization_id, id, ${columnList(copies)}, rendering, body)
      select ${table.organizationId}, ${table.id}, ${columnsFrom(tableName(view), copies)}, ${rendering}, (${jsonRows(view.fields, sql``)})
      from ${table} where ${recordOf(view, $)} and not exists (
        select from ${readRow} kept where kept.organization_id = ${$.organizationId} and kept.id = ${$.id}
          and kept.updated_at = ${table.updatedAt} and kept.rendering = ${rendering})
      on conflict (organization_id, id) do update
      set (${columnList(copies)}, rendering, body) = row(${columnsFrom('excluded', copies)}, excluded.rendering, excluded.body)`,
  );
}

/** The step that takes the read row of a record away that is no longer visible. */
export const dropReadRow = (resource: Resource, readRow: ReadRow): Statement<never, RecordKey> =>
  prepared(
    `${tableName(resource)}.drop_read_row`,
    ($: Params<RecordKey>) => sql<never>`delete from ${readRow} where ${keyOf(readRow, $)}`,
  );

/** The body in the read row, where this release's rendering made it. */
export const getBody = <T>(view: KeptView<T>): Statement<{ body: Json<T> }, RecordKey> =>
  prepared(
    `${tableName(view)}.get`,
    ($: Params<RecordKey>) => sql<{ body: Json<T> }>`
      select ${view.readRow.body} from ${view.readRow}
      where ${keyOf(view.readRow, $)} and ${view.readRow.rendering} = ${renderingOf(view)}`,
    { isShort: true },
  );

/**
 * Makes the function that renders records from their tables: the second way to read one, where its read row is of another
 * release or missing. Answers the bodies of those that are visible, by id.
 */
export function defineRender<T>(view: View<T>) {
  const { table, visible, joins = sql`` } = view;
  const statement = unprepared(
    `${tableName(view)}.render`,
    ($: Params<{ organizationId: string; ids: readonly string[] }>) => sql<{ id: string; body: Json<T> }>`
      select ${table.id}, (${jsonRows(view.fields, sql``)}) as body from ${table} ${joins}
      where ${table.organizationId} = ${$.organizationId} and ${table.id} = any(${$.ids}::uuid[]) and ${visible}`,
  );

  return async (
    { db, organizationId }: OrganizationScope,
    ids: readonly string[],
  ): Promise<Map<string, Json<T>>> => {
    const rows = await db.read(statement, { organizationId, ids });
    return new Map(rows.map(({ id, body }) => [id, body]));
  };
}
