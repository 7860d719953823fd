import { type SQL, sql } from 'drizzle-orm';
import { nameOf, organizationParam, type Resource } from './resource.ts';
import { liveCounts } from './schema/live-counts.ts';
import type { OrganizationScope } from './scope.ts';
import { type Params, prepared, unqualified } from './statement.ts';

/**
 * How many rows the unfiltered list of a resource has. Every write that changes the number updates it, so that no
 * list counts its rows.
 */

const literal = (resource: Pick<Resource, 'table'>): SQL => sql.raw(`'${nameOf(resource)}'`);

/** The total of an unfiltered list. */
export const liveTotal = (resource: Resource): SQL =>
  sql`select coalesce(sum(${liveCounts.live}), 0) from ${liveCounts}
    where ${liveCounts.organizationId} = ${organizationParam} and ${liveCounts.resource} = ${literal(resource)}`;

/** Each connection writes its own slot. Simultaneous creates then do not wait for one row. */
const SLOTS = 16;

const slot = sql.raw(`pg_backend_pid() % ${SLOTS}`);
const key = sql`${unqualified(liveCounts.organizationId)}, ${unqualified(liveCounts.resource)}, ${unqualified(liveCounts.slot)}`;
const live = unqualified(liveCounts.live);

const addTo = (rows: SQL): SQL =>
  sql`insert into ${liveCounts} (${key}, ${live}) ${rows}
    on conflict (${key}) do update set ${live} = ${liveCounts.live} + excluded.${live}`;

/** What a statement violates whose change is null. */
export const LIVE_COUNT_MISSING = 'live_counts.live';

/**
 * The part of a writing statement that keeps the count right.
 * @param change a query that gives one integer, or null to fail. It must read the CTEs that can fail or wait: the count's row is then
 * locked last.
 */
export const countLive = (resource: Resource, change: SQL): SQL =>
  addTo(sql`select ${organizationParam}::uuid, ${literal(resource)}, ${slot}, change.amount
    from (select (${change})::bigint as amount) change where change.amount is distinct from 0`);

const addStatement = prepared(
  'live_counts.add',
  ($: Params<{ organizationId: string; resource: string; amount: number }>) =>
    addTo(sql`values (${$.organizationId}::uuid, ${$.resource}, ${slot}, ${$.amount}::bigint)`),
);

/**
 * The same as a step of a transaction. It comes last, before the reading, because other writers wait for this row.
 */
export async function addToLiveCount(
  { db, organizationId }: OrganizationScope,
  resource: Resource,
  amount: number,
): Promise<void> {
  if (amount === 0 || !resource.isCounted) return;
  await db.write(addStatement, { organizationId, resource: nameOf(resource), amount });
}
