import { ArchivedRecord, recordView } from '../http/record-routes.ts';
import { opportunityRecord } from './repository.ts';
import {
  OpportunityPut,
  OpportunityRecord,
  OpportunityRecordListQuery,
  OpportunityUpdate,
} from './schema.ts';

export const opportunityRecords = recordView({
  schemas: {
    record: OpportunityRecord,
    query: OpportunityRecordListQuery,
    put: OpportunityPut,
    patch: OpportunityUpdate,
    archived: ArchivedRecord,
  },
  functions: opportunityRecord,
});
