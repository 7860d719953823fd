import { readFileSync } from 'node:fs';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { errorCodes } from '../errors.ts';
import { type OpenApiDocument, tidyDocument } from './openapi-tidy.ts';

/** What the routes say of themselves, and the OpenAPI document and reference page made of it. */

const ErrorDetail = z.object({
  path: z.string(),
  message: z.string().optional().describe('What is wrong there (VALIDATION_FAILED).'),
  customerId: z
    .string()
    .optional()
    .describe('The customer that has the contact (CUSTOMER_CONTACT_CONFLICT).'),
});

const ErrorResponse = z
  .object({
    error: z.object({
      code: z.string().describe(`Stable: branch on this. One of ${errorCodes.join(', ')}.`),
      message: z.string().describe('For people; may change.'),
      details: z.array(ErrorDetail).optional().describe('Every fault of the request, at most 20.'),
    }),
  })
  .meta({
    id: 'Error',
    description: 'The body of every answer other than success.',
    examples: [
      {
        error: {
          code: 'VALIDATION_FAILED',
          message:
            'The request is not valid: query.limit must be an integer from 1 to 100, in decimal digits.',
          details: [{ path: 'query.limit', message: 'must be an integer from 1 to 100, in decimal digits' }],
        },
      },
    ],
  });

const DESCRIPTIONS = {
  400: 'The request is not valid; nothing was changed.',
  401: 'The key or token is missing or not valid.',
  404: 'The record does not exist in this organization.',
  409: 'Conflict with the current state of the resource.',
  412: 'The record is no longer the one that If-Match names.',
  413: 'The body is too large.',
  429: 'The API key exceeded its request limit; retry after Retry-After seconds.',
  500: 'A fault of the service; the request id finds it in the log.',
  503: 'The service cannot answer right now; retry after Retry-After seconds.',
} as const;

type ErrorStatus = keyof typeof DESCRIPTIONS;

/** Declared by every operation: the contract's statuses, and the two of the service itself. */
const EVERYWHERE: readonly ErrorStatus[] = [400, 401, 404, 409, 429, 500, 503];

type Success = { status: 200 | 201; schema: z.ZodType; description: string };

/** The responses of an operation: its successes and every error that it can answer. */
export function responses(success: Success | readonly Success[], ...additional: ErrorStatus[]) {
  const successes = [success].flat();
  const errors = [...EVERYWHERE, ...additional].sort();
  return Object.fromEntries([
    ...successes.map(({ status, schema, description }) => [status, json(description, schema)]),
    ...errors.map((status) => [status, json(DESCRIPTIONS[status], ErrorResponse)]),
  ]);
}

const json = (description: string, schema: z.ZodType) => ({
  description,
  content: { 'application/json': { schema } },
});

export type DocumentOptions = {
  title: string;
  description: string;
  tags: { name: string; description: string }[];
  securitySchemes: Record<
    string,
    | { type: 'http'; scheme: 'bearer'; description: string }
    | { type: 'apiKey'; in: 'header'; name: string; description: string }
  >;
};

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** Serves the document at /openapi.json and a page to read and try it at /docs. Register before the routes. */
export async function documentApi(app: FastifyInstance, options: DocumentOptions): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: options.title, version, description: options.description },
      servers: [{ url: '/', description: 'This server.' }],
      tags: options.tags,
      components: { securitySchemes: options.securitySchemes },
      security: Object.keys(options.securitySchemes).map((scheme) => ({ [scheme]: [] })),
    },
    transform: createJsonSchemaTransform({ skipList: [] }),
    transformObject: (document) =>
      tidyDocument(createJsonSchemaTransformObject({})(document) as unknown as OpenApiDocument) as never,
  });
  let text: string | undefined;
  app.get('/openapi.json', { schema: { hide: true } }, (_request, reply) => {
    text ??= openApiText(app);
    return reply.type('application/json; charset=utf-8').send(text);
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: true,
    uiConfig: { deepLinking: true, persistAuthorization: true, tryItOutEnabled: true, validatorUrl: null },
  });
}

/** The document as it is served and committed. */
export const openApiText = (app: FastifyInstance): string => `${JSON.stringify(app.swagger(), null, 2)}\n`;
