import { and, getTableName, isNotNull, lt, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { z } from 'zod';
import { isId } from '../ids.ts';
import { type Json, parseJson } from '../json.ts';
import type { OrganizationScope, Queries } from '../pool/scope.ts';
import {
  as,
  type Fields,
  type Ids,
  keyIn,
  keyIs,
  qb,
  type RecordKey,
  recordIs,
  type View,
  written,
} from '../query.ts';
import { type Params, prepared, unprepared } from '../statement.ts';
import { type Resource, recordNotFound, type TenantTable } from '../tables/resource.ts';
import { defineList, type ListOptions, newestFirst } from './list.ts';

type ArchivableTable = TenantTable & { archivedAt: PgColumn };

export type Archived = { id: string; archivedAt: string };

/** The function throws the resource's not-found error, also for an archived record. */
export function defineArchive<T = Archived>(
  resource: Resource<ArchivableTable>,
  fields = { id: resource.table.id, archivedAt: resource.table.archivedAt } as unknown as Fields<T>,
) {
  const { table } = resource;
  const statement = prepared(`${getTableName(table)}.archive`, ($: Params<RecordKey>) =>
    written({ table, fields }, qb.update(table).set({ archivedAt: sql`now()` }).where(recordIs(resource, $))),
  );
  return async ({ db, organizationId }: OrganizationScope, id: string): Promise<Json<T>> => {
    const [row] = isId(id) ? await db.write(statement, { organizationId, id }) : [];
    if (!row) throw recordNotFound(resource, id);
    return row.body;
  };
}

/** Archived records too. */
export const storedOf = <T>(view: View<T, ArchivableTable>): View<T, ArchivableTable> => ({
  ...view,
  visible: sql`true`,
});

/** Archived records, which have neither search documents nor kept totals. */
export const archivedOf = <T>(view: View<T, ArchivableTable>): View<T, ArchivableTable> => ({
  ...view,
  visible: isNotNull(view.table.archivedAt),
  isCounted: false,
  searchDocument: undefined,
});

/**
 * The list of the dashboard: active records or, with `archived`, the archived ones, latest archived first.
 * @param archived the archived records, if not all can be restored, and filters that differ for them
 */
export function defineRecordList<T, Query extends z.ZodObject>(
  view: View<T, ArchivableTable>,
  options: ListOptions<Query>,
  archived: { view?: View<T, ArchivableTable>; filters?: Partial<ListOptions<Query>['filters']> } = {},
) {
  const name = getTableName(view.table);
  const list = defineList(view, { ...options, name: `${name}.list_records` });
  const listArchived = defineList(archived.view ?? archivedOf(view), {
    ...options,
    name: `${name}.list_archived`,
    order: newestFirst('archivedAt'),
    filters: { ...options.filters, ...archived.filters },
  });
  return (
    scope: OrganizationScope,
    { archived, ...query }: Parameters<typeof list>[1] & { archived?: 'true' | undefined },
  ) => (archived ? listArchived : list)(scope, query as Parameters<typeof list>[1]);
}

/** The function returns undefined if no archived record meets the condition, or if a trigger drops the update. */
export function defineRestore<T, Values extends object = Record<never, never>>(
  view: View<T, ArchivableTable>,
  condition: ($: Params<Values>) => SQL | undefined = () => undefined,
) {
  const { table } = view;
  const statement = prepared(`${getTableName(table)}.restore`, ($: Params<RecordKey & Values>) =>
    written(
      view,
      qb
        .update(table)
        .set({ archivedAt: null })
        .where(and(keyIs(table, $), isNotNull(table.archivedAt), condition($))),
    ),
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
  const { organizationId, id, archivedAt } = table;
  const dueStatement = unprepared(
    `${getTableName(table)}.due_for_purge`,
    ($: Params<{ before: string; limit: number }>) =>
      qb
        .select(as({ organizationId, id }))
        .from(table)
        .where(lt(archivedAt, $.before))
        .orderBy(archivedAt)
        .limit($.limit),
  );
  // The record may have been restored since it was read.
  const statement = prepared(`${getTableName(table)}.purge`, ($: Params<Ids & { before: string }>) =>
    written({ table, fields }, qb.delete(table).where(and(keyIn(table, $), lt(archivedAt, $.before)))),
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
