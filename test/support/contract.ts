import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formatsPlugin from 'ajv-formats';
import { entityTag } from '../../rules/entity-tag.ts';
import type { ErrorCode } from '../../src/contract/errors.ts';

/**
 * Compares responses with an OpenAPI document: an operation, status, error code, header or field that is not in the document
 * is an error, and so are a documented header that the response lacks and an ETag of another body.
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
  description: string;
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

/** The document at a path. References to shared responses, headers and parameters are replaced by what they refer to. */
export function readDocument(path: string): Document {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const { responses = {}, headers = {}, parameters = {} } = JSON.parse(text).components;
  const shared: Record<string, Record<string, unknown>> = { responses, headers, parameters };
  const dereferenced = (part: unknown): unknown =>
    JSON.parse(JSON.stringify(part), (_name, value) => {
      const [, kind = '', name = ''] = /^#\/components\/(\w+)\/([\w-]+)$/.exec(String(value?.$ref)) ?? [];
      const found = shared[kind]?.[name];
      return found === undefined ? value : dereferenced(found);
    });
  return dereferenced(JSON.parse(text)) as Document;
}

export const PUBLIC = readDocument('openapi/openapi.json');
export const INTERNAL = readDocument('openapi/dashboard.json');

export const SCHEMAS = { ...PUBLIC.components.schemas, ...INTERNAL.components.schemas };

/** The schema that a reference refers to. An `enum` loses its null, which the type has too. */
export function resolved({ $ref, ...schema }: Schema): Schema {
  if (typeof $ref === 'string') return SCHEMAS[$ref.replace(/.*\//, '')] ?? {};
  return Array.isArray(schema.enum)
    ? { ...schema, enum: schema.enum.filter((value) => value !== null) }
    : schema;
}

export const isNullable = (schema: Schema): boolean => [resolved(schema).type].flat().includes('null');

/** Every operation of the document: `{ name: 'GET /v1/team', method: 'GET', path: '/v1/team', operation }`. */
export const operationsOf = (document: Document) =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([verb, operation]) => {
      const method = verb.toUpperCase();
      return { name: `${method} ${path}`, method, path, operation };
    }),
  );

export const DOCUMENTED = [PUBLIC, INTERNAL].flatMap(operationsOf);

/** The operation with this name: `GET /v1/team`. */
export function operationOf(name: string): Operation {
  const found = DOCUMENTED.find((documented) => documented.name === name);
  if (!found) throw new Error(`No document has ${name}.`);
  return found.operation;
}

/** The name of the schema of an operation's JSON body; undefined if it has none. */
export const bodyOf = ({ requestBody }: Operation): string | undefined => {
  const { $ref } = requestBody?.content['application/json']?.schema ?? {};
  return typeof $ref === 'string' ? $ref.replace(/.*\//, '') : undefined;
};

/** The error codes that the operation declares for the status: each has an example. */
export const declaredCodes = ({ responses }: Operation, status: number | string): ErrorCode[] =>
  Object.keys(responses[status]?.content?.['application/json']?.examples ?? {}) as ErrorCode[];

/** The document lets clients expect new fields; a test expects exactly the documented ones. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const object = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, closed(inner)]));
  return object.type === 'object' && object.properties ? { additionalProperties: false, ...object } : object;
}

type Response = {
  method: string;
  url: string;
  status: number;
  headers: Record<string, string | undefined>;
  body: string;
};

/** Headers that no document names. */
const OF_HTTP =
  /^(?:allow|cache-control|connection|content-length|content-type|date|keep-alive|transfer-encoding|vary|x-content-type-options)$/;

/** Headers that depend on the request. */
const OPTIONAL = /^(?:idempotency-replayed|link|x-ignored-parameters)$/;
const OF_LIMITS = /^x-ratelimit/;

/** Less than 8 KiB, so that the status line and what Node and proxies add have space too. */
const MAX_HEADER_BYTES = 8_000;
const headerBytes = (headers: Response['headers']): number =>
  Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + String(value).length + 4, 0);

function headersError(
  declared: readonly string[],
  { status, headers, body }: Response,
  code: string | undefined,
): string | undefined {
  if (headerBytes(headers) > MAX_HEADER_BYTES) return `more than ${MAX_HEADER_BYTES} bytes`;
  const undeclared = Object.keys(headers).filter((name) => !OF_HTTP.test(name) && !declared.includes(name));
  if (undeclared.length > 0) return `${undeclared}, not in its document`;
  // A service without a rate limit sends none of its headers.
  const hasLimit = Object.keys(headers).some((name) => OF_LIMITS.test(name));
  const absent = declared.filter((name) => {
    if (name in headers || OPTIONAL.test(name)) return false;
    if (OF_LIMITS.test(name)) return hasLimit;
    return name !== 'retry-after' || status !== 409 || code === 'IDEMPOTENCY_IN_PROGRESS';
  });
  if (absent.length > 0) return `no ${absent}`;
  const { etag, 'cache-control': caching, vary } = headers;
  if (etag !== undefined && status !== 304 && etag !== entityTag(body)) return 'the ETag of another body';
  const isPrivate = caching === 'private, no-cache' && vary === 'Authorization, x-api-key';
  const isSecret = caching === 'no-store' && vary === undefined && etag === undefined;
  const isBeforeRouting = status === 400 && caching === undefined;
  return isPrivate || isSecret || isBeforeRouting ? undefined : `cache-control: ${caching} and vary: ${vary}`;
}

/** A path that cannot be decoded leads to no operation. */
function isDecodable(path: string): boolean {
  try {
    return decodeURIComponent(path) !== '';
  } catch {
    return false;
  }
}

/** Builds a check of responses, which throws where one differs from the document. */
export function contractOf(document: Document): (response: Response) => void {
  const ajv = new Ajv2020({ strict: false, allErrors: true, code: { optimize: false } });
  formatsPlugin.default(ajv);
  ajv.addSchema({ $id: 'document', ...(closed(document) as Document) });
  const operations = operationsOf(document).map(({ method, path, operation }) => ({
    method,
    path,
    pattern: new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]*')}$`),
    operation,
  }));
  // As a router does: what is written out goes before an id.
  operations.sort((one, other) => one.path.split('{').length - other.path.split('{').length);

  return (response) => {
    const { method, url, status, headers, body } = response;
    // A client resolves dots in a path before it sends them.
    const path = new URL(url, 'http://localhost').pathname;
    const contentType = headers['content-type'];
    if (headers['x-content-type-options'] !== 'nosniff')
      throw new Error(`${method} ${path} returned ${status} without nosniff.`);
    const found =
      isDecodable(path) &&
      operations.find((candidate) => candidate.method === method && candidate.pattern.test(path));
    if (!found) {
      const code = JSON.parse(body).error?.code;
      if (code !== 'ROUTE_NOT_FOUND')
        throw new Error(`${method} ${path} is not in the document and returned ${status}.`);
      return;
    }
    const { operationId, responses } = found.operation;
    const documented = responses[status];
    if (!documented) throw new Error(`${operationId} returned ${status}, which is not in its document.`);
    const code = status < 400 ? undefined : JSON.parse(body).error?.code;
    const declared = Object.keys(documented.headers ?? {}).map((name) => name.toLowerCase());
    const error = headersError(declared, response, code);
    if (error) throw new Error(`${operationId} returned ${status} with ${error}.`);
    if (status === 304) {
      if (documented.content || body !== '' || contentType !== undefined)
        throw new Error(`${operationId} returned 304 with a body.`);
      return;
    }
    if (!contentType?.startsWith('application/json'))
      throw new Error(`${operationId} returned ${contentType}.`);
    const codes = declaredCodes(found.operation, status);
    if (status >= 400 && !codes.includes(code))
      throw new Error(`${operationId} returned ${status} ${code}, and declares ${codes}.`);
    // Most responses share a schema, and compiling one takes 10 ms.
    const at = `#/paths/${encodeURI(found.path.replaceAll('/', '~1'))}/${method.toLowerCase()}/responses/${status}`;
    const { $ref = `${at}/content/application~1json/schema` } =
      documented.content?.['application/json']?.schema ?? {};
    const validate = ajv.getSchema(`document${$ref}`);
    if (!validate) throw new Error(`${operationId} ${status} has no schema in the document.`);
    if (!validate(JSON.parse(body)))
      throw new Error(`${operationId} ${status}: ${ajv.errorsText(validate.errors)}: ${body.slice(0, 500)}`);
  };
}
