import { sql } from 'drizzle-orm';
import { customerName } from '../customers/repository.ts';
import { defineGet } from '../db/define/get.ts';
import { contains, defineList, equals, newestFirst } from '../db/define/list.ts';
import { defineRecord } from '../db/define/put.ts';
import { named } from '../db/define/view.ts';
import {
  activeMembers,
  activeStages,
  customers,
  liveCustomers,
  liveOpportunities,
  opportunities,
  pipelineStages,
  reportedTemperature,
  teamMembers,
} from '../db/schema/index.ts';
import { columnsOf, fieldsOf } from '../db/sql/field-columns.ts';
import { Opportunity, OpportunityListQuery, OpportunityPut } from './schema.ts';

/** Names come from the records themselves, also when these are archived. */
export const opportunityView = {
  ...liveOpportunities,
  fields: fieldsOf(Opportunity, opportunities, {
    customerName: named(customerName, customers, opportunities.customerId),
    sellerName: named(teamMembers.name, teamMembers, opportunities.sellerMemberId),
    stage: named(pipelineStages.key, pipelineStages, opportunities.stageId),
    temperature: reportedTemperature(opportunities),
  }),
};

export const listOpportunities = defineList(opportunityView, {
  query: OpportunityListQuery,
  order: newestFirst('updatedAt'),
  filters: {
    customerId: equals('customerId'),
    query: contains(),
    salesStage: equals('salesStage'),
    sellerMemberId: equals('sellerMemberId'),
    stageId: equals('stageId'),
    temperature: {
      field: 'temperature',
      where: (_column, value) => sql`${reportedTemperature(opportunities)} = ${value}`,
    },
  },
});

/** @throws OPPORTUNITY_NOT_FOUND */
export const getOpportunity = defineGet(opportunityView);

/** A PUT throws VALIDATION_FAILED naming a reference to no live record of the organization. */
export const opportunityRecord = defineRecord(opportunityView, {
  columns: columnsOf(OpportunityPut, opportunities),
  references: { customerId: liveCustomers, sellerMemberId: activeMembers, stageId: activeStages },
});
