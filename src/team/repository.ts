import {
  activeMembers,
  columnsOf,
  defineList,
  defineRecord,
  fieldsOf,
  oldestFirst,
  recordFilters,
  teamMembers,
} from '../db/index.ts';
import { TeamMember, TeamMemberListQuery, TeamMemberPut } from './schema.ts';

export const memberView = { ...activeMembers, fields: fieldsOf(TeamMember, teamMembers) };

export const listTeamMembers = defineList(memberView, {
  query: TeamMemberListQuery,
  order: oldestFirst('createdAt'),
  filters: recordFilters,
});

export const teamMemberRecord = {
  ...defineRecord(memberView, { columns: columnsOf(TeamMemberPut, teamMembers) }),
  list: listTeamMembers,
};
