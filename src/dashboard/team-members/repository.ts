import { defineArchive } from '../../db/define/archive.ts';
import { defineGet, defineLockedGet } from '../../db/define/get.ts';
import { definePut } from '../../db/define/put.ts';
import { activeMembers, teamMembers } from '../../db/schema/index.ts';
import { columnsOf } from '../../db/sql/field-columns.ts';
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
