import { defineRecord } from '../../db/define/put.ts';
import { teamMembers } from '../../db/schema/index.ts';
import { columnsOf } from '../../db/sql/field-columns.ts';
import { memberView } from '../../team/repository.ts';
import { TeamMemberPut } from './schema.ts';

export const teamMemberRecord = defineRecord(memberView, { columns: columnsOf(TeamMemberPut, teamMembers) });
