import { closest, distance } from 'fastest-levenshtein';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type FieldError, validationFailed } from '../contract/errors.ts';

const MAX_NAMES = 20;
const MAX_NAME_LENGTH = 100;
const STRICT = /(?:^|[,;\s])handling\s*=\s*"?strict"?(?:$|[,;\s])/i;

/** The fields of an object, or the schema of the entries of a list. */
type Parts = { shape?: z.core.$ZodShape; element?: unknown };

/** Not by zod's `instanceof`, which takes a microsecond. */
function partsOf(schema: unknown): Parts {
  const def: Parts & { innerType?: unknown; in?: unknown; out?: unknown } = Object(schema).def ?? {};
  if (def.innerType) return partsOf(def.innerType);
  return def.out ? { ...partsOf(def.in), ...partsOf(def.out) } : def;
}

type Unknown = { path: string; name: string; names: string[]; isInResponse: boolean };

/** The names in the value that its schema does not have. */
function* unknownNames(
  value: unknown,
  requestSchema: unknown,
  path: string,
  responseSchema?: unknown,
): Generator<Unknown> {
  if (typeof value !== 'object' || value === null) return;
  const [known, response] = [partsOf(requestSchema), partsOf(responseSchema)];
  if (Array.isArray(value)) {
    if (known.element === undefined) return;
    for (const [index, entry] of value.entries())
      yield* unknownNames(entry, known.element, `${path}[${index}]`, response.element);
    return;
  }
  const { shape } = known;
  if (!shape) return;
  for (const name in value) {
    const at = path === '' ? name : `${path}.${name}`;
    if (Object.hasOwn(shape, name))
      yield* unknownNames(Reflect.get(value, name), shape[name], at, response.shape?.[name]);
    else {
      const isInResponse = Object.hasOwn(response.shape ?? {}, name);
      yield { path: at, name, names: Object.keys(shape), isInResponse };
    }
  }
}

/** Limited in length, because clients and proxies reject long headers. */
const headerSafe = (path: string): string =>
  path
    .slice(0, MAX_NAME_LENGTH)
    .toWellFormed()
    .replace(/[^\w.[\]-]+/g, encodeURIComponent)
    .slice(0, MAX_NAME_LENGTH);

const UNKNOWN_NAME = 'is unknown';

export function unknownName(path: string, name: string, names: readonly string[]): FieldError {
  if (path.length > MAX_NAME_LENGTH)
    return { path: `${path.slice(0, MAX_NAME_LENGTH)}…`, message: UNKNOWN_NAME };
  if (names.length === 0) return { path, message: UNKNOWN_NAME };
  const near = closest(name, names);
  const isNear = distance(name, near) <= 1 + near.length / 4;
  const hint = isNear ? `did you mean ${near}?` : `known names: ${names.join(', ')}`;
  return { path, message: `${UNKNOWN_NAME} (${hint})` };
}

const strictError = ({ path, name, names, isInResponse }: Unknown): FieldError =>
  isInResponse ? { path, message: 'is read-only: only responses have it' } : unknownName(path, name, names);

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

/** Not in the hook: zod takes a twentieth of a get to build an object. */
const NO_NAMES = z.object();

export function reportIgnoredParameters(app: FastifyInstance): void {
  app.decorateRequest('strictErrors');
  app.addHook('preValidation', (request, reply, done) => {
    request.strictErrors = [];
    const schema = request.routeOptions.schema ?? {};
    const query = unknownNames(request.query, schema.querystring ?? NO_NAMES, '')
      .take(MAX_NAMES)
      .toArray();
    const fields = schema.body ?? NO_NAMES;
    const inBody = () => unknownNames(request.body, fields, 'body', responseSchemaOf(schema.response));
    nameIgnored(
      reply,
      [...query, ...inBody().take(MAX_NAMES)].map(({ path }) => path),
    );
    if (isStrict(request)) {
      // A PATCH or PUT may send back a record as it was read, with its read-only fields. In a POST they are a mistake.
      const rejected = inBody()
        .filter(({ isInResponse }) => request.method === 'POST' || !isInResponse)
        .take(MAX_NAMES);
      const ofQuery = query.map((unknown) => ({ ...unknown, path: `query.${unknown.path}` }));
      request.strictErrors = [...ofQuery, ...rejected].map(strictError);
    }
    done();
  });
  // After validation, so that an invalid request lists these errors with the others.
  app.addHook('preHandler', (request, _reply, done) => {
    done(request.strictErrors.length > 0 ? validationFailed(request.strictErrors) : undefined);
  });
}
