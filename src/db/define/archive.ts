import { sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { OrganizationScope } from '../run/scope.ts';
import type { Resource, TenantTable } from '../schema/resource.ts';
import { isId } from '../sql/ids.ts';
import { type Fields, isoTime, type Json, jsonRows } from '../sql/json.ts';
import { type Params, prepared, type Statement, step } from '../sql/statement.ts';
import { lock } from './get.ts';
import { uncountGone } from './live-count.ts';
import { dropReadRow } from './read-row.ts';
import { dropSearchRow } from './search-row.ts';
import { missing, type RecordKey, recordOf, tableName } from './view.ts';

export type Archived = { id: string; archivedAt: string };

type ArchiveOptions<T> = {
  /** The fields of the answer, from `gone`: the row of the archived record. */
  fields?: Fields<T>;
  /** Steps that follow, for rows that go with the record. They do nothing where nothing was archived. */
  after?: readonly Statement<unknown, RecordKey>[];
};

/**
 * Makes the function that archives a record: it leaves lists and lookups, and the count. It throws the resource's
 * not-found, also for a record that is archived already.
 */
export function defineArchive<T = Archived>(
  resource: Resource<TenantTable & { archivedAt: PgColumn }>,
  { fields, after = [] }: ArchiveOptions<T> = {},
) {
  const { table, readRow, searchRow, isCounted } = resource;
  const lockStatement = lock(resource);
  const shown = (fields ?? { id: sql`gone.id`, archivedAt: isoTime(sql`gone.archived_at`) }) as Fields<T>;
  const statement = prepared(
    `${tableName(resource)}.archive`,
    ($: Params<RecordKey>) => sql<{ body: Json<T> }>`with
      gone as (update ${table} set archived_at = now() where ${recordOf(resource, $)} returning ${table.id}, ${table.archivedAt})
      ${isCounted ? sql`, uncounted as (${uncountGone(resource)})` : sql``}
      ${jsonRows(shown, sql`from gone`)}`,
  );
  const others = [
    ...after,
    ...(searchRow ? [dropSearchRow(resource, searchRow)] : []),
    ...(readRow ? [dropReadRow(resource, readRow)] : []),
  ];

  return async ({ db, organizationId }: OrganizationScope, id: string): Promise<Json<T>> => {
    if (!isId(id)) throw missing(resource, id);
    const key = { organizationId, id };
    const steps = others.map((each) => step(each, key));
    const [, [gone]] = await db.writeTogether([step(lockStatement, key), step(statement, key), ...steps]);
    if (!gone) throw missing(resource, id);
    return gone.body;
  };
}
