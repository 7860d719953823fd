import { readFileSync } from 'node:fs';
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import type { ErrorCode } from '../../errors.ts';
import { setCacheControl } from '../headers.ts';
import { ownErrors, withDeclaredErrors } from './declared-errors.ts';
import { type OpenApiDocument, tidyDocument } from './tidy.ts';

/** The OpenAPI document and the reference page, made from the schemas of the routes. */

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
  /** Serves the page to read and try the document. */
  page: (
    app: FastifyInstance,
    options: { title: string; document: () => string; publicUrl: string | undefined },
  ) => void;
};

/** Where the service is reached, and whom its users ask, for the document. */
export type Publisher = {
  /** Where clients reach the service. Without it the document says: where it was read from. */
  publicUrl?: string | undefined;
  /** Whom integrators ask: an email address or a URL. */
  contact?: string | undefined;
};

const { version, license } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
) as { version: string; license: string };

const contactOf = (contact: string | undefined) => ({
  name: 'The operator of this service',
  ...(contact !== undefined && (contact.startsWith('http') ? { url: contact } : { email: contact })),
});

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
export async function documentApi(
  app: FastifyInstance,
  options: DocumentOptions,
  { publicUrl, contact }: Publisher,
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: options.title,
        version,
        description: options.description,
        contact: contactOf(contact),
        // SPDX, which 3.1 takes in the place of a URL; the types of the plugin know 3.0 only.
        license: { name: license, identifier: license } as { name: string },
      },
      servers: [{ url: publicUrl ?? '/', description: 'This service.' }],
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
  const document = () => {
    text ??= openApiText(app);
    return text;
  };
  await app.register(async (pages) => {
    setCacheControl(pages, 'document');
    pages.get('/openapi.json', { schema: { hide: true } }, (_request, reply) =>
      reply.type('application/json; charset=utf-8').send(document()),
    );
    options.page(pages, { title: options.title, document, publicUrl });
  });
}

/** The document as it is served and committed. */
export const openApiText = (app: FastifyInstance): string => `${JSON.stringify(app.swagger(), null, 2)}\n`;
