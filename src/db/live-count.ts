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
 * The step of a transaction that counts a record when it is complete.
 * @param from what gives the record's row, from `from` on
 * @param amount one integer, or null to fail
 */
export const countFrom = (resource: Resource, amount: SQL, from: SQL): SQL =>
  addTo(sql`select ${resource.table.organizationId}, ${literal(resource)}, ${slot}, ${amount} ${from}`);

/**
 * The part of a statement that takes rows away. What is visible was counted, so there is a count to update. An insert
 * beside other parts would make the statement several tasks on a cluster.
 * @param amount a query that gives how many. It must read the CTEs that can wait: the count's row is then locked last
 */
export const uncountLive = (resource: Resource, amount: SQL): SQL => {
  const counts = sql`${liveCounts.organizationId} = ${organizationParam} and ${liveCounts.resource} = ${literal(resource)}`;
  return sql`update ${liveCounts} set ${live} = ${liveCounts.live} - gone.amount
    from (${amount}) gone(amount)
    where ${counts} and gone.amount > 0 and ${liveCounts.slot} = (
      select ${liveCounts.slot} from ${liveCounts} where ${counts}
      order by (${liveCounts.slot} + ${sql.raw(String(SLOTS))} - ${slot}) % ${sql.raw(String(SLOTS))} limit 1)`;
};

/** The slot that `startCount` makes. */
const FIRST_SLOT = sql.raw('0');

/** A condition on `live_counts` for one row of the organization, there from the first count on. */
export const countOf = (resource: Resource): SQL =>
  sql`${liveCounts.organizationId} = ${organizationParam} and ${liveCounts.resource} = ${literal(resource)}
    and ${liveCounts.slot} = ${FIRST_SLOT}`;

const startStatement = prepared(
  'live_counts.start',
  ($: Params<{ organizationId: string; resource: string }>) => sql`
    insert into ${liveCounts} (${key}, ${live}) values (${$.organizationId}::uuid, ${$.resource}, ${FIRST_SLOT}, 0)
    on conflict do nothing`,
);

/** Makes the row of `countOf` where there is none. */
export async function startCount(
  { db, organizationId }: OrganizationScope,
  resource: Resource,
): Promise<void> {
  await db.write(startStatement, { organizationId, resource: nameOf(resource) });
}

/** The step of a transaction that adds to the count of a resource. */
export const addLive = prepared(
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
  await db.write(addLive, { organizationId, resource: nameOf(resource), amount });
}
