import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { page } from '../contract/fields.ts';
import { json } from '../http/records.ts';
import { listTeamMembers } from './repository.ts';
import * as schema from './schema.ts';

export const LIST_OF_MEMBERS =
  'The members of the organization, oldest first. Use it to find sellers, and the member that `sellerMemberId` of an opportunity refers to.';

export const teamRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/team',
    {
      config: { access: 'read', resource: 'team' },
      schema: {
        operationId: 'listTeamMembers',
        summary: 'List team members',
        description: LIST_OF_MEMBERS,
        querystring: schema.TeamMemberListQuery,
        response: { 200: json(page(schema.TeamMember), 'A page of team members.') },
      },
    },
    async ({ scope, query }) => listTeamMembers(scope, query),
  );
};
