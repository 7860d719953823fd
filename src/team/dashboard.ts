import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { recordRoutes } from '../dashboard/record-routes.ts';
import { teamMemberRecord } from './repository.ts';
import { TeamMember, TeamMemberPut } from './schema.ts';

export const teamDashboardRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
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
