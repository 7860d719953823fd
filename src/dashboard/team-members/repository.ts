import { defineArchive, definePut, type Put } from '../../db/put.ts';
import { writable } from '../../db/record.ts';
import { teamMembers } from '../../db/schema/index.ts';
import type { OrganizationScope } from '../../db/scope.ts';
import { memberFields } from '../../team/repository.ts';
import type { TeamMember } from '../../team/schema.ts';
import type { TeamMemberPut } from './schema.ts';

const put = definePut<TeamMember>({
  table: teamMembers,
  fields: memberFields,
  columns: writable({
    userId: teamMembers.userId,
    name: teamMembers.name,
    email: teamMembers.email,
    roles: teamMembers.roles,
    isAssignable: teamMembers.isAssignable,
  }),
});

/** Creates the member, or replaces it. */
export const putTeamMember = (
  scope: OrganizationScope,
  id: string,
  input: TeamMemberPut,
): Promise<Put<TeamMember>> => put(scope, id, input);

/** @throws TEAM_MEMBER_NOT_FOUND */
export const archiveTeamMember = defineArchive({
  table: teamMembers,
  missing: { code: 'TEAM_MEMBER_NOT_FOUND', what: 'team member' },
});
