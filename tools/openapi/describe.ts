import { readFileSync } from 'node:fs';
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { withDeclaredErrors } from './declared-errors.ts';
import { type OpenApiDocument, tidyDocument } from './tidy.ts';

/** The OpenAPI documents, made from the schemas of the routes. */

type ApiDescription = {
  title: string;
  description: string;
  tags: { name: string; description: string }[];
  securitySchemes: Record<
    string,
    | { type: 'http'; scheme: 'bearer'; description: string }
    | { type: 'apiKey'; in: 'header'; name: string; description: string }
  >;
};

export const PUBLIC_API: ApiDescription = {
  title: 'Travel agency CRM API',
  description: `The catalog, customers, sales and conversations of one travel agency.

Send the API key as \`Authorization: Bearer <key>\` or as \`x-api-key: <key>\`. A key belongs to one organization;
everything read or written stays inside it. Lists are live queries: to sync, key on the id and repeat the walk.
Field names that a request should not have are ignored and named in \`X-Ignored-Parameters\`; with
\`Prefer: handling=strict\` they are refused.`,
  tags: [
    { name: 'Catalog', description: 'Travel products and their variants.' },
    { name: 'Customers', description: 'People and anonymous leads, with their channel contacts.' },
    { name: 'Opportunities', description: 'Sales leads in the pipeline. Read only.' },
    {
      name: 'Conversations',
      description: 'Conversations on messaging channels, and their transcripts. Read only.',
    },
    { name: 'Quotes', description: 'Quotes of opportunities, and their attachments. Read only.' },
    { name: 'Team', description: 'Members of the organization. Read only.' },
  ],
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer', description: 'The API key as a bearer token.' },
    apiKey: {
      type: 'apiKey',
      in: 'header',
      name: 'x-api-key',
      description: 'The API key in a header of its own.',
    },
  },
};

export const DASHBOARD_API: ApiDescription = {
  title: 'Travel agency CRM dashboard API',
  description: `What the agency's dashboard backend and its messaging agent call: organizations, their API keys, and the
records that /v1 only reads. It listens apart from the public API and takes one secret, sent as
\`Authorization: Bearer <DASHBOARD_TOKEN>\`.

\`PUT\` creates (201) or replaces (200) the record with the id in the path, a UUID that the caller makes; sending it
twice changes nothing. Errors, pagination, request ids and strictness are as in /v1.`,
  tags: [
    { name: 'Organizations', description: 'Travel agencies. Everything else belongs to one.' },
    { name: 'API keys', description: 'Keys of an organization for /v1.' },
    { name: 'Catalog', description: 'Archived products, and the media of live ones.' },
    { name: 'Pipeline stages', description: 'Columns of the sales pipeline.' },
    { name: 'Team members', description: 'Members of the organization.' },
    { name: 'Opportunities', description: 'Sales leads in the pipeline.' },
    { name: 'Conversations', description: 'Threads on messaging channels, and their messages.' },
    { name: 'Quotes', description: 'Quotes of opportunities, and their attachments.' },
  ],
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer', description: 'The token of DASHBOARD_TOKEN.' },
  },
};

const { version, license } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { version: string; license: string };

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

/** Lets an application describe itself. It must come before the routes. */
export async function describeApi(
  app: FastifyInstance,
  { title, description, tags, securitySchemes }: ApiDescription,
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title,
        version,
        description,
        contact: { name: 'The operator of this service' },
        // SPDX, which 3.1 takes in the place of a URL; the types of the plugin know 3.0 only.
        license: { name: license, identifier: license } as { name: string },
      },
      servers: [{ url: '/', description: 'This service.' }],
      tags,
      components: { securitySchemes },
      security: Object.keys(securitySchemes).map((scheme) => ({ [scheme]: [] })),
    },
    transform: declareUnchanged(({ schema, url, route, ...document }) =>
      toJsonSchema({ ...document, schema: withDeclaredErrors(schema, url, route), url, route }),
    ),
    transformObject: (document) =>
      tidyDocument(createJsonSchemaTransformObject({})(document) as unknown as OpenApiDocument) as never,
  });
}

/** The document of an application that can describe itself, as it is committed. */
export const openApiText = (app: FastifyInstance): string => `${JSON.stringify(app.swagger(), null, 2)}\n`;
