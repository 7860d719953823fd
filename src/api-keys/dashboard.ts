import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { page } from '../contract/fields.ts';
import { ifMatch } from '../http/conditional.ts';
import { CHANGES_ONLY, json } from '../http/records.ts';
import * as repository from './repository.ts';
import * as schema from './schema.ts';

export const apiKeyRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/api-keys',
    {
      config: { credential: true },
      schema: {
        operationId: 'issueApiKey',
        summary: 'Issue a key',
        description: 'Issues a key of this organization for /v1. No other response shows the key.',
        body: schema.ApiKeyCreate,
        response: { 201: json(schema.IssuedApiKey, 'The key, shown only in this response.') },
      },
    },
    async (request, reply) => {
      reply.code(201);
      return repository.issueApiKey(request.scope, request.body);
    },
  );

  app.get(
    '/api-keys',
    {
      schema: {
        operationId: 'listApiKeys',
        summary: 'List API keys',
        description: 'The keys of the organization, newest first, including revoked and expired keys.',
        querystring: schema.ApiKeyListQuery,
        response: { 200: json(page(schema.ApiKey), 'A page of API keys.') },
      },
    },
    async ({ scope, query }) => repository.listApiKeys(scope, query),
  );

  app.post(
    '/api-keys/:apiKeyId/rotate',
    {
      config: { credential: true, errorCodes: ['API_KEY_NOT_FOUND', 'API_KEY_INACTIVE'] },
      schema: {
        operationId: 'rotateApiKey',
        summary: 'Rotate a key',
        description:
          'Issues a key with the settings of the old one, which stays active for the overlap. A revoked, expired or already rotated key returns 409 API_KEY_INACTIVE.',
        params: schema.ApiKeyParams,
        body: schema.ApiKeyRotate,
        response: { 201: json(schema.IssuedApiKey, 'The new key, shown only in this response.') },
      },
    },
    async (request, reply) => {
      reply.code(201);
      return repository.rotateApiKey(request.scope, request.params.apiKeyId, request.body);
    },
  );

  app.delete(
    '/api-keys/:apiKeyId',
    {
      config: { errorCodes: ['API_KEY_NOT_FOUND'] },
      schema: {
        operationId: 'revokeApiKey',
        summary: 'Revoke a key',
        description:
          'Revokes the key on every instance within a second. Revoking it again returns the same response.',
        params: schema.ApiKeyParams,
        response: { 200: json(schema.ApiKey, 'The revoked key.') },
      },
    },
    async (request) =>
      ifMatch(request, repository.lockApiKey, request.params.apiKeyId, repository.revokeApiKey),
  );

  app.get(
    '/api-keys/:apiKeyId',
    {
      config: { errorCodes: ['API_KEY_NOT_FOUND'] },
      schema: {
        operationId: 'getApiKey',
        summary: 'Get an API key',
        description: 'What one key may do, and when it was last used. It does not show the key itself.',
        params: schema.ApiKeyParams,
        response: { 200: json(schema.ApiKey, 'The API key.') },
      },
    },
    async ({ scope, params }) => repository.getApiKey(scope, params.apiKeyId),
  );

  app.patch(
    '/api-keys/:apiKeyId',
    {
      config: { errorCodes: ['API_KEY_NOT_FOUND', 'API_KEY_INACTIVE'] },
      schema: {
        operationId: 'updateApiKey',
        summary: 'Update an API key',
        description: `${CHANGES_ONLY} The key itself stays. The change takes effect on every instance within a second. \`expiresAt\` of a rotated key cannot be changed: 409 API_KEY_INACTIVE.`,
        params: schema.ApiKeyParams,
        body: schema.ApiKeyUpdate,
        response: { 200: json(schema.ApiKey, 'The API key as it is now.') },
      },
    },
    async (request) =>
      ifMatch(request, repository.lockApiKey, request.params.apiKeyId, repository.updateApiKey),
  );
};
