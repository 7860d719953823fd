import { sql } from 'drizzle-orm';
import { addLive } from '../define/live-count.ts';
import { organizationParam, tableName } from '../define/view.ts';
import type { OrganizationScope } from '../run/scope.ts';
import * as schema from '../schema/index.ts';
import { liveCounts } from '../schema/live-counts.ts';
import type { Resource } from '../schema/resource.ts';
import { type Params, prepared } from '../sql/statement.ts';

/** A live count that is not the number of its rows. */
export type Drift = { resource: string; counted: number; rows: number };

const isCounted = (value: unknown): value is Resource =>
  typeof value === 'object' && value !== null && 'isCounted' in value && value.isCounted === true;

const COUNTED: readonly Resource[] = (Object.values(schema) as unknown[])
  .filter(isCounted)
  .toSorted((a, b) => tableName(a).localeCompare(tableName(b)));

const rows = sql.join(
  COUNTED.map(
    (resource) =>
      sql`select ${sql.raw(`'${tableName(resource)}'`)} as resource, count(*) as live from ${resource.table}
        where ${resource.table.organizationId} = ${organizationParam} and ${resource.visible}`,
  ),
  sql` union all `,
);

/** Reads counts and rows in one snapshot. A writer changes both in one transaction, so its work shows no drift. */
const findStatement = prepared(
  'live_counts.find_drift',
  (_: Params<{ organizationId: string }>) => sql<Drift>`
    select counted_rows.resource, coalesce(counts.live, 0)::float8 as counted, counted_rows.live::float8 as rows
    from (${rows}) counted_rows left join (
      select ${liveCounts.resource} as resource, sum(${liveCounts.live}) as live from ${liveCounts}
      where ${liveCounts.organizationId} = ${organizationParam} group by ${liveCounts.resource}) counts using (resource)
    where counted_rows.live <> coalesce(counts.live, 0) order by resource`,
);

/** Compares the live counts of one organization with its rows. The service may run. */
export const findDrift = ({ db, organizationId }: OrganizationScope): Promise<Drift[]> =>
  db.read(findStatement, { organizationId });

/**
 * The same, and mends the counts. It adds the difference, as every writer adds: records that are written in the meantime
 * stay counted. Two at once would both add it: run it under the job's lock.
 */
export async function mendDrift(scope: OrganizationScope): Promise<Drift[]> {
  const { db, organizationId } = scope;
  const drifts = await findDrift(scope);
  const steps = COUNTED.flatMap((resource) =>
    drifts
      .filter((drift) => drift.resource === tableName(resource))
      .map(({ rows, counted }) => addLive(organizationId, resource, rows - counted)),
  );
  if (steps.length > 0) await db.writeTogether(steps);
  return drifts;
}
