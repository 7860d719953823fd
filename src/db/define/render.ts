import { sql } from 'drizzle-orm';
import type { OrganizationScope } from '../run/scope.ts';
import { type Json, jsonRows } from '../sql/json.ts';
import { type Params, unprepared } from '../sql/statement.ts';
import { tableName, type View } from './view.ts';

/**
 * Makes the function that renders records from their tables: the second way to read a record whose read row is of another
 * release, or missing. Answers the bodies of those that are visible, by id.
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
