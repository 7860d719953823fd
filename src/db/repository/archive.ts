import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { OrganizationScope, Queries } from '../pool/scope.ts';
import { isId } from '../sql/ids.ts';
import { type Fields, type Json, parseJson } from '../sql/json.ts';
import { type Params, prepared, unprepared } from '../sql/statement.ts';
import type { Resource, TenantTable } from '../tables/resource.ts';
import { type RecordKey, recordNotFound, recordOf, rowOf, tableName, type View, written } from './view.ts';
import type { Body } from './write.ts';

type ArchivableTable = TenantTable & { archivedAt: PgColumn };

export type Archived = { id: string; archivedAt: string };

/** The function throws the resource's not-found error, also for an archived record. */
export function defineArchive<T = Archived>(
  resource: Resource<ArchivableTable>,
  fields = { id: resource.table.id, archivedAt: resource.table.archivedAt } as unknown as Fields<T>,
) {
  const { table } = resource;
  const statement = prepared(
    `${tableName(resource)}.archive`,
    ($: Params<RecordKey>): SQL<Body<T>> => sql`
      with written as (update ${table} set archived_at = now() where ${recordOf(resource, $)} returning *) ${written({ table, fields })}`,
  );
  return async ({ db, organizationId }: OrganizationScope, id: string): Promise<Json<T>> => {
    const [row] = isId(id) ? await db.write(statement, { organizationId, id }) : [];
    if (!row) throw recordNotFound(resource, id);
    return row.body;
  };
}

/** The function returns undefined if no archived record meets the condition, or if a trigger drops the update. */
export function defineRestore<T, Values extends object = Record<never, never>>(
  view: View<T, ArchivableTable>,
  condition: ($: Params<Values>) => SQL = () => sql`true`,
) {
  const { table } = view;
  const statement = prepared(
    `${tableName(view)}.restore`,
    ($: Params<RecordKey & Values>): SQL<Body<T>> => sql`
      with written as (update ${table} set archived_at = null
        where ${rowOf(view, $)} and ${table.archivedAt} is not null and ${condition($)} returning *) ${written(view)}`,
  );
  return async (
    { db, organizationId }: OrganizationScope,
    id: string,
    values: Values,
  ): Promise<Json<T> | undefined> => {
    if (!isId(id)) throw recordNotFound(view, id);
    const [row] = await db.write(statement, { ...values, organizationId, id });
    return row?.body;
  };
}

/** The function deletes the oldest records first, in one statement for each organization, and returns their `fields`. */
export function definePurge<T>(resource: Resource<ArchivableTable>, fields: Fields<T>) {
  const { table } = resource;
  const dueStatement = unprepared(
    `${tableName(resource)}.due_for_purge`,
    ($: Params<{ before: string; limit: number }>): SQL<{ organizationId: string; id: string }> => sql`
      select ${table.organizationId} as "organizationId", ${table.id} from ${table}
      where ${table.archivedAt} < ${$.before}::timestamptz order by ${table.archivedAt} limit ${$.limit}`,
  );
  // The record may have been restored since it was read.
  const statement = prepared(
    `${tableName(resource)}.purge`,
    ($: Params<{ organizationId: string; ids: string[]; before: string }>): SQL<Body<T>> => sql`
      with written as (delete from ${table} where ${table.organizationId} = ${$.organizationId}
        and ${table.id} = any(${$.ids}::uuid[]) and ${table.archivedAt} < ${$.before}::timestamptz returning *) ${written({ table, fields })}`,
  );
  return async (db: Queries, before: string, limit: number): Promise<T[]> => {
    const due = await db.read(dueStatement, { before, limit });
    const purged: T[] = [];
    for (const [organizationId, rows] of Map.groupBy(due, (row) => row.organizationId)) {
      const ids = rows.map(({ id }) => id);
      const deleted = await db.write(statement, { organizationId, ids, before });
      purged.push(...deleted.map(({ body }) => parseJson(body)));
    }
    return purged;
  };
}
