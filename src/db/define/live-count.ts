import { type SQL, sql } from 'drizzle-orm';
import type { OrganizationScope } from '../run/scope.ts';
import { liveCounts } from '../schema/live-counts.ts';
import type { Resource } from '../schema/resource.ts';
import { type Params, prepared, type Step, step, unqualified } from '../sql/statement.ts';
import { organizationParam, tableName } from './view.ts';

/**
 * How many rows the unfiltered list of a resource has. Every write that changes the number updates it, so that no
 * list counts its rows.
 */

const resourceLiteral = (resource: Pick<Resource, 'table'>): SQL => sql.raw(`'${tableName(resource)}'`);

/** The total of an unfiltered list. */
export const liveTotal = (resource: Resource): SQL =>
  sql`select coalesce(sum(${liveCounts.live}), 0) as total from ${liveCounts}
    where ${liveCounts.organizationId} = ${organizationParam} and ${liveCounts.resource} = ${resourceLiteral(resource)}`;

/**
 * Each connection writes its own slot. With one row for all, simultaneous creates wait for each other's commit: in one
 * organization, over ten connections, they reached 0.61 to 0.78 of this.
 */
const slot = sql.raw('pg_backend_pid() % 16');
const key = sql`${unqualified(liveCounts.organizationId)}, ${unqualified(liveCounts.resource)}, ${unqualified(liveCounts.slot)}`;
const live = unqualified(liveCounts.live);

const addStatement = prepared(
  'live_counts.add',
  ($: Params<{ organizationId: string; resource: string; amount: number }>) => sql`
    insert into ${liveCounts} (${key}, ${live}) values (${$.organizationId}, ${$.resource}, ${slot}, ${$.amount})
    on conflict (${key}) do update set ${live} = ${liveCounts.live} + excluded.${live}`,
);

/** The step that adds to the count of a resource. */
export const addLive = (organizationId: string, resource: Resource, amount: number): Step =>
  step(addStatement, { organizationId, resource: tableName(resource), amount });

/** Adds to the count inside of a transaction. It comes late: other writers of the slot wait until the transaction ends. */
export async function addToLiveCount(
  { db, organizationId }: OrganizationScope,
  resource: Resource,
  amount: number,
): Promise<void> {
  if (amount !== 0 && resource.isCounted) await db.writeTogether([addLive(organizationId, resource, amount)]);
}

/**
 * The part of a statement that takes rows away, for as many rows as the relation `gone` has. A slot may go below zero: only
 * the sum means something.
 */
export const uncountGone = (resource: Resource): SQL =>
  sql`update ${liveCounts} set ${live} = ${liveCounts.live} - 1 from gone
    where ${liveCounts.organizationId} = ${organizationParam} and ${liveCounts.resource} = ${resourceLiteral(resource)}
      and ${liveCounts.slot} = (select min(${liveCounts.slot}) from ${liveCounts}
        where ${liveCounts.organizationId} = ${organizationParam} and ${liveCounts.resource} = ${resourceLiteral(resource)})`;
