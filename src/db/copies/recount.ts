import { sql } from 'drizzle-orm';
import { organizationParam, tableName } from '../define/view.ts';
import type { OrganizationScope } from '../run/scope.ts';
import * as schema from '../schema/index.ts';
import { liveCounts } from '../schema/live-counts.ts';
import type { Resource } from '../schema/resource.ts';
import { type Params, prepared, unqualified } from '../sql/statement.ts';

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
const drift = sql`drift as (
  select counted_rows.resource, counted_rows.live as rows, coalesce(counts.live, 0) as counted
  from (${rows}) counted_rows left join (
    select ${liveCounts.resource} as resource, sum(${liveCounts.live}) as live from ${liveCounts}
    where ${liveCounts.organizationId} = ${organizationParam} group by ${liveCounts.resource}) counts using (resource)
  where counted_rows.live <> coalesce(counts.live, 0))`;

const answer = sql<Drift>`select resource, counted::float8 as counted, rows::float8 as rows from drift order by resource`;

const findStatement = prepared(
  'live_counts.find_drift',
  (_: Params<{ organizationId: string }>) => sql<Drift>`with ${drift} ${answer}`,
);

const key = sql`${unqualified(liveCounts.organizationId)}, ${unqualified(liveCounts.resource)}, ${unqualified(liveCounts.slot)}`;
const live = unqualified(liveCounts.live);

/** Adds the difference to the count, and does not set it: records that are written in the meantime stay counted. */
const mendStatement = prepared(
  'live_counts.mend_drift',
  (_: Params<{ organizationId: string }>) => sql<Drift>`with ${drift},
    mended as (
      insert into ${liveCounts} (${key}, ${live})
      select ${organizationParam}, resource, 0, rows - counted from drift
      on conflict (${key}) do update set ${live} = ${liveCounts.live} + excluded.${live})
    ${answer}`,
);

/** Compares the live counts of one organization with its rows. The service may run. */
export const findDrift = ({ db, organizationId }: OrganizationScope): Promise<Drift[]> =>
  db.read(findStatement, { organizationId });

/** The same, and mends the counts. Two at once would both add the difference: run it under the job's lock. */
export const mendDrift = ({ db, organizationId }: OrganizationScope): Promise<Drift[]> =>
  db.write(mendStatement, { organizationId });
