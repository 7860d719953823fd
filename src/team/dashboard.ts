import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { page } from '../contract/fields.ts';
import { ifMatch, putIfMatch } from '../http/conditional.ts';
import { ArchivedRecord, CHANGES_ONLY, json, REPLACES, uuidParams } from '../http/records.ts';
import { teamMemberRecord } from './repository.ts';
import { LIST_OF_MEMBERS } from './routes.ts';
import * as schema from './schema.ts';

export const teamDashboardRoutes: FastifyPluginAsyncZod = async (app) => {
  const params = uuidParams('teamMemberId');
  const list = {
    summary: 'List team members',
    description: LIST_OF_MEMBERS,
    querystring: schema.TeamMemberRecordListQuery,
    response: { 200: json(page(schema.TeamMemberRecord), 'A page of team members.') },
  };

  app.get('/team', { schema: { operationId: 'listTeam', ...list } }, async ({ scope, query }) =>
    teamMemberRecord.list(scope, query),
  );

  app.get(
    '/team-members',
    { schema: { operationId: 'listTeamMembers', ...list } },
    async ({ scope, query }) => teamMemberRecord.list(scope, query),
  );

  app.get(
    '/team-members/:teamMemberId',
    {
      config: { errorCodes: ['TEAM_MEMBER_NOT_FOUND'] },
      schema: {
        operationId: 'getTeamMember',
        summary: 'Get a team member',
        description: 'One member of the organization.',
        params,
        response: { 200: json(schema.TeamMemberRecord, 'The team member.') },
      },
    },
    async ({ scope, params }) => teamMemberRecord.get(scope, params.teamMemberId),
  );

  app.put(
    '/team-members/:teamMemberId',
    {
      config: { errorCodes: ['TEAM_MEMBER_USER_TAKEN'] },
      schema: {
        operationId: 'putTeamMember',
        summary: 'Create or replace a team member',
        description: `${REPLACES} A PUT of an archived team member makes it active, as the body says.`,
        params,
        body: schema.TeamMemberPut,
        response: {
          201: json(schema.TeamMemberRecord, 'The team member, created.'),
          200: json(schema.TeamMemberRecord, 'The team member as it is now.'),
        },
      },
    },
    async (request, reply) => putIfMatch(request, reply, request.params.teamMemberId, teamMemberRecord),
  );

  app.patch(
    '/team-members/:teamMemberId',
    {
      config: { errorCodes: ['TEAM_MEMBER_NOT_FOUND', 'TEAM_MEMBER_USER_TAKEN'] },
      schema: {
        operationId: 'updateTeamMember',
        summary: 'Update a team member',
        description: CHANGES_ONLY,
        params,
        body: schema.TeamMemberUpdate,
        response: { 200: json(schema.TeamMemberRecord, 'The team member as it is now.') },
      },
    },
    async (request) =>
      ifMatch(request, teamMemberRecord.lockToUpdate, request.params.teamMemberId, teamMemberRecord.update),
  );

  app.delete(
    '/team-members/:teamMemberId',
    {
      config: { errorCodes: ['TEAM_MEMBER_NOT_FOUND'] },
      schema: {
        operationId: 'archiveTeamMember',
        summary: 'Archive a team member',
        description: 'The member is archived; opportunities still show the name.',
        params,
        response: { 200: json(ArchivedRecord, 'The team member was archived.') },
      },
    },
    async (request) =>
      ifMatch(request, teamMemberRecord.lock, request.params.teamMemberId, teamMemberRecord.archive),
  );

  app.post(
    '/team-members/:teamMemberId/restore',
    {
      config: { errorCodes: ['TEAM_MEMBER_NOT_FOUND', 'TEAM_MEMBER_NOT_ARCHIVED', 'TEAM_MEMBER_USER_TAKEN'] },
      schema: {
        operationId: 'restoreTeamMember',
        summary: 'Restore an archived team member',
        description: 'The team member is active again, with all its fields.',
        params,
        response: { 200: json(schema.TeamMemberRecord, 'The team member as it is now.') },
      },
    },
    async ({ scope, params }) => teamMemberRecord.restore(scope, params.teamMemberId),
  );
};
