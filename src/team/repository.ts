import { sql } from 'drizzle-orm';
import { type Fields, isoTime } from '../db/json.ts';
import { defineList } from '../db/list.ts';
import { teamMembers } from '../db/schema/index.ts';
import type { TeamMember } from './schema.ts';

export const memberFields: Fields<TeamMember> = {
  id: teamMembers.id,
  userId: teamMembers.userId,
  name: teamMembers.name,
  email: teamMembers.email,
  roles: teamMembers.roles,
  isAssignable: teamMembers.isAssignable,
  createdAt: isoTime(teamMembers.createdAt),
};

/** A team is small: its total is counted. */
export const listTeamMembers = defineList<TeamMember>({
  name: 'list_team_members',
  table: teamMembers,
  fields: memberFields,
  visible: sql`${teamMembers.archivedAt} is null`,
  order: [sql`${teamMembers.createdAt}`, sql`${teamMembers.id}`],
});
