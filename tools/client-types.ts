/** Generates the types and the operations of the TypeScript client from the OpenAPI document. */

type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  description?: string;
  default?: unknown;
  examples?: unknown[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
};

type Content = Record<string, { schema?: Schema }>;

type Parameter = { name: string; in: string; required?: boolean; description?: string; schema: Schema };

type Operation = {
  operationId: string;
  summary?: string;
  tags?: string[];
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { content: Content };
  responses: Record<string, { content?: Content }>;
};

export type DocumentedApi = {
  paths: Record<string, Record<string, Operation>>;
  tags?: { name: string; description: string }[];
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> };
};

const REFERENCE = '#/components/schemas/';
const INT32_MAX = 2 ** 31 - 1;

const literal = (value: unknown): string =>
  typeof value === 'string'
    ? `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
    : JSON.stringify(value);

const PRIMITIVES: Record<string, string> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

/** The hover text of a value: what its type does not say. */
function hints(schema: Schema): string[] {
  const bounds = [
    schema.minimum === undefined ? '' : `at least ${schema.minimum}`,
    schema.exclusiveMinimum === undefined ? '' : `greater than ${schema.exclusiveMinimum}`,
    schema.maximum === undefined || schema.maximum === INT32_MAX ? '' : `at most ${schema.maximum}`,
    schema.minLength === undefined || schema.minLength < 2 ? '' : `at least ${schema.minLength} characters`,
    schema.maxLength === undefined ? '' : `at most ${schema.maxLength} characters`,
    schema.minItems === undefined ? '' : `at least ${schema.minItems}`,
    schema.maxItems === undefined ? '' : `at most ${schema.maxItems} entries`,
  ].filter((bound) => bound !== '');
  const [bound = ''] = bounds;
  const [example] = schema.examples ?? [];
  return [
    ...(bound === ''
      ? []
      : [`${bound[0]?.toUpperCase()}${[bound.slice(1), ...bounds.slice(1)].join(', ')}.`]),
    ...(schema.default === undefined ? [] : [`Default: \`${JSON.stringify(schema.default)}\`.`]),
    ...(example === undefined || typeof example === 'object' ? [] : [`Example: \`${String(example)}\`.`]),
  ];
}

function comment(lines: readonly (string | undefined)[], indent: string): string {
  const text = lines
    .filter((line) => line !== undefined && line !== '')
    .join(' ')
    .replaceAll('*/', '*\\/');
  if (text === '') return '';
  const parts = text.split('\n');
  if (parts.length === 1) return `${indent}/** ${text} */\n`;
  return `${indent}/**\n${parts.map((part) => `${indent} * ${part}`.trimEnd()).join('\n')}\n${indent} */\n`;
}

const grouped = (type: string): string => (type.includes(' | ') ? `(${type})` : type);

function typeOf(schema: Schema, indent = ''): string {
  if (schema.$ref !== undefined) return schema.$ref.slice(REFERENCE.length);
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum) return schema.enum.map(literal).join(' | ');
  const types = [schema.type ?? []].flat().map((type) => {
    if (type === 'array') return `${grouped(typeOf(schema.items ?? {}, indent))}[]`;
    if (type === 'object') return objectType(schema, indent);
    return PRIMITIVES[type] ?? 'unknown';
  });
  return types.length === 0 ? 'unknown' : types.join(' | ');
}

function objectType({ properties = {}, required = [] }: Schema, indent: string): string {
  const inner = `${indent}  `;
  const fields = Object.entries(properties).map(([name, schema]) => {
    const said = comment([schema.description, ...hints(schema)], inner);
    return `${said}${inner}${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema, inner)};\n`;
  });
  return fields.length === 0 ? 'Record<string, unknown>' : `{\n${fields.join('')}${indent}}`;
}

/** The names of these schemas and of all that they refer to. */
function reached(start: readonly Schema[], schemas: Record<string, Schema>): Set<string> {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const reference = (value as Schema).$ref;
    if (typeof reference === 'string' && !found.has(reference.slice(REFERENCE.length))) {
      found.add(reference.slice(REFERENCE.length));
      visit(schemas[reference.slice(REFERENCE.length)]);
    }
    for (const inner of Object.values(value)) visit(inner);
  };
  start.forEach(visit);
  return found;
}

const schemasIn = (content: Content | undefined): Schema[] =>
  Object.values(content ?? {}).flatMap(({ schema }) => (schema ? [schema] : []));

/** `listCustomers` → `ListCustomersQuery`. */
const queryName = (operationId: string): string =>
  `${operationId[0]?.toUpperCase()}${operationId.slice(1)}Query`;

/** The source of client/src/types.ts. Errors are left out but for their codes: the client has a class for them. */
export function clientTypes({ paths, components }: DocumentedApi): string {
  const { schemas, parameters: shared } = components;
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  const successes = operations
    .flatMap(({ responses }) => Object.entries(responses))
    .filter(([status]) => status.startsWith('2'));
  const bodies = [
    ...operations.flatMap(({ requestBody }) => schemasIn(requestBody?.content)),
    ...successes.flatMap(([, { content }]) => schemasIn(content)),
  ];
  const codes = schemas.ErrorResponse?.properties?.error?.properties?.code?.examples ?? [];

  const types = [...reached(bodies, schemas)].sort().map((name) => {
    const schema = schemas[name] ?? {};
    return `${comment([schema.description], '')}export type ${name} = ${typeOf(schema)};\n`;
  });
  const queries = operations.flatMap(({ operationId, parameters = [] }) => {
    const inQuery = parameters.flatMap((one) => {
      const found = '$ref' in one ? shared[one.$ref.replace('#/components/parameters/', '')] : one;
      return found?.in === 'query' ? [found] : [];
    });
    if (inQuery.length === 0) return [];
    const schema: Schema = {
      properties: Object.fromEntries(
        inQuery.map(({ name, description, schema }) => [
          name,
          { ...schema, ...(description && { description }) },
        ]),
      ),
      required: inQuery.filter(({ required }) => required).map(({ name }) => name),
    };
    const type = objectType(schema, '');
    return `/** The parameters of ${operationId}. */\nexport type ${queryName(operationId)} = ${type};\n`;
  });
  const union = codes.map((code) => `\n  | '${code}'`);
  return [
    '// Generated by npm run docs from openapi/openapi.json.\n',
    '/** The error codes of the service. They are stable: branch on them. */',
    `export type ServiceErrorCode =${union.join('')};\n`,
    ...types,
    ...queries,
  ].join('\n');
}

const refOf = (content: Content | undefined): string =>
  schemasIn(content)[0]?.$ref?.slice(REFERENCE.length) ?? '';

/** The source of client/src/operations.ts: the operations of each list's records, by the last segment of its path. */
export function clientOperations({ paths, tags = [], components }: DocumentedApi): string {
  const used = new Set<string>();
  const type = (name: string): string => {
    used.add(name);
    return name;
  };
  const records = Object.entries(paths).flatMap(([path, { get: list, post }]) => {
    const has = (name: string) =>
      list?.parameters?.some((one) => ('$ref' in one ? one.$ref : one.name).endsWith(name));
    if (!list || !has('offset')) return [];
    const page = components.schemas[refOf(list.responses[200]?.content)];
    const row = type(page?.properties?.data?.items?.$ref?.slice(REFERENCE.length) ?? '');
    const one = Object.entries(paths).find(
      ([other]) => other.replace(/\/\{\w+\}$/, '') === path && other !== path,
    )?.[1];
    const at = `(send, '${path}')`;
    const written = [
      post?.requestBody?.content,
      one?.patch?.requestBody?.content,
      one?.delete?.responses[200]?.content,
    ];
    return [
      comment([tags.find(({ name }) => name === list.tags?.[0])?.description], '  '),
      `  ${path.replace(/.*\//, '')}: {\n`,
      `    ...listOperations<${row}, ${type(queryName(list.operationId))}>${at},\n`,
      has('updatedSince') ? `    ...changeOperations<${row}>${at},\n` : '',
      one?.get ? `    ...getOperation<${row}>${at},\n` : '',
      post
        ? `    ...writeOperations<${[row, ...written.map((content) => type(refOf(content)))].join(', ')}>${at},\n`
        : '',
      '  },\n',
    ];
  });
  return [
    '// Generated by npm run docs from openapi/openapi.json.\n',
    "import { changeOperations, listOperations } from './lists.ts';",
    "import { getOperation, writeOperations } from './records.ts';",
    "import type { Send } from './request.ts';",
    `import type { ${[...used].sort().join(', ')} } from './types.ts';\n`,
    '/** The operations of each kind of record. */',
    `export const recordsOf = (send: Send) => ({\n${records.join('')}});\n`,
  ].join('\n');
}
