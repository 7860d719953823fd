import { sql } from 'drizzle-orm';
import type { OrganizationScope } from '../run/scope.ts';
import type { Resource } from '../schema/resource.ts';
import { isId } from '../sql/ids.ts';
import { type Json, jsonRows } from '../sql/json.ts';
import { type Params, prepared, type Statement } from '../sql/statement.ts';
import { defineRender, getBody, type KeptView } from './read-row.ts';
import { missing, type RecordKey, recordOf, rowOf, tableName, type View } from './view.ts';

/**
 * The step that locks a record, visible or not, until the transaction ends. A write begins with it: the steps after it see
 * what was committed before the lock.
 */
export const lock = (resource: Resource): Statement<unknown, RecordKey> =>
  prepared(
    `${tableName(resource)}.lock`,
    ($: Params<RecordKey>) => sql`select from ${resource.table} where ${rowOf(resource, $)} for update`,
  );

type Get<T> = (scope: OrganizationScope, id: string) => Promise<Json<T>>;

/**
 * Makes the function that locks a record until the transaction ends, and reads it. It throws the resource's not-found.
 */
export function defineLockedGet<T>(view: View<T>, get: Get<T>): Get<T> {
  const statement = lock(view);
  return async (scope, id) => {
    const { db, organizationId } = scope;
    if (isId(id)) await db.write(statement, { organizationId, id });
    return get(scope, id);
  };
}

/** The body of a visible record, rendered while reading. */
export const getRecord = <T>(view: View<T>): Statement<{ body: Json<T> }, RecordKey> =>
  prepared(
    `${tableName(view)}.get`,
    ($: Params<RecordKey>) =>
      jsonRows(view.fields, sql`from ${view.table} ${view.joins ?? sql``} where ${recordOf(view, $)}`),
    { isShort: true },
  );

/** Makes the function that reads one record by its id. It throws the resource's not-found. */
export function defineGet<T>(view: View<T>): Get<T> {
  const statement = getRecord(view);
  return async ({ db, organizationId }, id) => {
    const [row] = isId(id) ? await db.read(statement, { organizationId, id }) : [];
    if (!row) throw missing(view, id);
    return row.body;
  };
}

/** The same for a resource that has read rows. */
export function defineKeptGet<T>(view: KeptView<T>): Get<T> {
  const statement = getBody(view);
  const render = defineRender(view);
  return async (scope, id) => {
    const { db, organizationId } = scope;
    if (!isId(id)) throw missing(view, id);
    const [row] = await db.read(statement, { organizationId, id });
    const body = row?.body ?? (await render(scope, [id])).get(id.toLowerCase());
    if (body === undefined) throw missing(view, id);
    return body;
  };
}
