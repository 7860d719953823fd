import { type SQL, sql } from 'drizzle-orm';
import { liveCounts } from './schema/index.ts';
import { bare } from './statement.ts';

/** What is counted: the rows that the unfiltered list of the resource shows. */
export type CountedResource = 'products' | 'customers' | 'opportunities' | 'conversations' | 'quotes';

/** The total of an unfiltered list, without counting its rows. */
export const liveTotal = (resource: CountedResource): SQL =>
  sql`select coalesce(sum(${liveCounts.live}), 0) from ${liveCounts}
    where ${liveCounts.organizationId} = ${sql.placeholder('organizationId')} and ${liveCounts.resource} = ${resource}`;

const SLOTS = 16;

/**
 * The part of a writing statement that keeps the live count true: it adds `change`, an integer expression, and touches
 * nothing where that is 0. `change` should read the CTEs that can fail or wait, so that the count's row is locked last.
 */
export const countLive = (resource: CountedResource, change: SQL): SQL =>
  sql`insert into ${liveCounts} (${bare(liveCounts.organizationId)}, ${bare(liveCounts.resource)}, ${bare(liveCounts.slot)}, ${bare(liveCounts.live)})
    select ${sql.placeholder('organizationId')}::uuid, ${sql.raw(`'${resource}'`)}, pg_backend_pid() % ${sql.raw(String(SLOTS))}, change.amount
    from (select (${change})::bigint as amount) change where change.amount <> 0
    on conflict (${bare(liveCounts.organizationId)}, ${bare(liveCounts.resource)}, ${bare(liveCounts.slot)})
    do update set ${bare(liveCounts.live)} = ${liveCounts.live} + excluded.${bare(liveCounts.live)}`;
