import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { json } from '../openapi/responses.ts';
import { listTeamMembers } from './repository.ts';
import { TeamMemberList, TeamMemberListQuery } from './schema.ts';

export const teamRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  app.get(
    '/team',
    {
      schema: {
        operationId: 'listTeamMembers',
        summary: 'List team members',
        description:
          'The members of the organization, oldest first. Use it to find sellers, and the member that `sellerMemberId` of an opportunity refers to.',
        querystring: TeamMemberListQuery,
        response: { 200: json(TeamMemberList, 'A page of team members.') },
      },
    },
    async (request) => listTeamMembers(request.scope, request.query),
  );
  done();
};
