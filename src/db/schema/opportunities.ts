import { isNull, type SQL, sql } from 'drizzle-orm';
import { index, integer, numeric, type PgColumn, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import {
  archivedAt,
  createdAt,
  folded,
  isLive,
  listOrder,
  moment,
  NO_PENDING_LIST,
  organizationId,
  updatedAt,
} from './columns.ts';
import { customers } from './customers.ts';
import { primary, toOrganization, toRecord } from './organizations.ts';
import { pipelineStages } from './pipeline-stages.ts';
import type { Resource } from './resource.ts';
import { teamMembers } from './team.ts';

/** The fields of an opportunity that `query` searches. */
export const searchedOpportunityFields = ['title', 'shortRef', 'destination'];

/** The temperature that answers show. */
export const reportedTemperature = (table: { temperatureOverride: PgColumn; temperature: PgColumn }): SQL =>
  sql`coalesce(${table.temperatureOverride}, ${table.temperature})`;

export const opportunities = pgTable(
  'opportunities',
  {
    organizationId: organizationId(),
    id: uuid().notNull(),
    title: text(),
    shortRef: text(),
    destination: text(),
    customerId: uuid(),
    sellerMemberId: uuid(),
    budgetMin: numeric({ mode: 'number' }),
    budgetMax: numeric({ mode: 'number' }),
    budgetCurrency: text(),
    checkInDate: text(),
    nights: integer(),
    passengerCount: integer(),
    salesStage: text().notNull(),
    stageId: uuid(),
    /** As the agent set it. */
    temperature: text(),
    /** Set by a team member. Where it is not null, answers show it in place of the agent's. */
    temperatureOverride: text(),
    qualifiedAt: moment(),
    lastActivityAt: moment(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
    archivedAt: archivedAt(),
    search: text().notNull().generatedAlwaysAs(folded(searchedOpportunityFields)),
  },
  (table) => [
    primary('opportunities_pkey', table),
    toOrganization('opportunities_organization_fkey', table),
    toRecord('opportunities_customer_fkey', table, table.customerId, customers),
    toRecord('opportunities_seller_member_fkey', table, table.sellerMemberId, teamMembers),
    toRecord('opportunities_stage_fkey', table, table.stageId, pipelineStages),
    // The list, in its order.
    index('opportunities_live_idx')
      .on(...listOrder(table))
      .where(isLive),
    // The list filtered by salesStage; with stageId, for both at once.
    index('opportunities_sales_stage_idx')
      .on(...listOrder(table, table.salesStage), table.stageId)
      .where(isLive),
    // The list filtered by stageId.
    index('opportunities_stage_idx')
      .on(...listOrder(table, table.stageId))
      .where(isLive),
    // The list filtered by customerId.
    index('opportunities_customer_idx')
      .on(...listOrder(table, table.customerId))
      .where(isLive),
    // The list filtered by temperature or by sellerMemberId; each with the columns of the other filters, for several at once.
    // PostgreSQL reads an index alone only where it has the columns of the expression too.
    index('opportunities_temperature_idx')
      .on(
        ...listOrder(table, reportedTemperature(table)),
        table.temperatureOverride,
        table.temperature,
        table.salesStage,
        table.stageId,
        table.sellerMemberId,
      )
      .where(isLive),
    index('opportunities_seller_idx')
      .on(
        ...listOrder(table, table.sellerMemberId),
        table.salesStage,
        table.stageId,
        table.temperatureOverride,
        table.temperature,
      )
      .where(isLive),
    // The list filtered by query.
    index('opportunities_search_idx')
      .using('gin', table.organizationId, table.search.op('gin_trgm_ops'))
      .with(NO_PENDING_LIST)
      .where(isLive),
  ],
);

/** The sales pipeline. */
export const liveOpportunities = {
  table: opportunities,
  visible: isNull(opportunities.archivedAt),
  missing: { code: 'OPPORTUNITY_NOT_FOUND', noun: 'opportunity' },
  isCounted: true,
} satisfies Resource;
