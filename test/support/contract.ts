import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formatsPlugin from 'ajv-formats';
import { entityTag } from '../../rules/entity-tag.ts';
import type { ErrorCode } from '../../src/contract/errors.ts';

/**
 * Holds answers to an OpenAPI document: an operation, status, error code, header or field that it does not have is an error,
 * and so is a header that it promises and the answer lacks, or a tag of other bytes.
 */

export type Schema = Record<string, unknown> & { properties?: Record<string, Schema> };
type Media = { schema: Schema; examples?: Record<string, { value: unknown }> };
type Parameter = {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
  example?: unknown;
};
export type Operation = {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<
    string,
    { description: string; headers?: Record<string, unknown>; content?: Record<string, Media> }
  >;
};
export type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

type Shared = Record<string, Record<string, unknown>>;

/** The document at a path, with the responses, headers and parameters that operations share in their places. */
export function readDocument(path: string): Document {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const { responses = {}, headers = {}, parameters = {} } = JSON.parse(text).components;
  const shared: Shared = { responses, headers, parameters };
  const inPlace = (part: unknown): unknown =>
    JSON.parse(JSON.stringify(part), (_name, value) => {
      const [, kind = '', name = ''] = /^#\/components\/(\w+)\/([\w-]+)$/.exec(String(value?.$ref)) ?? [];
      const found = shared[kind]?.[name];
      return found === undefined ? value : inPlace(found);
    });
  return inPlace(JSON.parse(text)) as Document;
}

/** What integrators have, and what the dashboard's backend has. */
export const PUBLIC = readDocument('openapi/openapi.json');
export const INTERNAL = readDocument('openapi/dashboard.json');

/** The named schemas of both. */
export const SCHEMAS: Record<string, Schema> = {
  ...PUBLIC.components.schemas,
  ...INTERNAL.components.schemas,
};

/** Where a reference leads to; a closed list of values without the null that its type has too. */
export function resolved({ $ref, ...schema }: Schema): Schema {
  if (typeof $ref === 'string') return SCHEMAS[$ref.replace(/.*\//, '')] ?? {};
  return Array.isArray(schema.enum)
    ? { ...schema, enum: schema.enum.filter((value) => value !== null) }
    : schema;
}

export const isNullable = (schema: Schema): boolean => [resolved(schema).type].flat().includes('null');

/** A value of a schema, made of the examples of its fields, as readers and tools make one. */
export function exampleOf(schema: Schema): unknown {
  const [own] = (schema.examples ?? []) as unknown[];
  if (own !== undefined) return own;
  if (schema.$ref) return exampleOf(resolved(schema));
  if (schema.properties) {
    const fields = Object.entries(schema.properties);
    return Object.fromEntries(fields.map(([name, field]) => [name, exampleOf(field)]));
  }
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (Array.isArray(schema.type)) return null;
  const { items, minimum = 1 } = schema as { items?: Schema; minimum?: number };
  if (schema.type === 'array') return items?.$ref ? [exampleOf(items)] : [];
  if (schema.type === 'integer') return minimum;
  return schema.type === 'boolean' ? true : 'text';
}

/** Every operation of the document: `{ name: 'GET /v1/team', method: 'GET', path: '/v1/team', operation }`. */
export const operationsOf = (document: Document) =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([verb, operation]) => {
      const method = verb.toUpperCase();
      return { name: `${method} ${path}`, method, path, operation };
    }),
  );

/** Every operation of both documents. */
export const DOCUMENTED = [PUBLIC, INTERNAL].flatMap(operationsOf);

/** The name of the schema of an operation's JSON body; undefined where it takes none. */
export const bodyOf = ({ requestBody }: Operation): string | undefined => {
  const { $ref } = requestBody?.content['application/json']?.schema ?? {};
  return typeof $ref === 'string' ? $ref.replace(/.*\//, '') : undefined;
};

/** The error codes that the operation declares for the status: each has an example. */
export const declaredCodes = ({ responses }: Operation, status: number | string): ErrorCode[] =>
  Object.keys(responses[status]?.content?.['application/json']?.examples ?? {}) as ErrorCode[];

/** Closes every object: the document tolerates new fields so that clients do, an answer of today has exactly the documented ones. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const object = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, closed(inner)]));
  return object.type === 'object' && object.properties ? { additionalProperties: false, ...object } : object;
}

/** The same for a schema that is compiled outside of the document. */
const outside = (schema: Schema): Schema =>
  JSON.parse(JSON.stringify(closed(schema)).replaceAll('"$ref":"#', '"$ref":"document#'));

export type Answer = {
  method: string;
  url: string;
  status: number;
  headers: Record<string, string | undefined>;
  body: string;
};

/** What every answer may have without a word in the document. */
const OF_HTTP =
  /^(?:allow|cache-control|connection|content-length|content-type|date|keep-alive|transfer-encoding|vary|x-content-type-options)$/i;

/** Headers that an answer has for some requests and not for others. */
const SOMETIMES = /^(?:idempotency-replayed|link|preference-applied|x-ignored-parameters|x-known-values)$/;
const OF_LIMITS = /^(?:x-)?ratelimit/;

/** What is wrong with the headers of an answer that may have these; undefined where nothing is. */
function headersFault(
  declared: readonly string[],
  { status, headers, body }: Answer,
  code: string | undefined,
): string | undefined {
  const undeclared = Object.keys(headers).filter((name) => !OF_HTTP.test(name) && !declared.includes(name));
  if (undeclared.length > 0) return `${undeclared}, not in its document`;
  // A service without a limit speaks of none.
  const hasLimit = Object.keys(headers).some((name) => OF_LIMITS.test(name));
  const missing = declared.filter((name) => {
    if (name in headers || SOMETIMES.test(name)) return false;
    if (OF_LIMITS.test(name)) return hasLimit;
    return name !== 'retry-after' || status !== 409 || code === 'IDEMPOTENCY_IN_PROGRESS';
  });
  if (missing.length > 0) return `no ${missing}`;
  const { etag, 'cache-control': kept, vary } = headers;
  if (etag !== undefined && status !== 304 && etag !== entityTag(body)) return 'a tag of other bytes';
  const isPrivate = kept === 'private, no-cache' && vary === 'Authorization, x-api-key';
  const isSecret = kept === 'no-store' && vary === undefined && etag === undefined;
  // What is refused before its route is known.
  const isNoRequest = status === 400 && kept === undefined;
  return isPrivate || isSecret || isNoRequest ? undefined : `cache-control: ${kept} and vary: ${vary}`;
}

/** A path that cannot be decoded leads to no operation. */
function isDecodable(path: string): boolean {
  try {
    return decodeURIComponent(path) !== '';
  } catch {
    return false;
  }
}

export function contractOf(document: Document): (answer: Answer) => void {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formatsPlugin.default(ajv);
  ajv.addSchema({ $id: 'document', components: closed(document.components) });
  const operations = operationsOf(document).map(({ method, path, operation }) => ({
    method,
    form: new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]*')}$`),
    operation,
  }));
  const validators = new Map<string, ReturnType<typeof ajv.compile>>();

  return (answer) => {
    const { method, url, status, headers, body } = answer;
    // As a client resolves it: dots that lead upwards ask for another path.
    const path = new URL(url, 'http://localhost').pathname;
    const contentType = headers['content-type'];
    if (headers['x-content-type-options'] !== 'nosniff')
      throw new Error(`${method} ${path} answered ${status} without nosniff.`);
    const found =
      isDecodable(path) &&
      operations.find((candidate) => candidate.method === method && candidate.form.test(path));
    // A path outside the document may only say that it is not there.
    if (!found) {
      const code = JSON.parse(body).error?.code;
      if (code !== 'ROUTE_NOT_FOUND')
        throw new Error(`${method} ${path} is not in the document and answered ${status}.`);
      return;
    }
    const { operationId, responses } = found.operation;
    const response = responses[status];
    if (!response) throw new Error(`${operationId} answered ${status}, which its document does not have.`);
    const code = status < 400 ? undefined : JSON.parse(body).error?.code;
    const declared = Object.keys(response.headers ?? {}).map((name) => name.toLowerCase());
    const fault = headersFault(declared, answer, code);
    if (fault) throw new Error(`${operationId} answered ${status} with ${fault}.`);
    if (status === 304) {
      if (response.content || body !== '' || contentType !== undefined)
        throw new Error(`${operationId} answered 304 with a body.`);
      return;
    }
    if (!contentType?.startsWith('application/json'))
      throw new Error(`${operationId} answered ${contentType}.`);
    const codes = declaredCodes(found.operation, status);
    if (status >= 400 && !codes.includes(code))
      throw new Error(
        `${operationId} answered ${status} ${code}, and declares ${codes.join(', ') || 'no code'} for it.`,
      );
    const key = `${operationId} ${status}`;
    const schema = response.content?.['application/json']?.schema;
    if (!schema) throw new Error(`${key} has no schema in the document.`);
    const validate = validators.get(key) ?? ajv.compile(outside(schema));
    validators.set(key, validate);
    if (!validate(JSON.parse(body)))
      throw new Error(`${key}: ${ajv.errorsText(validate.errors)} in ${body.slice(0, 500)}`);
  };
}
