import { defineArchive, definePut, type Put } from '../../db/put.ts';
import { writable } from '../../db/record.ts';
import { customers, opportunities, pipelineStages, teamMembers } from '../../db/schema/index.ts';
import type { OrganizationScope } from '../../db/scope.ts';
import { opportunityFields, opportunityJoins } from '../../opportunities/repository.ts';
import type { Opportunity } from '../../opportunities/schema.ts';
import type { OpportunityPut } from './schema.ts';

const put = definePut<Opportunity>({
  table: opportunities,
  fields: opportunityFields,
  joins: opportunityJoins,
  columns: writable({
    title: opportunities.title,
    shortRef: opportunities.shortRef,
    destination: opportunities.destination,
    customerId: opportunities.customerId,
    sellerMemberId: opportunities.sellerMemberId,
    budgetMin: opportunities.budgetMin,
    budgetMax: opportunities.budgetMax,
    budgetCurrency: opportunities.budgetCurrency,
    checkInDate: opportunities.checkInDate,
    nights: opportunities.nights,
    passengerCount: opportunities.passengerCount,
    salesStage: opportunities.salesStage,
    stageId: opportunities.stageId,
    temperature: opportunities.temperature,
    temperatureOverride: opportunities.temperatureOverride,
    qualifiedAt: opportunities.qualifiedAt,
    lastActivityAt: opportunities.lastActivityAt,
  }),
  references: {
    customerId: {
      column: opportunities.customerId,
      to: customers,
      foreignKey: 'opportunities_customer_fkey',
    },
    sellerMemberId: {
      column: opportunities.sellerMemberId,
      to: teamMembers,
      foreignKey: 'opportunities_seller_member_fkey',
    },
    stageId: {
      column: opportunities.stageId,
      to: pipelineStages,
      foreignKey: 'opportunities_stage_fkey',
    },
  },
  counted: 'opportunities',
});

/**
 * Creates the opportunity, or replaces it.
 * @throws VALIDATION_FAILED naming a reference to no live record of the organization
 */
export const putOpportunity = (
  scope: OrganizationScope,
  id: string,
  input: OpportunityPut,
): Promise<Put<Opportunity>> => put(scope, id, input);

/** @throws OPPORTUNITY_NOT_FOUND */
export const archiveOpportunity = defineArchive({
  table: opportunities,
  counted: 'opportunities',
  missing: { code: 'OPPORTUNITY_NOT_FOUND', what: 'opportunity' },
});
