import { ArchivedRecord, recordView } from '../http/record-routes.ts';
import { teamMemberRecord } from './repository.ts';
import { TeamMemberPut, TeamMemberRecord, TeamMemberRecordListQuery, TeamMemberUpdate } from './schema.ts';

const USER_TAKEN = ['TEAM_MEMBER_USER_TAKEN'] as const;

export const teamMemberRecords = recordView({
  schemas: {
    record: TeamMemberRecord,
    query: TeamMemberRecordListQuery,
    put: TeamMemberPut,
    patch: TeamMemberUpdate,
    archived: ArchivedRecord,
  },
  functions: teamMemberRecord,
  codes: { put: USER_TAKEN, update: USER_TAKEN, restore: USER_TAKEN },
});

/** `/team`, as in `/v1`. */
export const teamRecords = recordView({
  schemas: { record: TeamMemberRecord, query: TeamMemberRecordListQuery },
  functions: { list: teamMemberRecord.list },
});
