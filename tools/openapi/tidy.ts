import type { ErrorCode } from '../../src/errors.ts';
import { exampleOfError } from './declared-errors.ts';

/**
 * Rewrites the generated document as a person would have written it. All corrections are here, none at the routes.
 */

type Schema = Record<string, unknown>;

type Media = { schema: Schema; example?: unknown; examples?: Record<string, { value: unknown }> };

type Content = Record<string, Media>;

type Response = { description: string; headers?: Record<string, unknown>; content?: Content };

type Operation = {
  parameters?: object[];
  requestBody?: { content: Content };
  responses: Record<string, Response>;
};

export type OpenApiDocument = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; headers?: Record<string, unknown> };
};

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Every value below, with objects rewritten from the inside out. */
function rewrite(value: unknown, change: (object: Schema) => Schema): unknown {
  if (Array.isArray(value)) return value.map((entry) => rewrite(entry, change));
  if (!isObject(value)) return value;
  return change(
    Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, rewrite(inner, change)])),
  );
}

/** `anyOf: [X, null]` becomes X with null among its types. An enum must list null too, or null is not valid. */
function nullable(schema: Schema): Schema {
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || !isObject(anyOf[1]) || anyOf[1].type !== 'null')
    return schema;
  const inner = anyOf[0];
  if (!isObject(inner) || typeof inner.type !== 'string') return schema;
  const values = inner.enum;
  return {
    ...inner,
    ...rest,
    type: [inner.type, 'null'],
    ...(Array.isArray(values) && { enum: [...values, null] }),
  };
}

const DATES: readonly string[] = ['date', 'date-time'];
const WIDEST: readonly number[] = [Number.MIN_SAFE_INTEGER, -(2 ** 31)];

/**
 * Parts that tell a reader nothing: a pattern of 300 characters for a date, the range of JavaScript's integers, closed objects.
 */
function quiet(schema: Schema): Schema {
  const { pattern, minimum, maximum, additionalProperties, ...rest } = schema;
  return {
    ...rest,
    ...(pattern !== undefined && !DATES.includes(String(rest.format)) && { pattern }),
    ...(minimum !== undefined && !WIDEST.includes(minimum as number) && { minimum }),
    ...(maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER && { maximum }),
    ...(additionalProperties !== undefined && additionalProperties !== false && { additionalProperties }),
  };
}

type ErrorProperties = { error?: { properties: { code: { enum: ErrorCode[] } } } };

const REFERENCE = '#/components/schemas/';

function referenced(value: unknown, found: Set<string>, schemas: Record<string, Schema>): Set<string> {
  rewrite(value, (object) => {
    const reference = object.$ref;
    if (typeof reference !== 'string' || !reference.startsWith(REFERENCE)) return object;
    const name = reference.slice(REFERENCE.length);
    if (found.has(name)) return object;
    found.add(name);
    referenced(schemas[name], found, schemas);
    return object;
  });
  return found;
}

/** Each schema once, under its own name. The generator makes a second one, `…Input`, of each. */
function untwin(document: OpenApiDocument): OpenApiDocument {
  const { schemas } = document.components;
  const used = referenced(document.paths, new Set(), schemas);
  const plainName = (name: string): string => {
    const plain = name.replace(/Input$/, '');
    return name.endsWith('Input') && plain in schemas && !used.has(plain) ? plain : name;
  };
  const renamed = rewrite(document, (object) => {
    const reference = object.$ref;
    return typeof reference === 'string' && reference.startsWith(REFERENCE)
      ? { ...object, $ref: REFERENCE + plainName(reference.slice(REFERENCE.length)) }
      : object;
  }) as OpenApiDocument;
  const kept = [...used].sort().map((name) => [plainName(name), renamed.components.schemas[name]]);
  return { ...renamed, components: { ...renamed.components, schemas: Object.fromEntries(kept) } };
}

const header = (description: string, example: string | number) => ({
  description,
  schema: { type: typeof example === 'number' ? 'integer' : 'string' },
  example,
});

const ETAG = '"kq3v0Zb1mXw7T2yJcR8n5w"';

const HEADERS = {
  'X-Request-Id': header(
    'Names this request in the log; a client may send its own (8 to 64 of A-Z a-z 0-9 _ -).',
    '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17',
  ),
  'X-Ignored-Parameters': header(
    'Names in the request that have no effect. `Prefer: handling=strict` refuses them instead.',
    'sort, body.nickname',
  ),
  'RateLimit-Policy': header(
    'The limit of this key and its window, as in the IETF draft.',
    '"default";q=6000;w=60',
  ),
  RateLimit: header('What remains, and the seconds until it is full again.', '"default";r=5999;t=30'),
  ETag: header(
    'Names these bytes: it changes exactly when they do. Send it as `If-None-Match` to be told that nothing changed.',
    ETAG,
  ),
  'Idempotency-Replayed': header(
    '`true` when this is the first answer to the same request with the same `Idempotency-Key`, and nothing was done now.',
    'true',
  ),
  'Retry-After': header(
    'Whole seconds to wait before the next request. On a 409 only with `IDEMPOTENCY_IN_PROGRESS`.',
    1,
  ),
  'WWW-Authenticate': header('How to send the key.', 'Bearer'),
};

const headerParameter = (name: string, description: string, example: string, limits: object = {}) => ({
  name,
  in: 'header',
  required: false,
  schema: { type: 'string', ...limits },
  description,
  example,
});

const IF_NONE_MATCH = headerParameter(
  'If-None-Match',
  'The `ETag` of the answer that the client has, or several with commas between them: 304 without a body if it is still the same. Such an answer does not count against the rate limit, within bounds; `*` counts.',
  ETAG,
);

const IF_MATCH = headerParameter(
  'If-Match',
  'The `ETag` of the record as the client has read it, or several with commas between them: 412 `PRECONDITION_FAILED` if the record has changed since. `*` matches every record that exists.',
  ETAG,
);

const IF_NOTHING = headerParameter(
  'If-None-Match',
  '`*`: the record is created, and never replaced: 412 `PRECONDITION_FAILED` if it is there already, also when it is archived.',
  '*',
);

const IDEMPOTENCY_KEY = headerParameter(
  'Idempotency-Key',
  'A text that the client makes for this one request, and sends again with each retry: the same key and body within 24 hours get the first answer, and nothing is done twice. With another body: 409 `IDEMPOTENCY_KEY_REUSED`. A request that is refused (4xx, 503) does not use the key up.',
  '7f1c2a9e4b6d4e0f8a3c5d7e9b1f2a4c',
  { minLength: 1, maxLength: 255 },
);

/** The headers that requests to an operation may have. */
const requestHeadersOf = (method: string, { responses }: Operation): object[] => [
  ...('304' in responses ? [IF_NONE_MATCH] : []),
  ...('412' in responses ? [IF_MATCH] : []),
  ...(method === 'put' ? [IF_NOTHING] : []),
  ...(method === 'post' ? [IDEMPOTENCY_KEY] : []),
];

/** The headers that answers of a status carry. */
const headersOf = (
  status: string,
  { isLimited, isTagged, isOnce }: { isLimited: boolean; isTagged: boolean; isOnce: boolean },
): (keyof typeof HEADERS)[] => [
  'X-Request-Id',
  ...(isTagged && /^[23]/.test(status) ? (['ETag'] as const) : []),
  ...(isOnce && /^2/.test(status) ? (['Idempotency-Replayed'] as const) : []),
  ...(status === '401' ? (['WWW-Authenticate'] as const) : []),
  ...(isLimited && status !== '401' ? (['RateLimit-Policy', 'RateLimit'] as const) : []),
  ...(/^[23]/.test(status) || status === '400' ? (['X-Ignored-Parameters'] as const) : []),
  ...(status === '429' || status === '503' || (isOnce && status === '409') ? (['Retry-After'] as const) : []),
];

/** Only the keys of /v1 have a limit. */
function withHeaders(document: OpenApiDocument): OpenApiDocument {
  for (const [path, operations] of Object.entries(document.paths)) {
    const isLimited = path.startsWith('/v1/');
    for (const [method, operation] of Object.entries(operations)) {
      const { responses } = operation;
      const isTagged = '304' in responses || method === 'patch' || method === 'put';
      const isOnce = method === 'post';
      const requestHeaders = requestHeadersOf(method, operation);
      if (requestHeaders.length > 0)
        operation.parameters = [...(operation.parameters ?? []), ...requestHeaders];
      for (const [status, response] of Object.entries(responses)) {
        response.headers = Object.fromEntries(
          headersOf(status, { isLimited, isTagged, isOnce }).map((name) => [
            name,
            { $ref: `#/components/headers/${name}` },
          ]),
        );
      }
    }
  }
  const used = JSON.stringify(document.paths);
  const headers = Object.entries(HEADERS).filter(([name]) => used.includes(`#/components/headers/${name}"`));
  return { ...document, components: { ...document.components, headers: Object.fromEntries(headers) } };
}

/** An example of a schema, made of the examples of its fields. A field without one gives null or a placeholder. */
function exampleOf(schema: Schema, schemas: Record<string, Schema>): unknown {
  const [own] = Array.isArray(schema.examples) ? schema.examples : [];
  if (own !== undefined) return own;
  if (typeof schema.$ref === 'string')
    return exampleOf(schemas[schema.$ref.slice(REFERENCE.length)] ?? {}, schemas);
  if (isObject(schema.properties)) {
    const fields = Object.entries(schema.properties).map(([name, field]) => [
      name,
      exampleOf(field as Schema, schemas),
    ]);
    return Object.fromEntries(fields);
  }
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (Array.isArray(schema.type)) return null;
  switch (schema.type) {
    case 'array':
      return isObject(schema.items) && '$ref' in schema.items ? [exampleOf(schema.items, schemas)] : [];
    case 'integer':
      return schema.minimum ?? 1;
    case 'boolean':
      return true;
    default:
      return 'text';
  }
}

/** The codes of an error's body. None for the body of a status that the operation does not answer. */
function codesOf({ $ref }: Schema, schemas: Record<string, Schema>): ErrorCode[] {
  if (typeof $ref !== 'string' || $ref === `${REFERENCE}ApiError`) return [];
  const { properties } = schemas[$ref.slice(REFERENCE.length)] as { properties?: ErrorProperties };
  return properties?.error?.properties.code.enum ?? [];
}

function withExamples(document: OpenApiDocument): OpenApiDocument {
  const { schemas } = document.components;
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    for (const [status, { content }] of Object.entries(operation.responses)) {
      for (const media of Object.values(content ?? {})) {
        if (Number(status) < 400) media.example ??= exampleOf(media.schema, schemas);
        const errors = codesOf(media.schema, schemas).map((code) => [code, { value: exampleOfError(code) }]);
        if (errors.length > 0) media.examples = Object.fromEntries(errors);
      }
    }
    for (const media of Object.values(operation.requestBody?.content ?? {})) {
      media.example ??= exampleOf(media.schema, schemas);
    }
  }
  return document;
}

/**
 * The default of a body's field in words. As `default`, generators of clients take it for a field that is always there,
 * and ask for it in requests too.
 */
function defaultInWords(schema: Schema): Schema {
  const { default: preset, description, ...rest } = schema;
  if (preset === undefined) return schema;
  const said = `Default: \`${JSON.stringify(preset).replaceAll('"', '')}\`.`;
  return { ...rest, description: description === undefined ? said : `${description} ${said}` };
}

export function tidyDocument(document: OpenApiDocument): OpenApiDocument {
  const schemasTidied = rewrite(document, (object) => quiet(nullable(object))) as OpenApiDocument;
  const { schemas } = schemasTidied.components;
  schemasTidied.components.schemas = rewrite(schemas, defaultInWords) as typeof schemas;
  return withExamples(withHeaders(untwin(schemasTidied)));
}
