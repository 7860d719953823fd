import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import type { ErrorCode } from '../contract/errors.ts';
import { codesByStatus, errorResponse, errorSchemas, type NamedResponse } from './errors.ts';
import { REQUEST_HEADERS, RESPONSE_HEADERS, requestHeadersOf, responseHeadersOf } from './headers.ts';
import { declared } from './responses.ts';
import { deduplicated, referTo, type Schema, tidied } from './tidy.ts';

/** The OpenAPI document of an application, made from the schemas of its routes. */

type OpenApi = NonNullable<FastifyDynamicSwaggerOptions['openapi']>;

export type ApiDescription = {
  title: string;
  description: string;
  tags: { name: string; description: string }[];
  securitySchemes: NonNullable<NonNullable<OpenApi['components']>['securitySchemes']>;
  /** Codes that no operation declares: of requests that lead to none. */
  otherCodes: ErrorCode[];
};

type Operation = {
  parameters?: { name: string; required?: boolean; example?: unknown }[];
  responses: Record<string, object>;
  /** What the schemas do not say, from the first step of the plugin to the second. */
  'x-declared'?: { codes: [number, ErrorCode[]][]; isTagged: boolean };
};

type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
const { version, license } = JSON.parse(manifest) as { version: string; license: string };

const toJsonSchema = createJsonSchemaTransform({ skipList: [] });

const NOT_MODIFIED = { description: 'Not modified: the response has a tag of If-None-Match.' };

/** The part of the API that a path belongs to, which is the name of its tag: `API keys` as `/api-keys`. */
const PART = /\/v1(?:\/organizations\/:organizationId)?\/([^/]+)/;

/** Adds the errors and headers of each operation, and refers to what many operations share. */
function complete({ paths, components }: Document, otherCodes: readonly ErrorCode[]): void {
  const responses: Record<string, object> = {};
  const parameters: Record<string, object> = { ...REQUEST_HEADERS };
  const answered = new Set<ErrorCode>(otherCodes);
  const everywhere = JSON.stringify(paths);
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const { 'x-declared': { codes = [], isTagged = false } = {}, parameters: asked = [] } = operation;
      delete operation['x-declared'];
      const kind = { method, path, isTagged, isPaged: asked.some(({ name }) => name === 'offset') };
      const own = asked.map((parameter) => {
        const { name, required, example: value } = parameter;
        const isShared = everywhere.split(JSON.stringify(parameter)).length > 2;
        // The reference page would send it, and find the records of that example alone.
        const examples = { default: { value, 'x-disabled': true } };
        if (!required && value !== undefined) Object.assign(parameter, { example: undefined, examples });
        if (isShared) parameters[name] ??= parameter;
        return isDeepStrictEqual(parameters[name], parameter) ? referTo('parameters', name) : parameter;
      });
      Object.assign(operation, { parameters: [...own, ...requestHeadersOf(method, isTagged)] });
      for (const [status, response] of Object.entries(operation.responses))
        Object.assign(response, { headers: responseHeadersOf(Number(status), kind) });
      const response = (status: number, { name, response }: NamedResponse): void => {
        responses[name] = { ...response, headers: responseHeadersOf(status, kind) };
        operation.responses[status] = referTo('responses', name);
      };
      if (method === 'get' && isTagged) response(304, { name: 'NotModified', response: NOT_MODIFIED });
      for (const [status, ofStatus] of codes) {
        response(status, errorResponse(status, ofStatus));
        for (const code of ofStatus) answered.add(code);
      }
    }
  }
  const whole = JSON.stringify([paths, responses]);
  for (const [kind, made] of Object.entries({ headers: RESPONSE_HEADERS, parameters })) {
    const referred = Object.entries(made).filter(([name]) => whole.includes(`"${referTo(kind, name).$ref}"`));
    Object.assign(components, { responses, [kind]: Object.fromEntries(referred) });
  }
  Object.assign(components.schemas, errorSchemas([...answered].sort()));
}

/**
 * Lets an application describe itself. It must come before the routes.
 * @returns makes the document, when all routes are there
 */
export function describeApi(app: FastifyInstance, api: ApiDescription): () => object {
  const { title, description, tags, securitySchemes } = api;
  const contact = { name: 'The operator of this service' };
  const names = new Map(tags.map(({ name }) => [name.toLowerCase().replaceAll(' ', '-'), name]));
  const tagOf = (url: string): string => names.get(PART.exec(url)?.[1] ?? '') ?? url;
  // `identifier` is of 3.1, in the place of a URL; the types of the plugin know 3.0 only.
  const named = { name: license, identifier: license } as object;
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title, version, description, contact, license: named },
      servers: [
        { url: '/', description: 'This service.' },
        { url: 'https://api.agency.example', description: 'An example of the address of a service.' },
      ],
      tags,
      components: { securitySchemes },
      security: Object.keys(securitySchemes).map((scheme) => ({ [scheme]: [] })),
    } as OpenApi,
    transform: ({ schema, url, route, ...rest }) => {
      const method = String(route.method);
      const { successes, codes } = declared(schema?.response);
      const own = {
        codes: [...codesByStatus({ method, url }, codes)],
        isTagged: (['GET', 'PUT', 'PATCH'].includes(method) || 201 in successes) && !route.config?.credential,
      };
      const described = { tags: [tagOf(url)], ...schema, response: successes, 'x-declared': own };
      return toJsonSchema({ ...rest, url, route, schema: schema && described });
    },
    transformObject: (made) => {
      const document = tidied(createJsonSchemaTransformObject({})(made) as unknown as Document);
      complete(document, api.otherCodes);
      return deduplicated(document) as never;
    },
  });
  return () => app.swagger();
}
