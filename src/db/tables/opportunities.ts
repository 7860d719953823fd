import { isNull, type SQL, sql } from 'drizzle-orm';
import { integer, numeric, type PgColumn, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { isActive, listIndex, recordColumns, searchDocument, searched, timestamp } from './columns.ts';
import { customers } from './customers.ts';
import { recordKeys, searchKeys, toRecord } from './organizations.ts';
import { pipelineStages } from './pipeline-stages.ts';
import type { Resource } from './resource.ts';
import { teamMembers } from './team.ts';

/** The temperature of responses: a team member's override takes precedence. */
export const reportedTemperature = (table: { temperatureOverride: PgColumn; temperature: PgColumn }): SQL =>
  sql`coalesce(${table.temperatureOverride}, ${table.temperature})`;

/** Sales leads, in a stage of the pipeline. */
export const opportunities = pgTable(
  'opportunities',
  {
    ...recordColumns(),
    title: text('title'),
    shortRef: text('short_ref'),
    destination: text('destination'),
    customerId: uuid('customer_id'),
    sellerMemberId: uuid('seller_member_id'),
    budgetMin: numeric('budget_min', { mode: 'number' }),
    budgetMax: numeric('budget_max', { mode: 'number' }),
    budgetCurrency: text('budget_currency'),
    checkInDate: text('check_in_date'),
    nights: integer('nights'),
    passengerCount: integer('passenger_count'),
    salesStage: text('sales_stage').notNull(),
    stageId: uuid('stage_id'),
    temperature: text('temperature'),
    temperatureOverride: text('temperature_override'),
    qualifiedAt: timestamp('qualified_at'),
    lastActivityAt: timestamp('last_activity_at'),
  },
  (table) => [
    ...recordKeys('opportunities', table),
    toRecord('opportunities_customer_fkey', table, table.customerId, customers),
    toRecord('opportunities_seller_member_fkey', table, table.sellerMemberId, teamMembers),
    toRecord('opportunities_stage_fkey', table, table.stageId, pipelineStages),
    listIndex('opportunities_sales_stage_idx', table, isActive, [table.salesStage], [table.stageId]),
    listIndex(
      'opportunities_of_stage_idx',
      table,
      isActive,
      [table.stageId],
      [table.salesStage, table.sellerMemberId, table.temperatureOverride, table.temperature],
    ),
    // With archived rows: an erasure looks them up too.
    listIndex('opportunities_customer_idx', table, sql`customer_id is not null`, [table.customerId]),
    listIndex('opportunities_no_customer_idx', table, sql`customer_id is null and archived_at is null`),
    listIndex(
      'opportunities_temperature_idx',
      table,
      isActive,
      [reportedTemperature(table)],
      [table.temperatureOverride, table.temperature, table.salesStage, table.stageId, table.sellerMemberId],
    ),
    listIndex(
      'opportunities_seller_idx',
      table,
      isActive,
      [table.sellerMemberId],
      [table.salesStage, table.stageId, table.temperatureOverride, table.temperature],
    ),
  ],
);

/** Search documents of opportunities: title, short reference and destination. */
export const searchableOpportunities = pgTable('searchable_opportunities', searchDocument(), (table) =>
  searchKeys('searchable_opportunities', table),
);

export const activeOpportunities = {
  table: opportunities,
  visible: isNull(opportunities.archivedAt),
  notFound: 'OPPORTUNITY_NOT_FOUND',
  isCounted: true,
  countedBy: { field: 'salesStage', name: 'opportunities.sales_stage' },
  searchDocument: searchableOpportunities,
  searchedText: searched(opportunities.title, opportunities.shortRef, opportunities.destination),
} satisfies Resource;
