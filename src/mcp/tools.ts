import { hash } from 'node:crypto';
import type { FieldError } from '../contract/errors.ts';
import { type ErrorBody, errorBody, validationFailed } from '../contract/errors.ts';
import { NULL_CLEARS } from '../contract/fields.ts';
import { type ResourceName, resourceNames, tagOf } from '../contract/resources.ts';
import { UNKNOWN_NAME, unknownName } from '../http/ignored-parameters.ts';

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

type Tool = {
  name: string;
  description: string;
  inputSchema: { type: 'object'; properties: Record<string, Schema>; required?: string[] };
  annotations: {
    readOnlyHint: boolean;
    /** Only for tools that write. */
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
  clearErrors: readonly FieldError[];
};

export type OperationTool = {
  tool: Tool;
  method: string;
  resource: ResourceName | undefined;
  /** @throws VALIDATION_FAILED naming the arguments that no request can carry */
  toRequest: (given: Arguments) => CallRequest;
  /** The error of the route, with the names of the arguments. */
  explain: (error: ErrorBody, request: Pick<CallRequest, 'clearErrors'>) => ErrorBody;
};

const REFERENCE = '#/components/schemas/';

const takesNull = ({ type }: Schema): boolean => [type].flat().includes('null');

/** Null stands for an absent argument, and some hosts reject all tools where one type is a list. */
function withoutNull(schema: Schema): Schema {
  if (!takesNull(schema)) return schema;
  const { type, enum: values, description, ...rest } = schema;
  return {
    ...rest,
    type: [type].flat().find((one) => one !== 'null'),
    ...(Array.isArray(values) && { enum: values.filter((value) => value !== null) }),
    ...(typeof description === 'string' && {
      description: description.replace(/[;,] null (?:for|if) [^.;]*/, ''),
    }),
  };
}

/** Inlines references: many models do not follow them. */
function inlined(value: unknown, schemas: Record<string, Schema>): unknown {
  if (Array.isArray(value)) return value.map((entry) => inlined(entry, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, ...rest } = value as Schema;
  if (typeof $ref === 'string') return inlined(schemas[$ref.slice(REFERENCE.length)], schemas);
  return withoutNull(
    Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, inlined(inner, schemas)])),
  );
}

/** Becomes the header Idempotency-Key. */
const CREATE_ONCE = 'idempotencyKey';

const CREATE_ONCE_SCHEMA: Schema = {
  type: 'string',
  description:
    'A string that you choose for this record, and send again when you retry. Within 24 hours, the same key and arguments create one record.',
};

/** Limits the fields of each record. Responses of /v1 always have all. */
const FIELDS = 'fields';

/** Empties fields of an update. */
const CLEAR = 'clear';

const clearSchema = (names: readonly string[]): Schema => ({
  type: 'array',
  items: { type: 'string', enum: names },
  description: 'Fields to empty. An argument without a value leaves its field as it is.',
});

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
function nameErrors(argument: string, value: unknown, names: readonly string[]): FieldError[] {
  if (!Array.isArray(value) || value.length > names.length)
    return [{ path: argument, message: `must be an array of at most ${names.length} field names` }];
  return value.flatMap((name: unknown, index): FieldError[] => {
    const path = `${argument}[${index}]`;
    if (typeof name !== 'string') return [{ path, message: 'must be a string' }];
    return names.includes(name) ? [] : [unknownName(path, name.slice(0, 100), names)];
  });
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
    ...(String(rest.enum) === 'true,false' ? { type: 'boolean' } : rest),
    ...(format === 'date-time' && { format }),
    ...(maximum !== undefined && maximum !== WIDEST && { maximum }),
    ...(place !== 'path' && !KNOWN_BY_NAME.includes(name) && { description }),
  };
}

type Body = { properties?: Record<string, Schema>; required?: string[] };

function bodyOf({ requestBody }: Operation, schemas: Record<string, Schema>) {
  const schema = requestBody?.content['application/json']?.schema ?? {};
  const { $ref } = schema as { $ref?: string };
  const { properties = {} } = ($ref === undefined ? schema : schemas[$ref.slice(REFERENCE.length)]) as Body;
  return {
    body: inlined(schema, schemas) as Body,
    clearable: Object.keys(properties).filter((name) => takesNull(properties[name] ?? {})),
  };
}

function inputOf(
  method: string,
  { parameters }: Operation,
  { body, clearable }: ReturnType<typeof bodyOf>,
  recordFields: RecordFields | undefined,
): Tool['inputSchema'] {
  const required = [
    ...parameters.filter(({ required }) => required).map(({ name }) => name),
    ...(body.required ?? []),
  ];
  return {
    type: 'object',
    properties: {
      ...Object.fromEntries(parameters.map((parameter) => [parameter.name, argumentSchema(parameter)])),
      ...body.properties,
      ...(method === 'patch' && { [CLEAR]: clearSchema(clearable) }),
      ...(method === 'post' && { [CREATE_ONCE]: CREATE_ONCE_SCHEMA }),
      ...(recordFields && { [FIELDS]: fieldsSchema(recordFields) }),
    },
    ...(required.length > 0 && { required }),
  };
}

/** Checks what becomes text of a URL or header. The route validates the text itself. */
function textError({ type }: Schema, value: unknown): string | undefined {
  if (typeof value === 'string' && type === 'string')
    return value.isWellFormed() ? undefined : 'must not contain a lone surrogate';
  if (type === 'integer') return typeof value === 'number' ? undefined : 'must be an integer';
  if (type === 'boolean') return typeof value === 'boolean' ? undefined : 'must be true or false';
  return 'must be a string';
}

export const isObject = (value: unknown): value is Arguments =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Some hosts send lists and objects as JSON text. */
export function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

const DECIMAL = /^\s*-?\d+(?:\.\d+)?\s*$/;

/** The value as a host that knows the schema would have sent it. Whatever else is wrong, the route rejects. */
function understood(schema: Schema, value: unknown): unknown {
  switch (schema.type) {
    case 'array': {
      const list = parsed(value);
      const entries: unknown[] = Array.isArray(list) ? list : [list];
      return entries.map((entry) => understood(schema.items as Schema, entry));
    }
    case 'object': {
      const object = parsed(value);
      return isObject(object) ? resolved(schema, object) : object;
    }
    case 'integer':
    case 'number':
      return typeof value === 'string' && DECIMAL.test(value) ? Number(value) : value;
    case 'boolean':
      return value === 'true' || value === 'false' ? value === 'true' : value;
    default:
      return value;
  }
}

/** Hosts that must name every argument send null, an empty text, or the JSON text of null, for an absent one. */
function resolved(schema: Schema, given: Arguments): Arguments {
  const { properties = {}, required = [] } = schema as Body;
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => {
      const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
      const isEmpty = value === '' || (value === 'null' && known?.type !== 'string');
      if (value === null || (isEmpty && known && !required.includes(name))) return [];
      return [[name, known ? understood(known, value) : value]];
    }),
  );
}

/** Some hosts send names of fields as one text. */
function withNames(given: Arguments): Arguments {
  const lists = [FIELDS, CLEAR].flatMap((argument) => {
    const names = parsed(given[argument]);
    return typeof names === 'string' && names.includes(',') ? [[argument, names.split(/\s*,\s*/)]] : [];
  });
  return { ...given, ...Object.fromEntries(lists) };
}

/** Only what no request can carry; the route validates everything else. */
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
    ...(recordFields && given[FIELDS] !== undefined ? nameErrors(FIELDS, given[FIELDS], recordFields) : []),
  ];
  if (errors.length === 0) return errors;
  const names = Object.keys(properties);
  const unknown = Object.keys(given).filter((name) => !names.includes(name));
  return [...errors, ...unknown.map((name) => unknownName(name, name, names))];
}

/** The arguments of an update, with null in place of `clear`. An invalid `clear` stays: the route rejects it with all other errors. */
function cleared(given: Arguments, clearable: readonly string[]): { sent: Arguments; errors: FieldError[] } {
  const { [CLEAR]: names = [], ...sent } = given;
  const errors = nameErrors(CLEAR, names, clearable);
  for (const name of errors.length > 0 ? [] : (names as string[]))
    if (Object.hasOwn(sent, name))
      errors.push({ path: name, message: `is in ${CLEAR} too: send one of them` });
  if (errors.length > 0) return { sent: given, errors };
  return {
    sent: { ...sent, ...Object.fromEntries((names as string[]).map((name) => [name, null])) },
    errors,
  };
}

/** `String` would fail for an object with its own `toString`. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** What the path does not take goes into the body if there is one, else into the query; unknown names too. */
function requestOf(
  method: string,
  path: string,
  hasBody: boolean,
  given: Arguments,
): Omit<CallRequest, 'clearErrors'> {
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
function explained(
  { error }: ErrorBody,
  names: readonly string[],
  clearErrors: readonly FieldError[],
): ErrorBody {
  const { code, message, details = [] } = error;
  const renamed = details.flatMap((detail) => {
    const path = argumentOf(detail.path);
    if (path === CLEAR) return clearErrors;
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
  const content = bodyOf(operation, schemas);
  const inputSchema = inputOf(method, operation, content, recordFields);
  const names = Object.keys(inputSchema.properties);
  const asText = [...operation.parameters.map(({ name }) => name), CREATE_ONCE].filter((name) =>
    names.includes(name),
  );
  return {
    tool: {
      name: operation.operationId,
      description: operation.description.replace(NULL_CLEARS, `\`${CLEAR}\` empties fields`),
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
    resource: resourceNames.find((name) => operation.tags.includes(tagOf(name))),
    toRequest(given) {
      const all = resolved(inputSchema, withNames(given));
      const errors = fieldErrorsOf(inputSchema, asText, recordFields?.names, all);
      if (errors.length > 0) throw validationFailed(errors);
      const { [FIELDS]: fields, ...others } = all as Arguments & { [FIELDS]?: string[] };
      const { sent, errors: clearErrors } = cleared(recordFields ? others : all, content.clearable);
      return {
        ...requestOf(method.toUpperCase(), path, operation.requestBody !== undefined, sent),
        ...(recordFields && fields?.length && { fields }),
        clearErrors,
      };
    },
    explain: (error, { clearErrors }) => explained(error, names, clearErrors),
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
