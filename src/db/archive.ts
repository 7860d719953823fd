import { sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { isId } from './ids.ts';
import { type Json, jsonRows } from './json.ts';
import { uncountLive } from './live-count.ts';
import {
  inPlaceOf,
  missing,
  nameOf,
  type RecordKey,
  type Resource,
  recordOf,
  type TenantTable,
} from './resource.ts';
import type { OrganizationScope } from './scope.ts';
import { changeSearchable } from './searchable.ts';
import { type Params, rendered } from './statement.ts';

export type Archived = { id: string; archivedAt: string };

/**
 * Makes the function that archives a record. It throws the resource's not-found, also for a record that is archived
 * already.
 */
export function defineArchive(resource: Resource<TenantTable & { archivedAt: PgColumn }>) {
  const { table } = resource;
  const name = nameOf(resource);
  const statement = rendered(
    `${name}.archive`,
    ($: Params<RecordKey>) => sql<{ body: Json<Archived> }>`with
      ${inPlaceOf(table, sql`update ${table} set archived_at = now() where ${recordOf(resource, $)} returning *`)}
      ${resource.searchable ? sql`, searched as (${changeSearchable(resource.searchable, name)})` : sql``}
      ${
        resource.isCounted
          ? sql`, counted as (${uncountLive(resource, sql`select count(*) from ${sql.identifier(name)}`)})`
          : sql``
      }
      ${jsonRows<Archived>({ id: table.id, archivedAt: table.archivedAt }, sql`from ${sql.identifier(name)}`)}`,
  );

  return async ({ db, organizationId }: OrganizationScope, id: string): Promise<Json<Archived>> => {
    const [row] = isId(id) ? await db.write(statement, { organizationId, id }) : [];
    if (!row) throw missing(resource, id);
    return row.body;
  };
}
