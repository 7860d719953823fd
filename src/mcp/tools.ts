import { hash } from 'node:crypto';
import { ApiError, invalid } from '../contract/errors.ts';
import { MAX_HEADER_BYTES, NULL_CLEARS } from '../contract/fields.ts';
import { excessOf } from '../http/json-bodies.ts';

/** Generates the tools of the Model Context Protocol from the OpenAPI document of /v1. */

type Schema = {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string | undefined;
  enum?: (string | number | boolean | null)[] | undefined;
  items?: Schema;
  properties?: Schemas;
  required?: string[];
};

type Schemas = Record<string, Schema>;

type Content = { content?: { 'application/json'?: { schema: Schema } } };

type Parameter = { name: string; in: string; required?: boolean; description: string; schema: Schema };

type Operation = {
  operationId: string;
  description: string;
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: Content;
};

export type ApiDocument = {
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Schemas; parameters: Record<string, Parameter> };
};

type Arguments = Record<string, unknown>;

const nameOf = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1);

export const isObject = (value: unknown): value is Arguments =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Null stands for an absent argument, and some hosts reject all tools where one type is a list. */
function withoutNull(schema: Schema): Schema {
  const { type, enum: values, description, ...rest } = schema;
  if (!Array.isArray(type)) return schema;
  const [other = 'null'] = type.filter((one) => one !== 'null');
  return {
    ...rest,
    type: other,
    enum: values?.filter((value) => value !== null),
    description: description?.replace(/[;,] null (?:for|if) [^.;]*/, ''),
  };
}

/** An agent reads all schemas before its first question; an error names the length that it exceeds. */
const UNTOLD = /^m(?:in|ax)(?:Length|Items)$/;

/** Many models do not follow references. */
const inlineRefs = (schema: Schema, schemas: Schemas): Schema =>
  JSON.parse(JSON.stringify(schema), (key, part: Schema) => {
    if (UNTOLD.test(key)) return undefined;
    if (!isObject(part)) return part;
    return part.$ref === undefined
      ? withoutNull(part)
      : inlineRefs(schemas[nameOf(part.$ref)] ?? {}, schemas);
  });

const EXPLAINED_BY_NAME = /^(limit|offset|(created|updated)(Since|Before))$/;

function argumentSchema({ name, in: place, description, schema }: Parameter): Schema {
  return {
    ...(String(schema.enum) === 'true,false' ? { type: 'boolean' } : inlineRefs(schema, {})),
    ...(place === 'query' && !EXPLAINED_BY_NAME.test(name) && { description }),
  };
}

const CREATE_ONCE =
  'A string that you choose for this record, and send again when you retry. Within 24 hours, the same key and arguments create one record.';
const CLEAR = 'Fields to empty. An argument without a value leaves its field as it is.';

/** Text inside text passes no bound of the body around it. */
function parseIfJson(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  const excess = excessOf(Buffer.from(value));
  if (excess !== undefined) throw invalid('arguments', excess);
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

const DECIMAL = /^-?\d+(?:\.\d+)?$/;
const DAY = /^\d{4}-\d\d-\d\d$/;

/** The value as a host that follows the schema would have sent it. Whatever else is wrong, the route rejects. */
function coerce(schema: Schema = {}, value: unknown): unknown {
  if (schema.type === 'array') {
    const list = parseIfJson(value);
    return (Array.isArray(list) ? list : [list]).map((entry) => coerce(schema.items, entry));
  }
  if (schema.type === 'object') return isObject(value) ? dropAbsent(schema, value) : value;
  // JSON would have null in place of 1e400, and empty the field.
  if (value === Infinity || value === -Infinity) return {};
  if (typeof value !== 'string') return value;
  if (schema.type === 'integer' || schema.type === 'number')
    return DECIMAL.test(value) ? coerce({}, Number(value)) : value;
  return schema.format === 'date-time' && DAY.test(value) ? `${value}T00:00:00Z` : value;
}

/** Hosts that must name every argument send null or an empty text for an absent one. */
function dropAbsent({ properties = {} }: Schema, given: Arguments): Arguments {
  const present = Object.entries(given).filter(([, value]) => value !== null && value !== '');
  return Object.fromEntries(present.map(([name, value]) => [name, coerce(properties[name], value)]));
}

function applyClear(clear: unknown = [], sent: Arguments, clearable: readonly string[]): Arguments {
  const names = new Set(Array.isArray(clear) ? clear : [clear]);
  if (!names.isSubsetOf(new Set(clearable)))
    throw invalid('clear', `must be a list of names among ${clearable.join(', ')}`);
  const both = clearable.find((name) => names.has(name) && name in sent);
  if (both !== undefined) throw invalid(both, 'is in clear too: send one of them');
  return { ...sent, ...Object.fromEntries([...names].map((name) => [name, null])) };
}

/** What becomes text of a URL or header. */
function textOf(name: string, value: unknown): string {
  if (typeof value === 'object') throw invalid(name.slice(0, 100), 'must be a string');
  const text = String(value);
  if (!text.isWellFormed()) throw invalid(name.slice(0, 100), 'must not contain a lone surrogate');
  return text;
}

/** @returns the path with its arguments, and the other arguments */
function fillPath(path: string, sent: Arguments): [path: string, others: Arguments] {
  const others = { ...sent };
  const filled = path.replace(/\{(\w+)\}/g, (_place, name: string) => {
    if (sent[name] === undefined) throw invalid(name, 'is required');
    delete others[name];
    const text = textOf(name, sent[name]);
    // Dots alone would change the path, even encoded. In quotes they are an unknown id.
    return encodeURIComponent(/^\.{1,2}$/.test(text) ? `"${text}"` : text);
  });
  return [filled, others];
}

function toolOf({ components }: ApiDocument, path: string, method: string, operation: Operation) {
  const { schemas, parameters } = components;
  const { operationId, description, requestBody } = operation;
  const schemaOf = ({ content }: Content = {}): Schema => content?.['application/json']?.schema ?? {};
  const inRequest = (operation.parameters ?? []).flatMap((one) => {
    const parameter = '$ref' in one ? parameters[nameOf(one.$ref)] : one;
    return parameter && parameter.in !== 'header' ? [parameter] : [];
  });
  const body = inlineRefs(schemaOf(requestBody), schemas);
  const { properties: inBody = {} } = schemas[nameOf(schemaOf(requestBody).$ref ?? '')] ?? {};
  const clearable = Object.keys(inBody).filter((name) => inBody[name]?.type?.includes('null'));

  const required = inRequest.filter((one) => one.required).map(({ name }) => name);
  const inputSchema = {
    type: 'object' as const,
    properties: {
      ...Object.fromEntries(inRequest.map((parameter) => [parameter.name, argumentSchema(parameter)])),
      ...body.properties,
      ...(method === 'patch' && {
        clear: { type: 'array', items: { type: 'string', enum: clearable }, description: CLEAR },
      }),
      ...(method === 'post' && { idempotencyKey: { type: 'string', description: CREATE_ONCE } }),
    },
    required: [...required, ...(body.required ?? [])],
  };

  /** @throws VALIDATION_FAILED for arguments that no request can carry; the route validates all others */
  function toRequest(given: Arguments) {
    const { clear, idempotencyKey, ...sent } = dropAbsent(inputSchema, given);
    const isKnown = (name: string): boolean => Object.hasOwn(inputSchema.properties, name);
    for (const [name, value] of Object.entries({ clear, idempotencyKey }))
      if (value !== undefined && !isKnown(name))
        throw invalid(name, 'is unknown: this tool does not take it');
    const [filled, others] = fillPath(path, sent);
    const query = new URLSearchParams();
    // The route says that a name is unknown, whatever its value.
    if (!requestBody)
      for (const [name, value] of Object.entries(others))
        query.append(name, isKnown(name) ? textOf(name, value) : '');
    const url = query.size > 0 ? `${filled}?${query}` : filled;
    if (url.length > MAX_HEADER_BYTES)
      throw new ApiError('VALIDATION_FAILED', 'The arguments are too long. Send shorter or fewer ones.');
    // Hashed, because a header cannot have every text.
    const once = hash('sha256', textOf('idempotencyKey', idempotencyKey ?? ''), 'base64url');
    const headers: Record<string, string> = idempotencyKey ? { 'idempotency-key': once } : {};
    return {
      url,
      headers,
      ...(requestBody && { payload: applyClear(clear, others, clearable) }),
    };
  }

  return {
    tool: {
      name: operationId,
      description: description.replace(NULL_CLEARS, '`clear` empties fields'),
      inputSchema,
      annotations: {
        readOnlyHint: method === 'get',
        destructiveHint: method === 'patch' || method === 'delete',
        idempotentHint: method !== 'post',
        openWorldHint: false,
      },
    },
    method: method.toUpperCase(),
    toRequest,
  };
}

export type OperationTool = ReturnType<typeof toolOf>;

export const toolsOf = (document: ApiDocument): OperationTool[] =>
  Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => toolOf(document, path, method, operation)),
  );

/** The error body of a route, with the names of arguments: `body.contacts[0]` is the argument `contacts[0]`. */
export const renamePaths = (error: string): string => error.replaceAll(/\b(?:body|query)\.(?=\w)/g, '');
