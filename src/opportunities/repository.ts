import { sql } from 'drizzle-orm';
import { customerName } from '../customers/repository.ts';
import { defineGet } from '../db/define/get.ts';
import { contains, defineList, equals, newestFirst } from '../db/define/list.ts';
import {
  customers,
  liveOpportunities,
  opportunities,
  pipelineStages,
  reportedTemperature,
  teamMembers,
} from '../db/schema/index.ts';
import { fieldsOf } from '../db/sql/field-columns.ts';
import { Opportunity, OpportunityListQuery } from './schema.ts';

/** Names come from the records themselves, also when these are archived. */
export const opportunityView = {
  ...liveOpportunities,
  fields: fieldsOf(Opportunity, opportunities, {
    customerName,
    sellerName: teamMembers.name,
    stage: pipelineStages.key,
    temperature: reportedTemperature(opportunities),
  }),
  joins: sql`
    left join ${customers} on ${customers.organizationId} = ${opportunities.organizationId} and ${customers.id} = ${opportunities.customerId}
    left join ${teamMembers} on ${teamMembers.organizationId} = ${opportunities.organizationId} and ${teamMembers.id} = ${opportunities.sellerMemberId}
    left join ${pipelineStages} on ${pipelineStages.organizationId} = ${opportunities.organizationId} and ${pipelineStages.id} = ${opportunities.stageId}`,
};

export const listOpportunities = defineList(opportunityView, {
  query: OpportunityListQuery,
  order: newestFirst('updatedAt'),
  filters: {
    customerId: equals('customerId'),
    query: contains('search'),
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
