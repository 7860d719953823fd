import type { DocumentedApi, Operation, Parameter, Schema } from './client-types.ts';

const MULTIPLE = { multipleValues: true };
/**
 * How n8n asks for a value, and the value in a body. A field whose expression has no result is undefined, and not sent.
 * Spreadsheets give telephone numbers and codes as numbers.
 */
const KINDS = {
  text: { input: { type: 'string', default: '' }, value: '$value?.toString() ?? $value' },
  time: { input: { type: 'dateTime', default: '' }, value: '$value' },
  choice: { input: { type: 'options' }, value: '$value' },
  number: { input: { type: 'number', default: 0 }, value: '$value' },
  list: {
    input: { type: 'string', typeOptions: MULTIPLE, default: [] },
    value: '$value && [$value].flat(2)',
  },
  rows: {
    input: { type: 'fixedCollection', typeOptions: MULTIPLE, default: {} },
    value:
      '$value.values?.map((row) => Object.fromEntries(Object.entries(row).map(([key, one]) => [key, one?.toString()])))',
  },
  json: { input: { type: 'json', default: '' }, value: '$value?.trim ? JSON.parse($value) : $value' },
};
/** A filter whose expression has no result is sent empty and rejected: without the filter, the list has everything. */
const FILTER = '={{ [$value].flat().join(",") }}';
const TIME_FILTER = '={{ $value ? $value.toDateTime().toUTC().toISO() : "" }}';
/** An empty header is not sent. An expression without a result is no permission to leave out a condition. */
const HEADER = `={{ $value === "" ? undefined : $value ?? '""' }}`;
const BY_OFFSET = {
  type: 'offset',
  properties: { limitParameter: 'limit', offsetParameter: 'offset', pageSize: 100, type: 'query' },
};
/** A transcript has no offset: each page begins after the last message of the page before. */
const START = '$response.body?.data.at(-1)?.id ?? $request.qs.after ?? "1970-01-01T00:00:00Z"';
const BY_MESSAGE = {
  type: 'generic',
  properties: {
    continue: '={{ $response.body.data.length === 200 }}',
    request: { qs: `={{ { ...$request.qs, limit: 200, after: ${START} } }}` },
  },
};
const ROWS = { type: 'rootProperty', properties: { property: 'data' } };
/** For the `If-Match` of a later step. */
const WITH_TAG = '={{ { ...$response.body, etag: $response.headers.etag } }}';
const TAGGED = { type: 'set', properties: { value: WITH_TAG } };

/** `externalReferenceCode` → `External Reference Code`. */
const titled = (name: string): string =>
  name.replace(/[_-]|(?=[A-Z])/g, ' ').replace(/^ ?./, (start) => start.trim().toUpperCase());
const isNullable = ({ type }: Schema): boolean => [type].flat().includes('null');

/** The resources, operations and inputs of the n8n node. */
export function n8nProperties({ paths, tags = [], components }: DocumentedApi): object[] {
  function resolved<T extends object>(one: T | { $ref: string }): T {
    const [, , section, name = ''] = '$ref' in one ? String(one.$ref).split('/') : [];
    return (section ? components[section as 'schemas'][name] : one) as T;
  }
  const propertiesOf = (schema: Schema = {}) => Object.entries(resolved<Schema>(schema).properties ?? {});

  function kindOf({ type, format, enum: values, items }: Schema): keyof typeof KINDS {
    if (values) return 'choice';
    if (items?.type === 'string') return 'list';
    if (items) return propertiesOf(items).every(([, column]) => column.type === 'string') ? 'rows' : 'json';
    if (['integer', 'number'].includes([type].flat()[0] ?? '')) return 'number';
    return format === 'date-time' ? 'time' : 'text';
  }
  function input(name: string, schema: Schema, more: object = {}): object {
    const property = { displayName: titled(name), name, description: schema.description };
    const columns = propertiesOf(schema.items).map(([column, one]) => input(column, one));
    const values = schema.enum?.map((one) => ({ name: titled(String(one ?? 'none')), value: one ?? '' }));
    const options = values ?? [{ displayName: titled(name), name: 'values', values: columns }];
    const kind = kindOf(schema);
    const choice = ['choice', 'rows'].includes(kind) && { options, default: values?.[0]?.value ?? {} };
    return { ...property, ...KINDS[kind].input, ...choice, ...more };
  }
  const sent = (type: string, property: string, value?: string) => ({ send: { type, property, value } });

  function field([name, schema]: [string, Schema]): object {
    const value = `={{ ${isNullable(schema) ? '$value === "" ? null : ' : ''}${KINDS[kindOf(schema)].value} }}`;
    const hint = isNullable(schema) ? ' Empty, or the expression {{ null }}, sets null.' : '';
    const description = `${schema.description}${hint}`;
    return input(name, schema, { description, routing: sent('body', name, value) });
  }
  function asked({ name, in: place, schema, description }: Parameter): object {
    if (place === 'path') return input(name, schema, { description, required: true });
    const value = kindOf(schema) === 'time' ? TIME_FILTER : FILTER;
    if (place === 'query') return input(name, schema, { description, routing: sent('query', name, value) });
    const routing = { request: { headers: { [name]: HEADER } } };
    return input(name.replace('-', ''), schema, { description, routing });
  }
  const collection = (name: string, options: object[]): object[] =>
    options.length > 0 ? [{ displayName: titled(name), name, type: 'collection', default: {}, options }] : [];

  /** An operation as an entry of its resource's list, and the inputs that the operation shows. */
  function operationOf(path: string, method: string, operation: Operation) {
    const { operationId, summary, description, requestBody, responses } = operation;
    const parameters = (operation.parameters ?? []).map((one) => resolved<Parameter>(one));
    const isPaged = parameters.some(({ name }) => name === 'offset');
    const [body, response] = [requestBody, Object.values(responses)[0]].map((one) =>
      resolved<Schema>(one?.content?.['application/json']?.schema ?? {}),
    );
    const whole = { displayName: 'Return All', name: 'returnAll', type: 'boolean', default: false };
    // With an offset, the engine adds up pages to the limit too.
    const paging = { send: { paginate: isPaged || '={{ $value }}' } };
    const limitRouting = { ...sent('query', 'limit'), output: { maxResults: '={{ $value }}' } };
    const limited = { default: 50, typeOptions: { minValue: 1 }, routing: limitRouting };
    const limit = parameters.find(({ name }) => name === 'limit');
    const filters = parameters.filter((one) => one.in === 'query' && !/^(limit|offset)$/.test(one.name));
    const all = propertiesOf(body);
    const needed = body?.required ?? [];
    const written = ['$json', ...needed.map((name) => `$parameter.${name}`), '$parameter.fields'];
    // The same content of the same item creates one record, also when the execution is retried.
    const key = `={{ $nodeId }}-{{ [${written}].toJsonString().hash("sha256") }}`;
    const presets: Record<string, string> = { 'If-Match': '', 'Idempotency-Key': key };
    const inputs = [
      ...parameters.filter((one) => one.in === 'path').map(asked),
      ...all.filter(([name]) => needed.includes(name)).map((one) => ({ ...field(one), required: true })),
      ...(limit ? [{ ...whole, routing: paging }, input('limit', limit.schema, limited)] : []),
      ...collection('filters', filters.map(asked)),
      ...collection('fields', all.filter(([name]) => !needed.includes(name)).map(field)),
      ...parameters
        .filter(({ name }) => name in presets)
        .map((one) => ({ ...asked(one), default: presets[one.name] })),
    ].map((one) => {
      const also = 'name' in one && one.name === 'limit' && { returnAll: [false] };
      return { ...one, displayOptions: { show: { operation: [operationId], ...also } } };
    });
    const url = `=${path.replace(/\{(\w+)\}/g, '{{ encodeURIComponent($parameter.$1) }}')}`;
    const routing = {
      request: { method: method.toUpperCase(), url },
      output: { postReceive: [response?.properties?.data ? ROWS : TAGGED] },
      operations: { pagination: isPaged ? BY_OFFSET : BY_MESSAGE },
    };
    const entry = { name: summary, action: summary, value: operationId, description, routing };
    return { tag: operation.tags?.[0], entry, inputs };
  }

  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationOf(path, method, operation)),
  );
  const choice = { type: 'options', noDataExpression: true };
  const resources = tags.map(({ name, description }) => ({ name, value: name, description }));
  return [
    { displayName: 'Resource', name: 'resource', ...choice, options: resources, default: tags[0]?.name },
    ...tags.map(({ name }) => {
      const options = operations.flatMap(({ tag, entry }) => (tag === name ? [entry] : []));
      const more = { options, default: options[0]?.value, displayOptions: { show: { resource: [name] } } };
      return { displayName: 'Operation', name: 'operation', ...choice, ...more };
    }),
    ...operations.flatMap(({ inputs }) => inputs),
  ];
}
