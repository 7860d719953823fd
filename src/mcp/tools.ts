import { hash } from 'node:crypto';
import { type ErrorBody, errorBody, validationFailed } from '../errors.ts';
import { UNKNOWN_NAME, unknownName } from '../http/ignored-parameters.ts';
import type { Fault } from '../http/validation.ts';

/** The operations of /v1 as tools of the Model Context Protocol, made from their document. */

type Schema = Record<string, unknown>;

type Operation = {
  operationId: string;
  summary: string;
  description: string;
  parameters?: { name: string; in: string; required: boolean; description: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
};

export type ApiDocument = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

type Tool = {
  name: string;
  title: string;
  description: string;
  inputSchema: { type: 'object'; properties: Record<string, Schema>; required: string[] };
  annotations: {
    readOnlyHint: boolean;
    destructiveHint: boolean;
    idempotentHint: boolean;
    openWorldHint: boolean;
  };
};

type Arguments = Record<string, unknown>;

/** The request that a call of a tool is. */
type CallRequest = { method: string; url: string; headers: Record<string, string>; body?: Arguments };

/** A tool, and what a call of it means. */
export type OperationTool = {
  tool: Tool;
  /** @throws VALIDATION_FAILED naming the arguments that no request can be made of */
  toRequest: (given: Arguments) => CallRequest;
  /** The error of the route, with the names that the agent knows. */
  explain: (error: ErrorBody) => ErrorBody;
};

const REFERENCE = '#/components/schemas/';

/** The schema with the ones that it refers to inside: many models follow no reference. */
function inlined(value: unknown, schemas: Record<string, Schema>): unknown {
  if (Array.isArray(value)) return value.map((entry) => inlined(entry, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, ...rest } = value as Schema;
  if (typeof $ref === 'string') return inlined(schemas[$ref.slice(REFERENCE.length)], schemas);
  return Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, inlined(inner, schemas)]));
}

const takesNull = ({ type, anyOf }: Schema): boolean =>
  [type].flat().includes('null') || (Array.isArray(anyOf) && anyOf.some(takesNull));

/** Null in a filter says no more than leaving the filter out, and some models refuse a list of types. */
const withoutNull = (schema: Schema): Schema =>
  Array.isArray(schema.type) ? { ...schema, type: schema.type.find((type) => type !== 'null') } : schema;

/** Becomes the header Idempotency-Key. */
const CREATE_ONCE = 'idempotencyKey';

const CREATE_ONCE_SCHEMA: Schema = {
  type: 'string',
  description:
    'A text that you make for this one record, and repeat when you do not know whether the call before did it: the same key and arguments within 24 hours make one record.',
};

/** The arguments of an operation's path and query. */
const urlArgumentsOf = ({ parameters = [] }: Operation) =>
  parameters.filter((parameter) => parameter.in !== 'header');

function inputOf(method: string, operation: Operation, schemas: Record<string, Schema>): Tool['inputSchema'] {
  const parameters = urlArgumentsOf(operation);
  const body = inlined(operation.requestBody?.content['application/json']?.schema ?? {}, schemas) as {
    properties?: Record<string, Schema>;
    required?: string[];
  };
  return {
    type: 'object',
    properties: {
      ...Object.fromEntries(
        parameters.map(({ name, description, schema }) => [name, { ...withoutNull(schema), description }]),
      ),
      ...body.properties,
      ...(method === 'post' && { [CREATE_ONCE]: CREATE_ONCE_SCHEMA }),
    },
    required: [
      ...parameters.filter(({ required }) => required).map(({ name }) => name),
      ...(body.required ?? []),
    ],
  };
}

/** What a value cannot be that becomes text of a URL or a header. The text itself is for the route to judge. */
function textFault({ type }: Schema, value: unknown): string | undefined {
  if (typeof value === 'string')
    return value.isWellFormed() ? undefined : 'must not contain a lone surrogate';
  if (type === 'integer') return typeof value === 'number' ? undefined : 'must be an integer';
  return 'must be a string';
}

/** Null in an argument that cannot be null is an argument left out: models that must name all arguments send it. */
const meant = ({ properties }: Tool['inputSchema'], given: Arguments): Arguments =>
  Object.fromEntries(
    Object.entries(given).filter(([name, value]) => {
      const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
      return value !== null || schema === undefined || takesNull(schema);
    }),
  );

/**
 * What no request can be made of. When there is nothing, the route judges, which knows more.
 * @param asText the arguments that become text
 */
function faultsOf(
  { properties, required }: Tool['inputSchema'],
  asText: readonly string[],
  given: Arguments,
): Fault[] {
  const faults = [
    ...required
      .filter((name) => given[name] === undefined || (given[name] === '' && asText.includes(name)))
      .map((path) => ({ path, message: 'is required' })),
    ...asText.flatMap((path) => {
      const message = path in given ? textFault(properties[path] ?? {}, given[path]) : undefined;
      return message === undefined ? [] : [{ path, message }];
    }),
  ];
  if (faults.length === 0) return faults;
  const names = Object.keys(properties);
  const unknown = Object.keys(given).filter((name) => !names.includes(name));
  return [...faults, ...unknown.map((name) => unknownName(name, name, names))];
}

/** Any JSON as text of a query. An object can have a `toString` of its own, so `String` does not serve. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** What the path does not take goes into the body where there is one, and else into the query, unknown names too. */
function requestOf(method: string, path: string, hasBody: boolean, given: Arguments): CallRequest {
  const { [CREATE_ONCE]: createOnce, ...left } = given;
  const filled = path.replace(/\{(\w+)\}/g, (_place, name: string) => {
    const value = String(left[name]);
    delete left[name];
    // Dots alone would lead to another path, however they are encoded. In quotes they are an id that nothing has.
    return encodeURIComponent(/^\.{1,2}$/.test(value) ? `"${value}"` : value);
  });
  const query = new URLSearchParams(
    hasBody ? [] : Object.entries(left).map(([name, value]) => [name, textOf(value)] as [string, string]),
  );
  return {
    method,
    url: query.size > 0 ? `${filled}?${query}` : filled,
    // Hashed, so that any text fits into a header.
    headers: createOnce ? { 'idempotency-key': hash('sha256', String(createOnce), 'base64url') } : {},
    ...(hasBody && { body: left }),
  };
}

/** `body.contacts[0]` is the argument `contacts[0]`. */
const argumentOf = (path: string): string => path.replace(/^(?:body|query)\./, '');

/** In the words of the route but for its paths. Of all arguments one may be meant, not of the query's or the body's only. */
function explained({ error }: ErrorBody, names: readonly string[]): ErrorBody {
  const { code, message, details = [] } = error;
  const renamed = details.map((detail) => {
    const path = argumentOf(detail.path);
    return 'message' in detail && detail.message === UNKNOWN_NAME
      ? unknownName(path, path, names)
      : { ...detail, path };
  });
  const faults = renamed.filter((detail) => 'message' in detail);
  if (code === 'VALIDATION_FAILED' && faults.length > 0) return errorBody(validationFailed(faults));
  const said = details.reduce((text, { path }) => text.replaceAll(path, argumentOf(path)), message);
  return { error: { ...error, message: said, ...(error.details && { details: renamed }) } };
}

function toolOf(
  method: string,
  path: string,
  operation: Operation,
  schemas: Record<string, Schema>,
): OperationTool {
  const inputSchema = inputOf(method, operation, schemas);
  const names = Object.keys(inputSchema.properties);
  const asText = [...urlArgumentsOf(operation).map(({ name }) => name), CREATE_ONCE].filter((name) =>
    names.includes(name),
  );
  return {
    tool: {
      name: operation.operationId,
      title: operation.summary,
      description: operation.description,
      inputSchema,
      annotations: {
        readOnlyHint: method === 'get',
        // A change overwrites what was there.
        destructiveHint: method === 'patch' || method === 'delete',
        idempotentHint: method !== 'post',
        openWorldHint: false,
      },
    },
    toRequest(given) {
      const sent = meant(inputSchema, given);
      const faults = faultsOf(inputSchema, asText, sent);
      if (faults.length > 0) throw validationFailed(faults);
      return requestOf(method.toUpperCase(), path, operation.requestBody !== undefined, sent);
    },
    explain: (error) => explained(error, names),
  };
}

/** Every operation as a tool. */
export const toolsOf = ({ paths, components }: ApiDocument): OperationTool[] =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) =>
      toolOf(method, path, operation, components.schemas),
    ),
  );
