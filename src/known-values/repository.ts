import { getTableName, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import {
  activeCustomers,
  activeOpportunities,
  activeProducts,
  activeStages,
  conversations,
  customers,
  isId,
  namesNone,
  newestThreads,
  type OrganizationScope,
  ofOrganization,
  opportunities,
  type Params,
  pipelineStages,
  prepared,
  products,
  type Resource,
  type TenantTable,
} from '../db/index.ts';

/** A value that the organization uses for a field; for an id also its name. */
export type KnownValue = { value: string; name?: string };

type Key = { organizationId: string };

export type KnownValues = {
  /** The commonest first. */
  read: (scope: OrganizationScope) => Promise<KnownValue[]>;
  /** Whether a record has the value. */
  has: (scope: OrganizationScope, value: string) => Promise<boolean>;
};

function knownValues(
  name: string,
  values: ($: Params<Key>) => SQL<KnownValue>,
  having: ($: Params<Key & { value: unknown }>) => SQL,
  toParam: (sent: string) => unknown = (sent) => sent,
): KnownValues {
  const valuesStatement = prepared(`known_values.${name}`, values);
  const hasStatement = prepared(
    `known_values.has_${name}`,
    ($: Params<Key & { value: unknown }>) =>
      sql<{ isKnown: boolean }>`select exists (${having($)}) as "isKnown"`,
  );
  return {
    read: ({ db, organizationId }) => db.read(valuesStatement, { organizationId }),
    has: async ({ db, organizationId }, sent) => {
      const [row] = await db.read(hasStatement, { organizationId, value: toParam(sent) });
      return row?.isKnown ?? false;
    },
  };
}

const MOST = sql.raw('1000');

/** The newest records: their values are counted. */
const newest = ({ table, visible }: Resource, $: Params<Key>, values: PgColumn, order: PgColumn): SQL => sql`
  select ${values} as value from ${table} where ${ofOrganization(table, $)} and ${visible}
  order by ${order} desc nulls last, ${table.id} desc nulls last limit ${MOST}`;

/** Distinct values by a loose index scan: the cost grows with values, not rows. */
function ofColumn(resource: Resource, column: PgColumn, order: PgColumn): KnownValues {
  const { table, visible } = resource;
  const first = ($: Params<Key>, after: SQL): SQL => sql`
    select ${column} from ${table} where ${ofOrganization(table, $)} and ${visible} and ${after}
    order by ${column} limit 1`;
  return knownValues(
    `${getTableName(resource.table)}_${column.name}`,
    ($) => sql`
      with recursive known(value) as (
        (${first($, sql`${column} is not null`)})
        union all
        select (${first($, sql`${column} > known.value`)}) from known where known.value is not null
      )
      select value from (select value from known where value is not null limit ${MOST}) known
        left join (select value, count(*) as count from (${newest(resource, $, column, order)}) newest group by value) counted
        using (value)
      order by count desc nulls last, value`,
    ($) =>
      sql`select from ${table} where ${ofOrganization(table, $)} and ${visible} and ${column} = ${$.value}`,
  );
}

/** No index has the entries of lists in order: those of the newest records will do. */
function ofEntries(
  resource: Resource & { searchDocument: TenantTable },
  column: PgColumn,
  order: PgColumn,
): KnownValues {
  const { searchDocument } = resource;
  return knownValues(
    `${getTableName(resource.table)}_${column.name}`,
    ($) => sql`
      select entry as value from (${newest(resource, $, column, order)}) newest cross join unnest(newest.value) entry
      group by entry order by count(*) desc, entry limit ${MOST}`,
    ($) => sql`select from ${searchDocument} where ${ofOrganization(searchDocument, $)}
      and ${sql.identifier(column.name)} @> array[${$.value}]::text[]`,
  );
}

const stages = knownValues(
  'stages',
  ($) => sql`
    select ${pipelineStages.id} as value, ${pipelineStages.key} as name from ${pipelineStages}
    where ${ofOrganization(pipelineStages, $)} and ${activeStages.visible}
    order by ${pipelineStages.position}, ${pipelineStages.id} limit ${MOST}`,
  ($) => sql`select from ${pipelineStages}
    where ${ofOrganization(pipelineStages, $)} and ${pipelineStages.id} = any(${$.value}::uuid[])`,
  (sent) => sent.split(',').filter(isId),
);

const { salesStage, updatedAt } = opportunities;
const { activityState, channel, lastMessageAt } = conversations;

/** Filters whose values an agency defines, by list. */
export const KNOWN_VALUES: Readonly<Record<string, Readonly<Record<string, KnownValues>>>> = {
  listCatalogProducts: {
    destination: ofEntries(activeProducts, products.destinations, products.updatedAt),
  },
  listCustomers: {
    tag: ofEntries(activeCustomers, customers.tags, customers.updatedAt),
  },
  listOpportunities: {
    salesStage: ofColumn(activeOpportunities, salesStage, updatedAt),
    stageId: { ...stages, has: async (scope, sent) => namesNone(sent) || stages.has(scope, sent) },
  },
  listConversations: {
    activityState: ofColumn(newestThreads, activityState, lastMessageAt),
    channel: ofColumn(newestThreads, channel, lastMessageAt),
  },
};
