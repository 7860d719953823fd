import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import {
  activeStages,
  conversations,
  customers,
  liveCustomers,
  liveOpportunities,
  liveProducts,
  newestThreads,
  type OrganizationScope,
  opportunities,
  type Params,
  pipelineStages,
  prepared,
  products,
  type Resource,
  tableName,
} from '../db/index.ts';

/** A value that the organization uses for a field; for an id also its name. */
export type KnownValue = { value: string; name?: string };

type Read = (scope: OrganizationScope) => Promise<KnownValue[]>;
type Key = { organizationId: string };

const reading = (name: string, query: ($: Params<Key>) => SQL<KnownValue>): Read => {
  const statement = prepared(name, query);
  return ({ db, organizationId }) => db.read(statement, { organizationId });
};

const MOST = sql.raw('20');

/** Distinct values by a loose index scan: the cost grows with values, not rows. */
function ofColumn(resource: Resource, column: PgColumn): Read {
  const { table, visible } = resource;
  const first = ($: Params<Key>, after: SQL): SQL => sql`
    select ${column} from ${table} where ${table.organizationId} = ${$.organizationId} and ${visible} and ${after}
    order by ${column} limit 1`;
  return reading(
    `${tableName(resource)}.known_values ${column.name}`,
    ($) => sql`
      with recursive known(value) as (
        (${first($, sql`${column} is not null`)})
        union all
        select (${first($, sql`${column} > known.value`)}) from known where known.value is not null
      )
      select value from known where value is not null limit ${MOST}`,
  );
}

/** No index has the entries of lists in order: those of the newest records will do. */
function ofEntries(resource: Resource, column: PgColumn, updatedAt: PgColumn): Read {
  const { table, visible } = resource;
  return reading(
    `${tableName(resource)}.known_values ${column.name}`,
    ($) => sql`
      select distinct entry as value from (
        select ${column} as entries from ${table}
        where ${table.organizationId} = ${$.organizationId} and ${visible}
        order by ${updatedAt} desc nulls last, ${table.id} desc nulls last limit 1000
      ) newest cross join unnest(newest.entries) entry order by entry limit ${MOST}`,
  );
}

const stages = reading(
  'pipeline_stages.known_values',
  ($) => sql`
    select ${pipelineStages.id} as value, ${pipelineStages.key} as name from ${pipelineStages}
    where ${pipelineStages.organizationId} = ${$.organizationId} and ${activeStages.visible}
    order by ${pipelineStages.position}, ${pipelineStages.id} limit ${MOST}`,
);

/** Filters whose values an agency defines, by list. */
export const KNOWN_VALUES: Readonly<Record<string, Readonly<Record<string, Read>>>> = {
  listCatalogProducts: {
    destination: ofEntries(liveProducts, products.destinations, products.updatedAt),
  },
  listCustomers: { tag: ofEntries(liveCustomers, customers.tags, customers.updatedAt) },
  listOpportunities: { salesStage: ofColumn(liveOpportunities, opportunities.salesStage), stageId: stages },
  listConversations: {
    activityState: ofColumn(newestThreads, conversations.activityState),
    channel: ofColumn(newestThreads, conversations.channel),
  },
};
