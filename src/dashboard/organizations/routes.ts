import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import type { Database } from '../../db/run/client.ts';
import { toJson } from '../../db/sql/json.ts';
import { answerJson } from '../../http/answers.ts';
import { idempotently } from '../../http/idempotency.ts';
import { responses } from '../../http/openapi/responses.ts';
import {
  createOrganization,
  getOrganization,
  listOrganizations,
  serviceScope,
} from '../../organizations/repository.ts';
import {
  Organization,
  OrganizationCreate,
  OrganizationList,
  OrganizationListQuery,
} from '../../organizations/schema.ts';
import { OrganizationParams } from '../params.ts';

const tags = ['Organizations'];

export const organizationRoutes: FastifyPluginCallbackZod<{ db: Database }> = (app, { db }, done) => {
  app.post(
    '/organizations',
    {
      schema: {
        operationId: 'createOrganization',
        tags,
        summary: 'Create an organization',
        description: 'A travel agency of its own: nothing is shared between organizations.',
        body: OrganizationCreate,
        response: responses({ status: 201, schema: Organization, description: 'The organization.' }),
      },
    },
    async (request, reply) => {
      request.scope = serviceScope(db);
      return idempotently(request, reply, 201, async (scope) =>
        toJson(await createOrganization(scope.db, request.body.name)),
      );
    },
  );

  app.get(
    '/organizations',
    {
      schema: {
        operationId: 'listOrganizations',
        tags,
        summary: 'List organizations',
        description: 'All organizations, oldest first.',
        querystring: OrganizationListQuery,
        response: responses({
          status: 200,
          schema: OrganizationList,
          description: 'A page of organizations.',
        }),
      },
    },
    async (request, reply) => answerJson(reply, await listOrganizations(db, request.query)),
  );

  app.get(
    '/organizations/:organizationId',
    {
      schema: {
        operationId: 'getOrganization',
        tags,
        summary: 'Get an organization',
        description: 'One organization.',
        params: OrganizationParams,
        response: responses({ status: 200, schema: Organization, description: 'The organization.' }),
      },
    },
    async (request, reply) => answerJson(reply, await getOrganization(db, request.params.organizationId)),
  );
  done();
};
