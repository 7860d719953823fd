import { defineRecord } from '../../db/define/put.ts';
import { activeMembers, activeStages, liveCustomers, opportunities } from '../../db/schema/index.ts';
import { columnsOf } from '../../db/sql/field-columns.ts';
import { opportunityView } from '../../opportunities/repository.ts';
import { OpportunityPut } from './schema.ts';

/** A PUT throws VALIDATION_FAILED naming a reference to no live record of the organization. */
export const opportunityRecord = defineRecord(opportunityView, {
  columns: columnsOf(OpportunityPut, opportunities),
  references: { customerId: liveCustomers, sellerMemberId: activeMembers, stageId: activeStages },
});
