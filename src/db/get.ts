import { sql } from 'drizzle-orm';
import { isId } from './ids.ts';
import { type Json, jsonRows } from './json.ts';
import { missing, nameOf, type RecordKey, recordOf, type View } from './resource.ts';
import type { OrganizationScope } from './scope.ts';
import { lookup, type Params } from './statement.ts';

/** Makes the function that reads one record by its id; it throws the resource's not-found. */
export function defineGet<T>(view: View<T>) {
  const statement = lookup(`${nameOf(view)}.get`, ($: Params<RecordKey>) =>
    jsonRows(view.fields, sql`from ${view.table} ${view.joins ?? sql``} where ${recordOf(view, $)}`),
  );

  return async ({ db, organizationId }: OrganizationScope, id: string): Promise<Json<T>> => {
    const [row] = isId(id) ? await db.read(statement, { organizationId, id }) : [];
    if (!row) throw missing(view, id);
    return row.body;
  };
}
