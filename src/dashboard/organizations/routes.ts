import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import type { Database } from '../../db/client.ts';
import { responses } from '../../http/openapi.ts';
import { sendJson } from '../../http/reply.ts';
import { createOrganization } from '../../organizations/repository.ts';
import { OrganizationParams } from '../params.ts';
import { getOrganization, listOrganizations } from './repository.ts';
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
        response: responses({ status: 201, schema: Organization, description: 'The organization.' }, 413),
      },
    },
    async (request, reply) => {
      const organization = await createOrganization(db, request.body.name);
      return sendJson(reply, JSON.stringify(organization), 201);
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
    async (request, reply) => sendJson(reply, await listOrganizations(db, request.query)),
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
    async (request, reply) => sendJson(reply, await getOrganization(db, request.params.organizationId)),
  );
  done();
};
