import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { recordRoutes } from '../dashboard/record-routes.ts';
import { teamMemberRecord } from './repository.ts';
import { TeamMember, TeamMemberListQuery, TeamMemberPut, TeamMemberUpdate } from './schema.ts';

export const teamDashboardRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  recordRoutes(app, {
    path: '/team-members',
    title: 'a team member',
    record: TeamMember,
    query: TeamMemberListQuery,
    body: TeamMemberPut,
    patch: TeamMemberUpdate,
    listed: 'The members of the team, oldest first.',
    archived: 'The member is archived; opportunities still show the name.',
    functions: teamMemberRecord,
  });
  done();
};
