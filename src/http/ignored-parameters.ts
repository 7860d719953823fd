import { closest, distance } from 'fastest-levenshtein';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { validationFailed } from '../errors.ts';
import type { Fault } from './validation.ts';

/**
 * Names in a request that mean nothing here. They have no effect, and the answer says so in `X-Ignored-Parameters`;
 * under `Prefer: handling=strict` they are faults.
 */

declare module 'fastify' {
  interface FastifyRequest {
    /** Faults of the names that the request should not have; filled only when it asked for strict handling. */
    strictFaults: Fault[];
  }
}

/** The names that an object may have, each with what may be inside it. */
type Known = { fields: Map<string, Known | undefined> };

const MAX_NAMES = 20;
const MAX_NAME_LENGTH = 100;
const STRICT = /(?:^|[,;\s])handling\s*=\s*"?strict"?(?:$|[,;\s])/i;

/** Every object of the schema, reached through what wraps it: optional, nullable, default, array, transformed. */
function knownNames(schema: z.core.$ZodType): Known | undefined {
  if (schema instanceof z.ZodObject) {
    const shape = Object.entries(schema.shape as Record<string, z.core.$ZodType>);
    return { fields: new Map(shape.map(([field, inner]) => [field, knownNames(inner)])) };
  }
  if (schema instanceof z.ZodArray) return knownNames(schema.element);
  if (schema instanceof z.ZodPipe) return knownNames(schema.in) ?? knownNames(schema.out);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return knownNames(schema.unwrap());
  }
  return undefined;
}

type Unknown = { path: string; name: string; known: Known };

function unknownNames(value: unknown, known: Known | undefined, path: string, found: Unknown[]): void {
  if (known === undefined || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    // No list holds lists: one that does is a fault, and its depth is the sender's to choose.
    for (const [index, entry] of value.entries()) {
      if (!Array.isArray(entry)) unknownNames(entry, known, `${path}[${index}]`, found);
    }
    return;
  }
  for (const [name, inner] of Object.entries(value)) {
    if (found.length >= MAX_NAMES) return;
    const at = path === '' ? name : `${path}.${name}`;
    if (known.fields.has(name)) unknownNames(inner, known.fields.get(name), at, found);
    else found.push({ path: at, name, known });
  }
}

/**
 * A name of anybody's making, fit for a header: what is not plain is percent-encoded. Its length counts as encoded:
 * clients and proxies refuse answers with headers of more than a few kilobytes.
 */
function headerSafe(path: string): string {
  let safe = '';
  for (const character of path.slice(0, MAX_NAME_LENGTH).toWellFormed()) {
    const encoded = /[\w.[\]-]/.test(character) ? character : encodeURIComponent(character);
    if (safe.length + encoded.length > MAX_NAME_LENGTH) break;
    safe += encoded;
  }
  return safe;
}

function strictFault(path: string, { name, known }: Unknown): Fault {
  if (path.length > MAX_NAME_LENGTH)
    return { path: `${path.slice(0, MAX_NAME_LENGTH)}…`, message: 'is not a known name' };
  const near = known.fields.size > 0 ? closest(name, [...known.fields.keys()]) : undefined;
  const hint =
    near !== undefined && distance(name, near) <= 1 + near.length / 4 ? ` (did you mean ${near}?)` : '';
  return { path, message: `is not a known name${hint}` };
}

const NOTHING: Known = { fields: new Map() };

const isStrict = (request: FastifyRequest): boolean => STRICT.test(String(request.headers.prefer ?? ''));

/**
 * For a route that reads its body itself: says which names there had no effect.
 * @throws VALIDATION_FAILED when strict handling was asked for
 */
export function reportIgnored(request: FastifyRequest, reply: FastifyReply, paths: readonly string[]): void {
  if (paths.length === 0) return;
  const named = reply.getHeader('x-ignored-parameters');
  const names = [...(named === undefined ? [] : [String(named)]), ...paths.map(headerSafe)];
  reply.header('x-ignored-parameters', names.slice(0, MAX_NAMES).join(', '));
  if (isStrict(request))
    throw validationFailed(paths.map((path) => ({ path, message: 'is not a known name' })));
}

export function reportIgnoredParameters(app: FastifyInstance): void {
  const schemas = new WeakMap<object, Known>();
  const knownOf = (schema: unknown): Known => {
    if (!(schema instanceof z.ZodType)) return NOTHING;
    const known = schemas.get(schema) ?? knownNames(schema) ?? NOTHING;
    schemas.set(schema, known);
    return known;
  };

  function unknownOf(request: FastifyRequest): { query: Unknown[]; body: Unknown[] } {
    const schema = request.routeOptions.schema;
    const query: Unknown[] = [];
    const body: Unknown[] = [];
    unknownNames(request.query, knownOf(schema?.querystring), '', query);
    if (!Array.isArray(request.body)) unknownNames(request.body, knownOf(schema?.body), 'body', body);
    return { query, body };
  }

  app.decorateRequest('strictFaults');
  app.addHook('preValidation', (request, reply, done) => {
    request.strictFaults = [];
    const { query, body } = unknownOf(request);
    if (query.length + body.length > 0) {
      const names = [...query, ...body].map(({ path }) => headerSafe(path));
      reply.header('x-ignored-parameters', names.slice(0, MAX_NAMES).join(', '));
    }
    if (isStrict(request)) {
      reply.header('preference-applied', 'handling=strict');
      request.strictFaults = [
        ...query.map((unknown) => strictFault(`query.${unknown.path}`, unknown)),
        ...body.map((unknown) => strictFault(unknown.path, unknown)),
      ];
    }
    done();
  });
  // After validation, so that an invalid request lists these faults beside its others.
  app.addHook('preHandler', (request, _reply, done) => {
    done(request.strictFaults.length > 0 ? validationFailed(request.strictFaults) : undefined);
  });
}
