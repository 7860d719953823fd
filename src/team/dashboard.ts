import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { recordRoutes } from '../dashboard/record-routes.ts';
import { teamMemberRecord } from '../dashboard/team-members/repository.ts';
import { TeamMemberPut } from '../dashboard/team-members/schema.ts';
import { TeamMember } from './schema.ts';

export const teamMemberRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  recordRoutes(app, {
    path: '/team-members',
    noun: 'member',
    name: 'TeamMember',
    title: 'a team member',
    tags: ['Team members'],
    record: TeamMember,
    body: TeamMemberPut,
    archived: 'The member leaves the team; opportunities go on showing its name.',
    functions: teamMemberRecord,
  });
  done();
};
