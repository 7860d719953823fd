import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { page } from '../contract/fields.ts';
import { ifMatch } from '../http/conditional.ts';
import { CHANGES_ONLY, json } from '../http/records.ts';
import {
  getApiKey,
  issueApiKey,
  listApiKeys,
  lockApiKey,
  revokeApiKey,
  rotateApiKey,
  updateApiKey,
} from './repository.ts';
import {
  ApiKey,
  ApiKeyCreate,
  ApiKeyListQuery,
  ApiKeyParams,
  ApiKeyRotate,
  ApiKeyUpdate,
  IssuedApiKey,
} from './schema.ts';

export const apiKeyRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/api-keys',
    {
      config: { credential: true },
      schema: {
        operationId: 'issueApiKey',
        summary: 'Issue a key',
        description: 'Issues a key of this organization for /v1. No other response shows the key.',
        body: ApiKeyCreate,
        response: { 201: json(IssuedApiKey, 'The key, shown only in this response.') },
      },
    },
    async (request, reply) => {
      reply.code(201);
      return issueApiKey(request.scope, request.body);
    },
  );

  app.get(
    '/api-keys',
    {
      schema: {
        operationId: 'listApiKeys',
        summary: 'List API keys',
        description: 'The keys of the organization, newest first, including revoked and expired keys.',
        querystring: ApiKeyListQuery,
        response: { 200: json(page(ApiKey), 'A page of API keys.') },
      },
    },
    async ({ scope, query }) => listApiKeys(scope, query),
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
        params: ApiKeyParams,
        body: ApiKeyRotate,
        response: { 201: json(IssuedApiKey, 'The new key, shown only in this response.') },
      },
    },
    async (request, reply) => {
      reply.code(201);
      return rotateApiKey(request.scope, request.params.apiKeyId, request.body);
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
        params: ApiKeyParams,
        response: { 200: json(ApiKey, 'The revoked key.') },
      },
    },
    async (request) => ifMatch(request, lockApiKey, request.params.apiKeyId, revokeApiKey),
  );

  app.get(
    '/api-keys/:apiKeyId',
    {
      config: { errorCodes: ['API_KEY_NOT_FOUND'] },
      schema: {
        operationId: 'getApiKey',
        summary: 'Get an API key',
        description: '',
        params: ApiKeyParams,
        response: { 200: json(ApiKey, 'The API key.') },
      },
    },
    async ({ scope, params }) => getApiKey(scope, params.apiKeyId),
  );

  app.patch(
    '/api-keys/:apiKeyId',
    {
      config: { errorCodes: ['API_KEY_NOT_FOUND', 'API_KEY_INACTIVE'] },
      schema: {
        operationId: 'updateApiKey',
        summary: 'Update an API key',
        description: `${CHANGES_ONLY} The key itself stays. The change takes effect on every instance within a second. \`expiresAt\` of a rotated key cannot be changed: 409 API_KEY_INACTIVE.`,
        params: ApiKeyParams,
        body: ApiKeyUpdate,
        response: { 200: json(ApiKey, 'The API key as it is now.') },
      },
    },
    async (request) => ifMatch(request, lockApiKey, request.params.apiKeyId, updateApiKey),
  );
};
