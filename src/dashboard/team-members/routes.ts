import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { json } from '../../http/json.ts';
import { responses } from '../../http/openapi.ts';
import { TeamMember } from '../../team/schema.ts';
import { ArchivedRecord, uuidParams } from '../params.ts';
import { archiveTeamMember, putTeamMember } from './repository.ts';
import { TeamMemberPut } from './schema.ts';

const tags = ['Team members'];
const params = uuidParams('teamMemberId');

export const teamMemberRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  app.put(
    '/team-members/:teamMemberId',
    {
      schema: {
        operationId: 'putTeamMember',
        tags,
        summary: 'Create or replace a team member',
        description:
          'Fields left out take the default. The same again changes nothing; an archived member comes back.',
        params,
        body: TeamMemberPut,
        response: responses([
          { status: 201, schema: TeamMember, description: 'The member, created.' },
          { status: 200, schema: TeamMember, description: 'The member as it is now.' },
        ]),
      },
    },
    async (request, reply) => {
      const { created, body } = await putTeamMember(request.scope, request.params.teamMemberId, request.body);
      return json(reply, body, created ? 201 : 200);
    },
  );

  app.delete(
    '/team-members/:teamMemberId',
    {
      schema: {
        operationId: 'archiveTeamMember',
        tags,
        summary: 'Archive a team member',
        description: 'The member leaves the team; opportunities go on showing its name.',
        params,
        response: responses(
          { status: 200, schema: ArchivedRecord, description: 'The member was archived.' },
          'TEAM_MEMBER_NOT_FOUND',
        ),
      },
    },
    async (request, reply) =>
      json(reply, await archiveTeamMember(request.scope, request.params.teamMemberId)),
  );
  done();
};
