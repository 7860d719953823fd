import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { CountedResource } from './live-count.ts';
import { conversations, customers, liveCounts, opportunities, products, quotes } from './schema/index.ts';
import type { OrganizationScope } from './scope.ts';
import { bare, prepared } from './statement.ts';

/** A live count that is not the number of its rows. */
export type Drift = { resource: CountedResource; counted: number; rows: number };

const organizationId = sql.placeholder('organizationId');

const COUNTED: Record<CountedResource, { table: PgTable & { organizationId: PgColumn }; visible: SQL }> = {
  products: { table: products, visible: sql`${products.archivedAt} is null` },
  customers: { table: customers, visible: sql`${customers.archivedAt} is null` },
  opportunities: { table: opportunities, visible: sql`${opportunities.archivedAt} is null` },
  conversations: { table: conversations, visible: sql`${conversations.continuedBy} is null` },
  quotes: { table: quotes, visible: sql`${quotes.archivedAt} is null` },
};

const rows = sql.join(
  Object.entries(COUNTED).map(
    ([resource, { table, visible }]) =>
      sql`select ${sql.raw(`'${resource}'`)} as resource, count(*) as live from ${table}
        where ${table.organizationId} = ${organizationId} and ${visible}`,
  ),
  sql` union all `,
);

/** Counts and rows in one snapshot: whoever writes changes both in one transaction, so none of them shows as drift. */
const drift = sql`drift as (
  select counted_rows.resource, counted_rows.live as rows, coalesce(counts.live, 0) as counted
  from (${rows}) counted_rows left join (
    select ${liveCounts.resource} as resource, sum(${liveCounts.live}) as live from ${liveCounts}
    where ${liveCounts.organizationId} = ${organizationId} group by ${liveCounts.resource}) counts using (resource)
  where counted_rows.live <> coalesce(counts.live, 0))`;

const answer = sql`select resource, counted::float8 as counted, rows::float8 as rows from drift order by resource`;

const findStatement = prepared<Drift, { organizationId: string }>('find_drift', sql`with ${drift} ${answer}`);

/** Adds what is missing to what is there by then, instead of setting it: writes that come between stay counted. */
const mendStatement = prepared<Drift, { organizationId: string }>(
  'mend_drift',
  sql`with ${drift},
    mended as (
      insert into ${liveCounts} (${bare(liveCounts.organizationId)}, ${bare(liveCounts.resource)}, ${bare(liveCounts.slot)}, ${bare(liveCounts.live)})
      select ${organizationId}::uuid, resource, 0, rows - counted from drift
      on conflict (${bare(liveCounts.organizationId)}, ${bare(liveCounts.resource)}, ${bare(liveCounts.slot)})
      do update set ${bare(liveCounts.live)} = ${liveCounts.live} + excluded.${bare(liveCounts.live)})
    ${answer}`,
);

/** Compares an organization's live counts with its rows, while the service runs. */
export const findDrift = ({ db, organizationId }: OrganizationScope): Promise<Drift[]> =>
  db.read(findStatement, { organizationId });

/** The same, and makes the counts right. Not twice at once: both would add what is missing. */
export const mendDrift = ({ db, organizationId }: OrganizationScope): Promise<Drift[]> =>
  db.write(mendStatement, { organizationId });
