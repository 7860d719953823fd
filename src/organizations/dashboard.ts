import type { FastifyInstance } from 'fastify';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { OrganizationParams } from '../dashboard/params.ts';
import type { Database } from '../db/run/client.ts';
import { toJson } from '../db/sql/json.ts';
import { answerJson } from '../http/answers.ts';
import { callerOf } from '../http/caller.ts';
import { idempotently } from '../http/idempotency.ts';
import { responses } from '../http/openapi/responses.ts';
import {
  createOrganization,
  getOrganization,
  listOrganizations,
  scopeOf,
  serviceScope,
} from './repository.ts';
import { Organization, OrganizationCreate, OrganizationList, OrganizationListQuery } from './schema.ts';

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

/** Gives each request the scope of the organization in its path. An unknown one is 404 ORGANIZATION_NOT_FOUND. */
export function openOrganization(app: FastifyInstance, db: Database): void {
  app.addHook('preHandler', async (request, reply) => {
    const { organizationId } = request.params as { organizationId: string };
    request.scope = await scopeOf(db, organizationId, callerOf(reply));
  });
}
