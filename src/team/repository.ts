import { ApiError } from '../contract/errors.ts';
import {
  activeMembers,
  columnsOf,
  defineList,
  defineRecord,
  equals,
  oldestFirst,
  recordFilters,
  teamMembers,
  viewOf,
} from '../db/index.ts';
import {
  TeamMember,
  TeamMemberListQuery,
  TeamMemberPut,
  TeamMemberRecord,
  TeamMemberRecordListQuery,
} from './schema.ts';

export const memberView = viewOf(activeMembers, TeamMember, {});

const order = oldestFirst(teamMembers, teamMembers.createdAt);
const filters = recordFilters(activeMembers);

export const listTeamMembers = defineList('team_members.list', memberView, {
  query: TeamMemberListQuery,
  order,
  filters,
});

export const teamMemberRecord = defineRecord(viewOf(activeMembers, TeamMemberRecord, {}), {
  lists: {
    query: TeamMemberRecordListQuery,
    order,
    filters: { ...filters, userId: { ...equals(teamMembers.userId), isShort: true } },
  },
  columns: columnsOf(TeamMemberPut, teamMembers),
  taken: () => new ApiError('TEAM_MEMBER_USER_TAKEN'),
});
