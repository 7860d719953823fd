import { hash } from 'node:crypto';
import { resourceOf } from '../api-keys/authentication.ts';
import { type ErrorBody, errorBody, validationFailed } from '../contract/errors.ts';
import { UNKNOWN_NAME, unknownName } from '../http/ignored-parameters.ts';
import type { FieldError } from '../http/validation.ts';

/** Generates the tools of the Model Context Protocol from the OpenAPI document of /v1. */

type Schema = Record<string, unknown>;

type Parameter = { name: string; in: string; required: boolean; description: string; schema: Schema };

type Operation = {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  /** Without headers. */
  parameters: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
};

type Documented = Omit<Operation, 'parameters'> & { parameters?: (Parameter | { $ref: string })[] };

export type ApiDocument = {
  paths: Record<string, Record<string, Documented>>;
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> };
};

export type Tool = {
  name: string;
  description: string;
  inputSchema: { type: 'object'; properties: Record<string, Schema>; required?: string[] };
  annotations: {
    readOnlyHint: boolean;
    /** Of tools that write. */
    destructiveHint?: boolean;
    idempotentHint?: boolean;
    openWorldHint: boolean;
  };
};

type Arguments = Record<string, unknown>;

type CallRequest = {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: Arguments;
  /** The fields that each record is cut to; undefined: all. */
  fields?: readonly string[];
};

export type OperationTool = {
  tool: Tool;
  method: string;
  resource: string;
  /** @throws VALIDATION_FAILED naming the arguments that no request can carry */
  toRequest: (given: Arguments) => CallRequest;
  /** The error of the route, with the names of the arguments. */
  explain: (error: ErrorBody) => ErrorBody;
};

const REFERENCE = '#/components/schemas/';

/** Inlines references: many models do not follow them. */
function inlined(value: unknown, schemas: Record<string, Schema>): unknown {
  if (Array.isArray(value)) return value.map((entry) => inlined(entry, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, ...rest } = value as Schema;
  if (typeof $ref === 'string') return inlined(schemas[$ref.slice(REFERENCE.length)], schemas);
  return Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, inlined(inner, schemas)]));
}

const takesNull = ({ type }: Schema): boolean => [type].flat().includes('null');

/** A null filter means the same as none, and some models reject a list of types. */
const withoutNull = (schema: Schema): Schema =>
  Array.isArray(schema.type) ? { ...schema, type: schema.type.find((type) => type !== 'null') } : schema;

/** Becomes the header Idempotency-Key. */
const CREATE_ONCE = 'idempotencyKey';

const CREATE_ONCE_SCHEMA: Schema = {
  type: 'string',
  description:
    'A string that you choose for this record, and send again when you retry. Within 24 hours, the same key and arguments create one record.',
};

/** Limits the fields of each record. Responses of /v1 always have all. */
const FIELDS = 'fields';

type RecordFields = {
  names: readonly string[];
  /**
   * An earlier tool whose schema lists the same fields: an agent reads all schemas before its first question.
   */
  namedBy: string | undefined;
};

const fieldsSchema = ({ names, namedBy }: RecordFields): Schema =>
  namedBy === undefined
    ? { type: 'array', items: { type: 'string', enum: names } }
    : { type: 'array', items: { type: 'string' }, description: `The field names of ${namedBy}.` };

/** The fields of a record in the response, or of each record of a list. */
function recordFieldsOf({ responses }: Operation, schemas: Record<string, Schema>): string[] {
  type Response = { properties: Record<string, Schema> };
  const response = inlined(responses[200]?.content?.['application/json']?.schema, schemas) as Response;
  const { items = response } = response.properties.data ?? {};
  return Object.keys((items as Response).properties);
}

/** Bounded, so that a list with repetitions is not read to its end. */
function fieldErrors(value: unknown, names: readonly string[]): FieldError[] {
  if (!Array.isArray(value) || value.length > names.length)
    return [{ path: FIELDS, message: `must be an array of at most ${names.length} field names` }];
  return value.flatMap((name: unknown, index): FieldError[] => {
    const path = `${FIELDS}[${index}]`;
    if (typeof name !== 'string') return [{ path, message: 'must be a string' }];
    return names.includes(name) ? [] : [unknownName(path, name.slice(0, 100), names)];
  });
}

type Row = Record<string, unknown>;

export function cutTo(fields: readonly string[], body: string): string {
  const cut = (record: Row): Row =>
    Object.fromEntries(Object.entries(record).filter(([name]) => fields.includes(name)));
  const response = JSON.parse(body) as Row & { data?: Row[] };
  return JSON.stringify(response.data ? { ...response, data: response.data.map(cut) } : cut(response));
}

/** Name and type describe them well enough, and every list has them. */
const KNOWN_BY_NAME = ['limit', 'offset', 'createdSince', 'createdBefore', 'updatedSince', 'updatedBefore'];

const WIDEST = 2 ** 31 - 1;

/**
 * An argument of the path or query, with the bounds that matter to an agent. The error message has the
 * others.
 */
function argumentSchema({ name, in: place, description, schema }: Parameter): Schema {
  const { minLength: _, maxLength: __, maximum, format, ...rest } = withoutNull(schema);
  return {
    ...rest,
    ...(format === 'date-time' && { format }),
    ...(maximum !== undefined && maximum !== WIDEST && { maximum }),
    ...(place !== 'path' && !KNOWN_BY_NAME.includes(name) && { description }),
  };
}

function inputOf(
  method: string,
  operation: Operation,
  schemas: Record<string, Schema>,
  recordFields: RecordFields | undefined,
): Tool['inputSchema'] {
  const { parameters } = operation;
  const body = inlined(operation.requestBody?.content['application/json']?.schema ?? {}, schemas) as {
    properties?: Record<string, Schema>;
    required?: string[];
  };
  const required = [
    ...parameters.filter(({ required }) => required).map(({ name }) => name),
    ...(body.required ?? []),
  ];
  return {
    type: 'object',
    properties: {
      ...Object.fromEntries(parameters.map((parameter) => [parameter.name, argumentSchema(parameter)])),
      ...body.properties,
      ...(method === 'post' && { [CREATE_ONCE]: CREATE_ONCE_SCHEMA }),
      ...(recordFields && { [FIELDS]: fieldsSchema(recordFields) }),
    },
    ...(required.length > 0 && { required }),
  };
}

/** Checks what becomes text of a URL or header. The route validates the text itself. */
function textError({ type }: Schema, value: unknown): string | undefined {
  if (typeof value === 'string')
    return value.isWellFormed() ? undefined : 'must not contain a lone surrogate';
  if (type === 'integer') return typeof value === 'number' ? undefined : 'must be an integer';
  return 'must be a string';
}

/** Models that must name every argument send null for an absent one. */
const resolved = ({ properties }: Tool['inputSchema'], given: Arguments): Arguments =>
  Object.fromEntries(
    Object.entries(given).filter(([name, value]) => {
      const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
      return value !== null || schema === undefined || takesNull(schema);
    }),
  );

/**
 * Only what no request can carry; the route validates everything else.
 * @param asText the arguments that become text
 * @param recordFields the fields of a record, if the tool takes `fields`
 */
function fieldErrorsOf(
  { properties, required = [] }: Tool['inputSchema'],
  asText: readonly string[],
  recordFields: readonly string[] | undefined,
  given: Arguments,
): FieldError[] {
  const errors = [
    ...required
      .filter((name) => given[name] === undefined || (given[name] === '' && asText.includes(name)))
      .map((path) => ({ path, message: 'is required' })),
    ...asText.flatMap((path) => {
      const message = path in given ? textError(properties[path] ?? {}, given[path]) : undefined;
      return message === undefined ? [] : [{ path, message }];
    }),
    ...(recordFields && given[FIELDS] !== undefined ? fieldErrors(given[FIELDS], recordFields) : []),
  ];
  if (errors.length === 0) return errors;
  const names = Object.keys(properties);
  const unknown = Object.keys(given).filter((name) => !names.includes(name));
  return [...errors, ...unknown.map((name) => unknownName(name, name, names))];
}

/** `String` would fail for an object with its own `toString`. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** What the path does not take goes into the body if there is one, else into the query; unknown names too. */
function requestOf(method: string, path: string, hasBody: boolean, given: Arguments): CallRequest {
  const { [CREATE_ONCE]: createOnce, ...left } = given;
  const filled = path.replace(/\{(\w+)\}/g, (_place, name: string) => {
    const value = String(left[name]);
    delete left[name];
    // Dots alone would change the path, even encoded. In quotes they are an unknown id.
    return encodeURIComponent(/^\.{1,2}$/.test(value) ? `"${value}"` : value);
  });
  const query = new URLSearchParams(
    hasBody ? [] : Object.entries(left).map(([name, value]) => [name, textOf(value)] as [string, string]),
  );
  return {
    method,
    url: query.size > 0 ? `${filled}?${query}` : filled,
    // Hashed, because a header cannot have every text.
    headers: createOnce ? { 'idempotency-key': hash('sha256', String(createOnce), 'base64url') } : {},
    ...(hasBody && { body: left }),
  };
}

/** `body.contacts[0]` is the argument `contacts[0]`. */
const argumentOf = (path: string): string => path.replace(/^(?:body|query)\./, '');

/** A route's hint, which knows only the names of its query or body. */
const KNOWN_ELSEWHERE = new RegExp(`^${UNKNOWN_NAME}(?: \\(known names: .*)?$`);

/** The route's error, with a hint that knows all arguments, and without its paths. */
function explained({ error }: ErrorBody, names: readonly string[]): ErrorBody {
  const { code, message, details = [] } = error;
  const renamed = details.map((detail) => {
    const path = argumentOf(detail.path);
    const isArgument = /^\w+$/.test(path) && 'message' in detail && KNOWN_ELSEWHERE.test(detail.message);
    return isArgument ? unknownName(path, path, names) : { ...detail, path };
  });
  const errors = renamed.filter((detail) => 'message' in detail);
  if (code === 'VALIDATION_FAILED' && errors.length > 0) return errorBody(validationFailed(errors));
  const said = details.reduce((text, { path }) => text.replaceAll(path, argumentOf(path)), message);
  return { error: { ...error, message: said, ...(error.details && { details: renamed }) } };
}

function toolOf(
  method: string,
  path: string,
  operation: Operation,
  schemas: Record<string, Schema>,
  recordFields: RecordFields | undefined,
): OperationTool {
  const inputSchema = inputOf(method, operation, schemas, recordFields);
  const names = Object.keys(inputSchema.properties);
  const asText = [...operation.parameters.map(({ name }) => name), CREATE_ONCE].filter((name) =>
    names.includes(name),
  );
  return {
    tool: {
      name: operation.operationId,
      description: operation.description,
      inputSchema,
      annotations: {
        readOnlyHint: method === 'get',
        ...(method !== 'get' && {
          destructiveHint: method === 'patch' || method === 'delete',
          idempotentHint: method !== 'post',
        }),
        openWorldHint: false,
      },
    },
    method: method.toUpperCase(),
    resource: resourceOf(path),
    toRequest(given) {
      const sent = resolved(inputSchema, given);
      const errors = fieldErrorsOf(inputSchema, asText, recordFields?.names, sent);
      if (errors.length > 0) throw validationFailed(errors);
      const hasBody = operation.requestBody !== undefined;
      if (!recordFields) return requestOf(method.toUpperCase(), path, hasBody, sent);
      const { [FIELDS]: fields, ...others } = sent as Arguments & { [FIELDS]?: string[] };
      return { ...requestOf(method.toUpperCase(), path, hasBody, others), ...(fields?.length && { fields }) };
    },
    explain: (error) => explained(error, names),
  };
}

export function toolsOf({ paths, components: { schemas, parameters } }: ApiDocument): OperationTool[] {
  const argumentsOf = ({ parameters: asked = [] }: Documented): Parameter[] =>
    asked.flatMap((one) => {
      const found = '$ref' in one ? parameters[one.$ref.replace('#/components/parameters/', '')] : one;
      return found && found.in !== 'header' ? [found] : [];
    });
  /** The first tool with these fields. */
  const named = new Map<string, string>();
  const fieldsOf = (operation: Operation): RecordFields => {
    const names = recordFieldsOf(operation, schemas);
    const namedBy = named.get(names.join());
    if (namedBy === undefined) named.set(names.join(), operation.operationId);
    return { names, namedBy };
  };
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, documented]) => {
      const operation = { ...documented, parameters: argumentsOf(documented) };
      return toolOf(method, path, operation, schemas, method === 'get' ? fieldsOf(operation) : undefined);
    }),
  );
}
