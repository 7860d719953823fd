import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import type { ErrorCode } from '../contract/errors.ts';
import { isTagged } from '../http/conditional.ts';
import { codesByStatus, errorResponse, errorSchemas, type NamedResponse } from './errors.ts';
import { REQUEST_HEADERS, RESPONSE_HEADERS, requestHeadersOf, responseHeadersOf } from './headers.ts';
import { deduplicated, referTo, type Schema, tidied } from './tidy.ts';

type OpenApi = NonNullable<FastifyDynamicSwaggerOptions['openapi']>;

export type ApiDescription = {
  title: string;
  description: string;
  tags: { name: string; description: string }[];
  securitySchemes: NonNullable<NonNullable<OpenApi['components']>['securitySchemes']>;
  /** Codes of requests that match no documented operation. */
  otherCodes: ErrorCode[];
};

type Content = Record<string, { schema: { $ref?: string }; example?: unknown }>;

type Operation = {
  operationId: string;
  requestBody?: { content: Content };
  parameters?: { name: string; required?: boolean; example?: unknown }[];
  responses: Record<string, object>;
};

type Declared = { codes: Map<number, ErrorCode[]>; isTagged: boolean };

type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
const { version, license } = JSON.parse(manifest) as { version: string; license: string };

const toJsonSchema = createJsonSchemaTransform({ skipList: [] });

const NOT_MODIFIED = { description: 'Not modified: the response has a tag of If-None-Match.' };

const TAG_SEGMENT = /\/v1(?:\/organizations\/:organizationId)?\/([^/]+)/;

const exampleOf = (schema: Schema | undefined): unknown => (schema?.examples as unknown[] | undefined)?.[0];

/** Adds the errors and headers of each operation, and moves shared parameters to the components. */
function complete(
  { paths, components }: Document,
  declared: Map<string, Declared>,
  otherCodes: readonly ErrorCode[],
): void {
  const responses: Record<string, object> = {};
  const parameters: Record<string, object> = { ...REQUEST_HEADERS };
  const allCodes = new Set<ErrorCode>(otherCodes);
  const everywhere = JSON.stringify(paths);
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const { operationId, parameters: inRoute = [] } = operation;
      const { codes, isTagged } = declared.get(operationId) as Declared;
      const isOnce = Boolean(codes.get(409)?.includes('IDEMPOTENCY_KEY_REUSED'));
      const isPaged = inRoute.some(({ name }) => name === 'offset');
      const kind = { method, path, isTagged, isOnce, isPaged };
      const own = inRoute.map((parameter) => {
        const { name, required, example: value } = parameter;
        const isShared = everywhere.split(JSON.stringify(parameter)).length > 2;
        // Otherwise the reference page would send the example.
        const examples = { default: { value, 'x-disabled': true } };
        if (!required && value !== undefined) Object.assign(parameter, { example: undefined, examples });
        if (isShared) parameters[name] ??= parameter;
        return isDeepStrictEqual(parameters[name], parameter) ? referTo('parameters', name) : parameter;
      });
      // Importers such as Postman's read the example of the media type only.
      for (const media of Object.values(operation.requestBody?.content ?? {}))
        media.example ??= exampleOf(components.schemas[media.schema.$ref?.split('/').at(-1) ?? '']);
      Object.assign(operation, { parameters: [...own, ...requestHeadersOf(kind)] });
      for (const [status, response] of Object.entries(operation.responses))
        Object.assign(response, { headers: responseHeadersOf(Number(status), kind) });
      const response = (status: number, { name, response }: NamedResponse): void => {
        responses[name] = { ...response, headers: responseHeadersOf(status, kind) };
        operation.responses[status] = referTo('responses', name);
      };
      if (method === 'get' && isTagged) response(304, { name: 'NotModified', response: NOT_MODIFIED });
      for (const [status, ofStatus] of codes) {
        response(status, errorResponse(status, ofStatus));
        for (const code of ofStatus) allCodes.add(code);
      }
    }
  }
  const whole = JSON.stringify([paths, responses]);
  for (const [kind, shared] of Object.entries({ headers: RESPONSE_HEADERS, parameters })) {
    const referred = Object.entries(shared).filter(([name]) =>
      whole.includes(`"${referTo(kind, name).$ref}"`),
    );
    Object.assign(components, { responses, [kind]: Object.fromEntries(referred) });
  }
  Object.assign(components.schemas, errorSchemas([...allCodes].sort()));
}

/**
 * Call it before the routes are registered.
 * @returns builds the document; call it when the application is ready
 */
export function describeApi(app: FastifyInstance, api: ApiDescription): () => object {
  const { title, description, tags, securitySchemes } = api;
  const contact = { name: 'The operator of this service' };
  // `/team` belongs to the tag of `/team-members`.
  const tagOf = (segment: string): string | undefined =>
    tags.find(({ name }) => name.toLowerCase().replaceAll(' ', '-').startsWith(segment))?.name;
  const declared = new Map<string, Declared>();
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title, version, description, contact, license: { name: license, identifier: license } },
      servers: [],
      tags,
      components: { securitySchemes },
      security: Object.keys(securitySchemes).map((scheme) => ({ [scheme]: [] })),
    } as OpenApi,
    transform: ({ schema, url, route, ...rest }) => {
      const method = String(route.method);
      const { errorCodes = [], credential } = route.config ?? {};
      declared.set(String(schema?.operationId), {
        codes: codesByStatus({ method, url }, errorCodes),
        isTagged: isTagged(method, schema) && !credential,
      });
      const tag = tagOf(TAG_SEGMENT.exec(url)?.[1] ?? url) ?? url;
      return toJsonSchema({ ...rest, url, route, schema: schema && { tags: [tag], ...schema } });
    },
    transformObject: (input) => {
      const document = tidied(createJsonSchemaTransformObject({})(input) as unknown as Document);
      complete(document, declared, api.otherCodes);
      return deduplicated(document) as never;
    },
  });
  return () => app.swagger();
}
