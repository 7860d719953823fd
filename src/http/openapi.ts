import { readFileSync } from 'node:fs';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import { ownErrors, withDeclaredErrors } from './declared-errors.ts';
import { setCacheControl } from './headers.ts';
import { type OpenApiDocument, tidyDocument } from './openapi-tidy.ts';

/** What the routes say of themselves. The OpenAPI document and the reference page are made of it. */

type Success = { status: 200 | 201; schema: z.ZodType; description: string };

/**
 * The responses of an operation: its successes, and its own error codes. The codes of its class are added to them.
 */
export const responses = (success: Success | readonly Success[], ...codes: ErrorCode[]) => ({
  ...Object.fromEntries(
    [success]
      .flat()
      .map(({ status, schema, description }) => [
        status,
        { description, content: { 'application/json': { schema } } },
      ]),
  ),
  ...ownErrors(codes),
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

const toJsonSchema = createJsonSchemaTransform({ skipList: [] });

type Transform = typeof toJsonSchema;

/** Any GET whose answer has a tag can answer 304. That is declared here once, and not at the routes. */
const declareUnchanged =
  (transform: Transform): Transform =>
  (document) => {
    const described = transform(document);
    const { method, config } = document.route;
    const { response } = described.schema as { response?: Record<number, unknown> };
    if (method === 'GET' && !config?.credential && response)
      response[304] = {
        type: 'null',
        description: 'Unchanged: the answer is the one that If-None-Match names.',
      };
    return described;
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
    transform: declareUnchanged(({ schema, url, route, ...document }) =>
      toJsonSchema({ ...document, schema: withDeclaredErrors(schema, url, route), url, route }),
    ),
    transformObject: (document) =>
      tidyDocument(createJsonSchemaTransformObject({})(document) as unknown as OpenApiDocument) as never,
  });
  let text: string | undefined;
  await app.register(async (pages) => {
    setCacheControl(pages, 'document');
    pages.get('/openapi.json', { schema: { hide: true } }, (_request, reply) => {
      text ??= openApiText(app);
      return reply.type('application/json; charset=utf-8').send(text);
    });
    await pages.register(swaggerUi, {
      routePrefix: '/docs',
      staticCSP: true,
      uiConfig: { deepLinking: true, persistAuthorization: true, tryItOutEnabled: true, validatorUrl: null },
    });
  });
}

/** The document as it is served and committed. */
export const openApiText = (app: FastifyInstance): string => `${JSON.stringify(app.swagger(), null, 2)}\n`;
