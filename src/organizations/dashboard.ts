import type { FastifyInstance } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { type Database, scopeTo, toJson } from '../db/index.ts';
import { ifMatch } from '../http/conditional.ts';
import { json } from '../http/records.ts';
import { callerOf } from '../http/request.ts';
import * as repository from './repository.ts';
import * as schema from './schema.ts';

export const organizationRoutes: FastifyPluginAsyncZod<{ db: Database }> = async (app, { db }) => {
  app.post(
    '/organizations',
    {
      schema: {
        operationId: 'createOrganization',
        summary: 'Create an organization',
        description: 'A travel agency. Organizations share no data.',
        body: schema.OrganizationCreate,
        response: { 201: json(schema.Organization, 'The organization.') },
      },
    },
    async (request, reply) => {
      reply.code(201);
      return toJson(await repository.createOrganization(db, request.body.name));
    },
  );

  app.get(
    '/organizations',
    {
      schema: {
        operationId: 'listOrganizations',
        summary: 'List organizations',
        description: 'All organizations, including closed ones, oldest first.',
        querystring: schema.OrganizationListQuery,
        response: { 200: json(schema.OrganizationList, 'A page of organizations.') },
      },
    },
    async (request) => repository.listOrganizations(db, request.query),
  );

  app.get(
    '/organizations/:organizationId',
    {
      schema: {
        operationId: 'getOrganization',
        summary: 'Get an organization',
        description: 'One organization.',
        params: schema.OrganizationParams,
        response: { 200: json(schema.Organization, 'The organization.') },
      },
    },
    async (request) => repository.getOrganization(db, request.params.organizationId),
  );

  app.register(ownRoutes, { db });
};

/** Routes of the organization itself. All but its renaming also work on a closed one. */
const ownRoutes: FastifyPluginAsyncZod<{ db: Database }> = async (app, { db }) => {
  openOrganization(app, db, (method) => method === 'PATCH');
  app.patch(
    '/organizations/:organizationId',
    {
      config: { errorCodes: ['ORGANIZATION_CLOSED'] },
      schema: {
        operationId: 'updateOrganization',
        summary: 'Rename an organization',
        description: 'Changes only the fields that you send.',
        params: schema.OrganizationParams,
        body: schema.OrganizationUpdate,
        response: { 200: json(schema.Organization, 'The organization as it is now.') },
      },
    },
    async (request) =>
      ifMatch(
        request,
        repository.lockOrganization,
        request.params.organizationId,
        repository.updateOrganization,
      ),
  );

  app.delete(
    '/organizations/:organizationId',
    {
      schema: {
        operationId: 'closeOrganization',
        summary: 'Close an organization',
        description:
          'Within a second, every instance rejects its keys. Writes in this API then return 409 ORGANIZATION_CLOSED; reads still work. Until `purgeAt`, the organization can be reopened. After that, it returns 404, and a job deletes all its data and files. Closing a closed organization returns the same response.',
        params: schema.OrganizationParams,
        response: { 200: json(schema.ClosedOrganization, 'The organization is closed.') },
      },
    },
    async (request) =>
      ifMatch(
        request,
        repository.lockOrganization,
        request.params.organizationId,
        repository.closeOrganization,
      ),
  );

  app.post(
    '/organizations/:organizationId/reopen',
    {
      schema: {
        operationId: 'reopenOrganization',
        tags: ['Organizations'],
        summary: 'Reopen a closed organization',
        description:
          'All data is there again, and its keys work again within a second. After `purgeAt`: 404. An open organization stays as it is.',
        params: schema.OrganizationParams,
        response: { 200: json(schema.Organization, 'The organization, open.') },
      },
    },
    async (request) => repository.reopenOrganization(request.scope),
  );
};

const isWrite = (method: string): boolean => method !== 'GET' && method !== 'HEAD';

/**
 * Gives each request the scope of the organization in its path, and each route that parameter. 404
 * ORGANIZATION_NOT_FOUND, or 409 ORGANIZATION_CLOSED. Call it before the routes are registered.
 * @param needsOpen whether the method needs an open organization
 */
export function openOrganization(app: FastifyInstance, db: Database, needsOpen = isWrite): void {
  app.addHook('onRoute', (route) => {
    const params = (route.schema?.params as z.ZodObject | undefined)?.shape;
    route.schema = { ...route.schema, params: schema.OrganizationParams.extend(params ?? {}) };
  });
  app.addHook('preHandler', async (request) => {
    const { organizationId } = request.params as { organizationId: string };
    request.scope = scopeTo(db, organizationId.toLowerCase(), callerOf(request));
    await repository.checkOrganization(request.scope, needsOpen(request.method));
  });
}
