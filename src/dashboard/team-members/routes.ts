import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { TeamMember } from '../../team/schema.ts';
import { archiveRoute, putRoute } from '../record-routes.ts';
import { archiveTeamMember, lockTeamMember, putTeamMember } from './repository.ts';
import { TeamMemberPut } from './schema.ts';

const tags = ['Team members'];
const member = { path: '/team-members', idName: 'teamMemberId', noun: 'member' };

export const teamMemberRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  putRoute(app, {
    ...member,
    operationId: 'putTeamMember',
    tags,
    summary: 'Create or replace a team member',
    description:
      'Fields left out take the default. The same again changes nothing; an archived member comes back.',
    body: TeamMemberPut,
    record: TeamMember,
    lock: lockTeamMember,
    put: putTeamMember,
  });

  archiveRoute(app, {
    ...member,
    operationId: 'archiveTeamMember',
    tags,
    summary: 'Archive a team member',
    description: 'The member leaves the team; opportunities go on showing its name.',
    missing: 'TEAM_MEMBER_NOT_FOUND',
    lock: lockTeamMember,
    archive: archiveTeamMember,
  });
  done();
};
