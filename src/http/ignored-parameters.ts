import { closest, distance } from 'fastest-levenshtein';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type FieldError, validationFailed } from '../contract/errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The errors of unknown names; empty without `Prefer: handling=strict`. */
    strictErrors: FieldError[];
  }
  interface FastifyContextConfig {
    knownQuery?: Known;
    knownBody?: Known;
  }
}

type Known = {
  fields: ReadonlyMap<string, Known | undefined>;
  responseFields: ReadonlySet<string>;
};

const MAX_NAMES = 20;
const MAX_NAME_LENGTH = 100;
const STRICT = /(?:^|[,;\s])handling\s*=\s*"?strict"?(?:$|[,;\s])/i;

const NOTHING: Known = { fields: new Map(), responseFields: new Set() };

function unwrapped(schema: unknown): z.ZodObject | z.ZodArray | undefined {
  if (schema instanceof z.ZodObject || schema instanceof z.ZodArray) return schema;
  if (schema instanceof z.ZodPipe) return unwrapped(schema.in) ?? unwrapped(schema.out);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return unwrapped(schema.unwrap());
  }
  return undefined;
}

function knownNames(requestSchema: unknown, responseSchema: unknown): Known | undefined {
  const schema = unwrapped(requestSchema);
  const response = unwrapped(responseSchema);
  if (schema instanceof z.ZodArray) {
    return knownNames(schema.element, response instanceof z.ZodArray ? response.element : undefined);
  }
  if (schema === undefined) return undefined;
  const responseFields = response instanceof z.ZodObject ? response.shape : {};
  const fields = Object.entries(schema.shape).map(
    ([field, inner]) => [field, knownNames(inner, responseFields[field])] as const,
  );
  return {
    fields: new Map(fields),
    responseFields: new Set(Object.keys(responseFields)),
  };
}

type Unknown = { path: string; name: string; known: Known };

function unknownNames(
  value: unknown,
  known: Known | undefined,
  path: string,
  found: Unknown[] = [],
): Unknown[] {
  if (known === undefined || typeof value !== 'object' || value === null) return found;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      if (found.length >= MAX_NAMES) break;
      // No schema has lists of lists, and the sender would choose the depth of the recursion.
      if (!Array.isArray(value[index])) unknownNames(value[index], known, `${path}[${index}]`, found);
    }
    return found;
  }
  for (const name in value) {
    if (found.length >= MAX_NAMES) break;
    const at = path === '' ? name : `${path}.${name}`;
    if (known.fields.has(name)) {
      unknownNames((value as Record<string, unknown>)[name], known.fields.get(name), at, found);
    } else found.push({ path: at, name, known });
  }
  return found;
}

/** Limited in length, because clients and proxies reject long headers. */
function headerSafe(path: string): string {
  let safe = '';
  for (const character of path.slice(0, MAX_NAME_LENGTH).toWellFormed()) {
    const encoded = /[\w.[\]-]/.test(character) ? character : encodeURIComponent(character);
    if (safe.length + encoded.length > MAX_NAME_LENGTH) break;
    safe += encoded;
  }
  return safe;
}

const UNKNOWN_NAME = 'is unknown';

export function unknownName(path: string, name: string, names: readonly string[]): FieldError {
  if (path.length > MAX_NAME_LENGTH)
    return { path: `${path.slice(0, MAX_NAME_LENGTH)}…`, message: UNKNOWN_NAME };
  const near = names.length > 0 ? closest(name, names) : undefined;
  if (near === undefined) return { path, message: UNKNOWN_NAME };
  const isNear = distance(name, near) <= 1 + near.length / 4;
  return {
    path,
    message: `${UNKNOWN_NAME} (${isNear ? `did you mean ${near}?` : `known names: ${names.join(', ')}`})`,
  };
}

function strictError(path: string, { name, known }: Unknown): FieldError {
  return known.responseFields.has(name)
    ? { path, message: 'is read-only: only responses have it' }
    : unknownName(path, name, [...known.fields.keys()]);
}

/** A PATCH or PUT may send back a record as it was read, with its read-only fields. In a POST they are a mistake. */
const isRejected = ({ name, known }: Unknown, method: string): boolean =>
  method === 'POST' || !known.responseFields.has(name);

function responseSchemaOf(responses: unknown): unknown {
  const { 200: ok, 201: created = ok } = (responses ?? {}) as Record<number, unknown>;
  const { content } = (created ?? {}) as { content?: Record<string, { schema?: unknown }> };
  return content?.['application/json']?.schema;
}

const isStrict = (request: FastifyRequest): boolean => STRICT.test(String(request.headers.prefer ?? ''));

/** Adds `paths` to X-Ignored-Parameters. */
export function nameIgnored(reply: FastifyReply, paths: readonly string[]): void {
  if (paths.length === 0) return;
  const before = reply.getHeader('x-ignored-parameters');
  const names = [...(before === undefined ? [] : String(before).split(', ')), ...paths.map(headerSafe)];
  reply.header('x-ignored-parameters', names.slice(0, MAX_NAMES).join(', '));
}

/**
 * For a route that reads its body itself: adds `paths` to X-Ignored-Parameters.
 * @throws VALIDATION_FAILED with `Prefer: handling=strict`
 */
export function reportIgnored(request: FastifyRequest, reply: FastifyReply, paths: readonly string[]): void {
  nameIgnored(reply, paths);
  if (isStrict(request) && paths.length > 0)
    throw validationFailed(paths.map((path) => ({ path, message: UNKNOWN_NAME })));
}

/** Call it before the routes are registered. */
export function reportIgnoredParameters(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const { querystring, body, response } = route.schema ?? {};
    const knownQuery = knownNames(querystring, undefined) ?? NOTHING;
    const knownBody = knownNames(body, responseSchemaOf(response)) ?? NOTHING;
    route.config = { ...route.config, knownQuery, knownBody };
  });
  app.decorateRequest('strictErrors');
  app.addHook('preValidation', (request, reply, done) => {
    request.strictErrors = [];
    const { knownQuery, knownBody } = request.routeOptions.config;
    const query = unknownNames(request.query, knownQuery, '');
    const body = Array.isArray(request.body) ? [] : unknownNames(request.body, knownBody, 'body');
    nameIgnored(
      reply,
      [...query, ...body].map(({ path }) => path),
    );
    if (isStrict(request)) {
      reply.header('preference-applied', 'handling=strict');
      request.strictErrors = [
        ...query.map((unknown) => strictError(`query.${unknown.path}`, unknown)),
        ...body
          .filter((unknown) => isRejected(unknown, request.method))
          .map((unknown) => strictError(unknown.path, unknown)),
      ];
    }
    done();
  });
  // After validation, so that an invalid request lists these errors with the others.
  app.addHook('preHandler', (request, _reply, done) => {
    done(request.strictErrors.length > 0 ? validationFailed(request.strictErrors) : undefined);
  });
}
