import { defineList, oldestFirst, recordFilters } from '../db/define/list.ts';
import { activeMembers, teamMembers } from '../db/schema/index.ts';
import { fieldsOf } from '../db/sql/field-columns.ts';
import { TeamMember, TeamMemberListQuery } from './schema.ts';

export const memberView = { ...activeMembers, fields: fieldsOf(TeamMember, teamMembers) };

export const listTeamMembers = defineList(memberView, {
  query: TeamMemberListQuery,
  order: oldestFirst('createdAt'),
  filters: recordFilters,
});
