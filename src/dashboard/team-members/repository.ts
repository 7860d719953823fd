import { defineArchive } from '../../db/archive.ts';
import { columnsOf } from '../../db/fields.ts';
import { defineGet, defineLockedGet } from '../../db/get.ts';
import { definePut } from '../../db/put.ts';
import { activeMembers, teamMembers } from '../../db/schema/index.ts';
import { memberView } from '../../team/repository.ts';
import { TeamMemberPut } from './schema.ts';

const getTeamMember = defineGet(memberView);

/** Creates the member, or replaces it. */
export const putTeamMember = definePut(memberView, getTeamMember, {
  columns: columnsOf(TeamMemberPut, teamMembers),
});

/** @throws TEAM_MEMBER_NOT_FOUND */
export const lockTeamMember = defineLockedGet(memberView, getTeamMember);

/** @throws TEAM_MEMBER_NOT_FOUND */
export const archiveTeamMember = defineArchive(activeMembers);
