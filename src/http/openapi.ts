import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { errorCodes } from '../errors.ts';

/** What the routes say of themselves for the OpenAPI document. */

const ErrorDetail = z.object({
  path: z.string().meta({ examples: ['body.contacts[0].identifierValue'] }),
  message: z.string().optional().describe('What is wrong there (VALIDATION_FAILED).'),
  customerId: z
    .string()
    .optional()
    .describe('The customer that has the contact (CUSTOMER_CONTACT_CONFLICT).'),
});

export const ErrorResponse = z
  .object({
    error: z.object({
      code: z.string().describe(`Stable; branch on this. One of: ${errorCodes.join(', ')}.`),
      message: z.string().describe('For people; may change.'),
      details: z.array(ErrorDetail).optional().describe('Every fault of the request, at most 20.'),
    }),
  })
  .meta({ id: 'Error', description: 'The body of every answer other than success.' });

const DESCRIPTIONS: Record<number, string> = {
  400: 'The request is not valid; nothing was changed.',
  401: 'The API key is missing or not valid.',
  404: 'The record does not exist in this organization.',
  409: 'Conflict with the current state of the resource.',
  413: 'The body is larger than 1 MiB.',
  429: 'The API key exceeded its request limit; retry after Retry-After seconds.',
  500: 'A fault of the service; the request id finds it in the log.',
  503: 'The service cannot answer right now; retry after Retry-After seconds.',
};

/** Statuses that every operation declares: the contract's, and the two of the service itself. */
const EVERYWHERE = [400, 401, 404, 409, 429, 500, 503];

type Success = { status: 200 | 201; schema: z.ZodType; description: string };

/** The responses of an operation: its success and every error it can answer. */
export function responses(success: Success, ...additional: (413 | 412)[]) {
  const errors = [...EVERYWHERE, ...additional].sort();
  return {
    [success.status]: json(success.description, success.schema),
    ...Object.fromEntries(errors.map((status) => [status, json(DESCRIPTIONS[status] ?? '', ErrorResponse)])),
  };
}

const json = (description: string, schema: z.ZodType) => ({
  description,
  content: { 'application/json': { schema } },
});

/** Placeholder: filled by documentApi below. */
export async function documentApi(app: FastifyInstance, publicUrl: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Travel agency CRM API', version: '1.0.0', description: 'x' },
      servers: [{ url: publicUrl }],
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer' },
          apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        },
      },
      security: [{ bearer: [] }, { apiKey: [] }],
    },
    transform: createJsonSchemaTransform({ skipList: [] }),
    transformObject: createJsonSchemaTransformObject({}),
  });
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
  await app.register(swaggerUi, { routePrefix: '/docs', staticCSP: true });
}
