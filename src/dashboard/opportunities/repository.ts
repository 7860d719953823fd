import { defineArchive } from '../../db/define/archive.ts';
import { defineLockedGet } from '../../db/define/get.ts';
import { definePut } from '../../db/define/put.ts';
import {
  activeMembers,
  activeStages,
  liveCustomers,
  liveOpportunities,
  opportunities,
} from '../../db/schema/index.ts';
import { columnsOf } from '../../db/sql/field-columns.ts';
import { getOpportunity, opportunityView } from '../../opportunities/repository.ts';
import { OpportunityPut } from './schema.ts';

/**
 * Creates the opportunity, or replaces it.
 * @throws VALIDATION_FAILED naming a reference to no live record of the organization
 */
export const putOpportunity = definePut(opportunityView, getOpportunity, {
  columns: columnsOf(OpportunityPut, opportunities),
  references: { customerId: liveCustomers, sellerMemberId: activeMembers, stageId: activeStages },
});

/** @throws OPPORTUNITY_NOT_FOUND */
export const lockOpportunity = defineLockedGet(opportunityView, getOpportunity);

/** @throws OPPORTUNITY_NOT_FOUND */
export const archiveOpportunity = defineArchive(liveOpportunities);
