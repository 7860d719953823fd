import { defineList, oldestFirst, recordFilters } from '../db/define/list.ts';
import { defineRecord } from '../db/define/put.ts';
import { activeMembers, teamMembers } from '../db/schema/index.ts';
import { columnsOf, fieldsOf } from '../db/sql/field-columns.ts';
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
