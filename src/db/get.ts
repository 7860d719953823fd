import { sql } from 'drizzle-orm';
import { builder, named } from './builder.ts';
import { isId } from './ids.ts';
import { type Json, jsonRows } from './json.ts';
import { missing, nameOf, type RecordKey, recordOf, type View } from './resource.ts';
import type { OrganizationScope } from './scope.ts';
import { lookup, type Params, prepared } from './statement.ts';
import { storedBody } from './stored-body.ts';

/**
 * Makes the function that reads a record as it is now and keeps it so until the transaction ends; it throws the resource's
 * not-found.
 */
export function defineLockedGet<T>(
  view: View<T>,
  get: (scope: OrganizationScope, id: string) => Promise<Json<T>>,
) {
  const statement = prepared(`${nameOf(view)}.lock_record`, ($: Params<RecordKey>) =>
    builder
      .select(named({ id: view.table.id }))
      .from(view.table)
      .where(recordOf(view, $))
      .for('update'),
  );

  return async (scope: OrganizationScope, id: string): Promise<Json<T>> => {
    const { db, organizationId } = scope;
    if (isId(id)) await db.write(statement, { organizationId, id });
    // Read after the lock was waited for: the statement that waits sees the record as it was before.
    return get(scope, id);
  };
}

/** Makes the function that reads one record by its id. It throws the resource's not-found. */
export function defineGet<T>(view: View<T>) {
  const statement = lookup(`${nameOf(view)}.get`, ($: Params<RecordKey>) =>
    view.bodies
      ? sql<{ body: Json<T> }>`select ${storedBody(view, nameOf(view), jsonRows(view.fields, sql``))} as body
          from ${view.table} where ${recordOf(view, $)}`
      : jsonRows(view.fields, sql`from ${view.table} ${view.joins ?? sql``} where ${recordOf(view, $)}`),
  );

  return async ({ db, organizationId }: OrganizationScope, id: string): Promise<Json<T>> => {
    const [row] = isId(id) ? await db.read(statement, { organizationId, id }) : [];
    if (!row) throw missing(view, id);
    return row.body;
  };
}
