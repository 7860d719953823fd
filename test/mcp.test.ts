import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { issueApiKey } from '../src/api-keys/repository.ts';
import { errorCodes } from '../src/contract/errors.ts';
import { resourceNames } from '../src/contract/resources.ts';
import { newId, parseJson } from '../src/db/index.ts';
import { operationsOf, readDocument } from './support/contract.ts';
import { ownApp } from './support/instance.ts';
import { FILE, populate } from './support/operations.ts';
import { opportunity, product } from './support/records.ts';
import { type Agency, type Service, startService } from './support/service.ts';
import { exchange, listen, requestBytes } from './support/socket.ts';

/** The Model Context Protocol, with the client of the official SDK over a real connection. */

const lines: Record<string, unknown>[] = [];
let service: Service;
let base: string;

beforeAll(async () => {
  service = await startService({
    mcp: 'write',
    logTo: { write: (line) => lines.push(JSON.parse(line)) },
    // So that two responses have the same signed links.
    now: () => Date.parse('2026-11-21T08:25:00Z'),
  });
  base = (await listen(service)).origin;
});
const clients: Client[] = [];
afterAll(async () => {
  for (const client of clients) await client.close();
  await service?.close();
});

async function connect(key: string, origin = base, options: ClientOptions = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, options);
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', origin), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  });
  await client.connect(transport);
  clients.push(client);
  return client;
}

async function agent() {
  const agency = await service.agency();
  return { agency, client: await connect(agency.key) };
}

/** Calls a tool; the body is the JSON of its result. */
async function call(client: Client, name: string, args: Record<string, unknown> = {}) {
  const { content, isError } = await client.callTool({ name, arguments: args });
  const { text } = content[0] as { text: string };
  return { isError, body: JSON.parse(text) };
}

const operations = operationsOf(readDocument('openapi/openapi.json'));
const reads = operations.filter(({ method }) => method === 'GET');
const creates = operations.filter(({ method }) => method === 'POST');

describe('the tools', () => {
  test('are the operations of /v1, one to one, each with its parameters and whether it changes something', async () => {
    const { tools } = await (await agent()).client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(operations.map(({ operation }) => operation.operationId));
    for (const [index, tool] of tools.entries()) {
      const { method, operation } = operations[index] as (typeof operations)[number];
      const isRead = method === 'GET';
      expect(tool.description).toMatch(/ Use it to /);
      expect(tool.annotations).toMatchObject({
        readOnlyHint: isRead,
        ...(!isRead && { destructiveHint: method === 'PATCH' || method === 'DELETE' }),
      });
      const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in !== 'header');
      const names = Object.keys(tool.inputSchema.properties ?? {});
      expect(names).toEqual(expect.arrayContaining(parameters.map(({ name }) => name)));
      expect(names.includes('fields')).toBe(isRead);
      if (operation.requestBody === undefined) expect(names).toHaveLength(parameters.length + Number(isRead));
      // Many models cannot follow references.
      expect(JSON.stringify(tool.inputSchema)).not.toContain('$ref');
      // Some hosts reject all tools where one type is a list.
      expect(JSON.stringify(tool.inputSchema), tool.name).not.toMatch(/"type":\[|[[,:]null/);
      // Agents cannot send headers.
      expect(JSON.stringify(tool), tool.name).not.toMatch(/etag|if-match|strict|prefer:|header/i);
    }
    const [create] = tools.filter(({ name }) => name === 'createCustomer');
    expect(create?.description).toContain('No search is needed first');
    expect(create?.description).toContain('Opportunities are created in the dashboard');
    expect(create?.inputSchema.required).toEqual(['contacts']);
    expect(JSON.stringify(create?.inputSchema)).toContain('whatsapp');
  });

  test('have the fields of a record once, and no description of arguments whose names explain them', async () => {
    const { tools } = await (await agent()).client.listTools();
    const properties = (name: string) =>
      tools.find((tool) => tool.name === name)?.inputSchema.properties as Record<
        string,
        { items?: unknown; description?: string }
      >;
    const { limit, offset, updatedSince, fields } = properties('listCustomers');
    expect(limit).toEqual({ type: 'integer', minimum: 1, maximum: 100, default: 25 });
    expect(offset).toEqual({ type: 'integer', minimum: 0, default: 0 });
    expect(updatedSince).toEqual({ type: 'string', format: 'date-time' });
    const { Customer } = readDocument('openapi/openapi.json').components.schemas;
    expect(fields).toEqual({
      type: 'array',
      items: { type: 'string', enum: Object.keys(Customer?.properties ?? {}) },
    });
    expect(properties('getCustomer')).toEqual({
      customerId: { type: 'string' },
      fields: { type: 'array', items: { type: 'string' }, description: 'The field names of listCustomers.' },
    });
  });

  test('come with instructions; with MCP=read they only read, and with MCP=off there are none', async () => {
    const { key } = await service.agency();
    const reading = await startService({ beside: service, mcp: 'read' });
    onTestFinished(reading.close);
    const client = await connect(key, (await listen(reading)).origin);
    const [parts, lists] = client.getInstructions()?.split('\n') ?? [];
    expect(parts).toBe(`The records of one travel agency: ${resourceNames.join(', ')}.`);
    expect(lists).toMatch(/^Lists /);
    // The instructions name exactly the date filters that exist.
    const filters = reads.flatMap(({ operation }) => operation.parameters ?? []).map(({ name }) => name);
    const dates = client.getInstructions()?.match(/\b(created|updated)(Since|Before)\b/g) ?? [];
    expect([...new Set(dates)].sort()).toEqual(
      [...new Set(filters.filter((name) => /^(created|updated)(Since|Before)$/.test(name)))].sort(),
    );
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(reads.map(({ operation }) => operation.operationId));
    await expect(
      client.callTool({ name: 'createCatalogProduct', arguments: { title: 'x' } }),
    ).rejects.toThrow('There is no tool createCatalogProduct: agents can only read on this service.');
    await expect(client.callTool({ name: 'listCustomer' })).rejects.toThrow(
      'The tool listCustomer is unknown (did you mean listCustomers?)',
    );
    const off = await startService({ beside: service, mcp: 'off' });
    onTestFinished(off.close);
    const { status, body } = await off.client(key).post('/mcp', {});
    expect([status, body.error.code]).toEqual([404, 'ROUTE_NOT_FOUND']);
  });
});

test.each([
  [
    'only reads',
    { access: 'read' },
    reads.map(({ operation }) => operation.operationId),
    'There is no tool createCustomer: this key can only read.',
  ],
  [
    'only creates',
    { access: 'create' },
    creates.map(({ operation }) => operation.operationId),
    'There is no tool listCustomers: this key can only create.',
  ],
  [
    'was issued for some resources',
    { access: 'read', resources: ['quotes', 'catalog'] },
    ['listCatalogProducts', 'getCatalogProduct', 'listQuotes', 'listQuoteAttachments'],
    'There is no tool listCustomers: this key has no access to customers.',
  ],
] as const)(
  'a key that %s has only its own tools, where other keys may write',
  async (_rights, limits, names, message) => {
    const { scope } = await service.agency();
    const { key } = parseJson(await issueApiKey(scope, { name: 'narrow', ...limits } as never));
    const client = await connect(key);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(names);
    const [tool = ''] = /(?<=no tool )\w+/.exec(message) ?? [];
    await expect(client.callTool({ name: tool, arguments: {} })).rejects.toThrow(message);
    const [first = ''] = names;
    const args = first === 'createCatalogProduct' ? { title: 'Oaxaca' } : {};
    expect(await call(client, first, args)).toMatchObject({ isError: false });
  },
);

/** What hosts make of arguments: each is the same as the others of its line. */
const AS_HOSTS_SEND: [name: string, ...args: Record<string, unknown>[]][] = [
  [
    'createCustomer',
    { tags: ['vip'], contacts: [{ identifierType: 'web', identifierValue: 'ana' }] },
    { tags: '["vip"]', contacts: '[{"identifierType":"web","identifierValue":"ana"}]' },
    { tags: 'vip', contacts: { identifierType: 'web', identifierValue: 'ana' }, city: '', country: null },
    { tags: ['vip'], contacts: '{"identifierType":"web","identifierValue":"ana"}', preferredLanguage: '' },
    { tags: ['vip'], contacts: [' {"identifierType":"web","identifierValue":"ana"}'] },
  ],
  [
    'createCatalogProduct',
    {
      title: 'Oaxaca',
      fromPrice: 99.5,
      durationDays: 3,
      variants: [{ label: 'A', fromPrice: 7, includes: ['x'] }],
    },
    {
      title: 'Oaxaca',
      fromPrice: '99.5',
      durationDays: '3',
      variants: { label: 'A', fromPrice: '7', includes: 'x' },
    },
    {
      title: 'Oaxaca',
      fromPrice: ' 99.50',
      durationDays: 3,
      currency: '',
      variants: '[{"label":"A","fromPrice":7,"priceMax":null,"description":"","includes":"[\\"x\\"]"}]',
    },
  ],
  [
    'listCustomers',
    { limit: 1, fields: ['id'] },
    { limit: '1', fields: 'id', query: '', contactType: null, tag: '', offset: 'null' },
  ],
  ['listTeamMembers', { fields: ['userId', 'name'] }, { fields: 'userId, name' }, { fields: 'userId,name' }],
];

test.each(AS_HOSTS_SEND)(
  '%s takes lists as JSON or as their only entry, numbers as text, and no empty text',
  async (name, ...all) => {
    const results = await Promise.all(
      all.map(async (args) => {
        const { client } = await agent();
        return (await call(client, name, args)).body;
      }),
    );
    const generated = /"(?:id|createdAt|updatedAt)":"[^"]*"/g;
    const [expected, ...others] = results.map((body) => JSON.stringify(body).replace(generated, ''));
    expect(expected).not.toContain('error');
    for (const other of others) expect(other).toBe(expected);
  },
);

test('an update leaves fields whose argument is null, and empties those in `clear`', async () => {
  const { client } = await agent();
  const contacts = [{ identifierType: 'web', identifierValue: 'ana' }];
  const texts = { firstName: 'Ana', lastName: 'Peña', city: 'Quito', country: 'Ecuador', summary: 'Vegana' };
  const { body: ana } = await call(client, 'createCustomer', { contacts, ...texts, tags: ['vip'] });
  const update = (args: object) => call(client, 'updateCustomer', { customerId: ana.id, ...args });
  const nulls = Object.fromEntries(Object.keys(texts).map((name) => [name, null]));
  const { body: renamed } = await update({
    ...nulls,
    tags: null,
    contacts: null,
    clear: null,
    firstName: 'Anita',
  });
  expect(renamed).toEqual({
    ...ana,
    firstName: 'Anita',
    displayName: 'Anita Peña',
    updatedAt: renamed.updatedAt,
  });
  const { body: moved } = await update({ clear: ['city', 'summary'], country: 'Chile' });
  expect(moved).toEqual({
    ...renamed,
    city: null,
    summary: null,
    country: 'Chile',
    updatedAt: moved.updatedAt,
  });
  expect((await update({ tags: 'null', contacts: 'null', clear: 'null' })).body).toEqual(moved);
  expect((await update({ clear: 'country' })).body.country).toBeNull();
  expect((await update({ clear: ['contacts', 'ctiy'], city: 'Lima' })).body.error.details).toMatchObject([
    {
      path: 'clear[0]',
      message: expect.stringMatching(/^is unknown \(known names: firstName, .*summary\)$/),
    },
    { path: 'clear[1]', message: 'is unknown (did you mean city?)' },
  ]);
  expect((await update({ clear: ['city'], city: 'Lima' })).body.error.details).toEqual([
    { path: 'city', message: 'is in clear too: send one of them' },
  ]);
  const { body: trip } = await call(client, 'createCatalogProduct', {
    title: 'Oaxaca',
    fromPrice: 9,
    currency: 'USD',
  });
  const changed = { productId: trip.id, title: null, fromPrice: null, currency: null, description: 'Nueva' };
  expect((await call(client, 'updateCatalogProduct', changed)).body).toMatchObject({
    fromPrice: 9,
    currency: 'USD',
  });
});

test('a list that found nothing for an argument that cannot find anything says why, and no other', async () => {
  const { client } = await agent();
  const found = async (args: Record<string, unknown>, name = 'listCustomers') =>
    (await client.callTool({ name, arguments: { fields: ['id'], ...args } })).content;
  const explained = (text: RegExp) => [{}, { text: expect.stringMatching(text) }];
  for (const contact of ['987654321', '(0412) 555-1234', ' 55 1234 5678'])
    expect(await found({ contact, contactType: null })).toMatchObject(
      explained(/^Nothing was found: the number in contact has no country code\./),
    );
  for (const contact of ['+51 987 654 321 (WhatsApp)', 'Ana <ana@example.com>', 'mailto:ana@example.com'])
    expect(await found({ contact })).toMatchObject(explained(/one telephone number.*without other text/));
  for (const query of ['Gil Ana', '"Ana"', 'Ana*'])
    expect(await found({ query })).toMatchObject(explained(/query must be in one field as it is/));
  for (const customerId of ['Ana Gil', '["01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17"]'])
    expect(await found({ customerId }, 'listQuotes')).toMatchObject(explained(/customerId takes ids/));
  for (const args of [
    { contact: '+51987654321' },
    { contact: 'tel:+51 987 654 321' },
    { contact: '@ana' },
    { contact: '12345', contactType: 'messenger' },
    { query: '987' },
  ])
    expect(await found(args)).toHaveLength(1);
  for (const customerId of ['', 'null', '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17', null])
    expect(await found({ customerId }, 'listQuotes')).toHaveLength(1);
});

test('a result above 1 MiB is an error that says what to do; `fields` are cut from any page', async () => {
  const { agency, client } = await agent();
  const hostile = 'x\\"]}{[,\\\\" '.repeat(4_000);
  for (let index = 0; index < 18; index += 1)
    await product(agency, {
      title: `"${index}\\`,
      description: hostile,
      variants: [{ label: '}"', description: '"' }],
    });
  expect(await call(client, 'listCatalogProducts', {})).toMatchObject({
    isError: true,
    body: {
      error: {
        code: 'VALIDATION_FAILED',
        details: [
          {
            path: 'limit',
            message: expect.stringMatching(/^is too high: .* Use a lower limit, or name fields$/),
          },
        ],
      },
    },
  });
  expect((await call(client, 'listCatalogProducts', { limit: 5 })).body).toEqual(
    (await agency.get('/v1/catalog/products?limit=5')).body,
  );
  const { data, pagination } = (await agency.get('/v1/catalog/products')).body;
  const cut = data.map(({ id, title, variants }: Record<string, unknown>) => ({ id, title, variants }));
  expect(await call(client, 'listCatalogProducts', { fields: ['variants', 'id', 'title'] })).toEqual({
    isError: false,
    body: { data: cut, pagination },
  });
  const [{ id, title }] = cut;
  expect((await call(client, 'getCatalogProduct', { productId: id, fields: ['title'] })).body).toEqual({
    title,
  });
  expect((await call(client, 'listTeamMembers', { fields: ['id'] })).body.data).toEqual([]);
});

describe('a call', () => {
  test('returns what no cache may store, because a result can have signed links', async () => {
    const agency = await service.agency();
    const params = { name: 'listTeamMembers', arguments: {} };
    const { headers } = await agency.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    expect(headers['cache-control']).toBe('no-store');
  });

  test('creates, finds, changes and archives a record', async () => {
    const { agency, client } = await agent();
    const { body: created } = await call(client, 'createCustomer', {
      firstName: 'Ana',
      contacts: [{ identifierType: 'email', identifierValue: 'ana@example.com' }],
    });
    expect((await agency.get(`/v1/customers/${created.id}`)).body).toEqual(created);
    const found = await call(client, 'listCustomers', { query: 'ANA@', limit: 1 });
    expect(found.body).toEqual({ data: [created], pagination: { limit: 1, offset: 0, total: 1 } });
    const { body: changed } = await call(client, 'updateCustomer', { customerId: created.id, city: 'Quito' });
    expect(changed).toMatchObject({ id: created.id, city: 'Quito' });
    expect(await call(client, 'archiveCustomer', { customerId: created.id })).toEqual({
      isError: false,
      body: { id: created.id, archived: true },
    });
  });

  test('that is invalid returns the error of the operation, with the paths of arguments instead of parts of the request', async () => {
    const { client } = await agent();
    for (const [name, args, code, path] of [
      ['listCustomers', { nombre: 'Ana' }, 'VALIDATION_FAILED', 'nombre'],
      ['createCatalogProduct', { titel: 'x', title: 'x' }, 'VALIDATION_FAILED', 'titel'],
      [
        'createCustomer',
        { contacts: [{ identifierType: 'fax' }] },
        'VALIDATION_FAILED',
        'contacts[0].identifierType',
      ],
      ['getCustomer', { customerId: '../team' }, 'CUSTOMER_NOT_FOUND', undefined],
      ['getConversationTranscript', { conversationId: '..' }, 'CONVERSATION_NOT_FOUND', undefined],
    ] as const) {
      const { isError, body } = await call(client, name, args);
      expect([isError, body.error.code, body.error.details?.[0].path]).toEqual([true, code, path]);
    }
    const contacts = [{ identifierType: 'web', identifierValue: 'ana' }];
    const { body: ana } = await call(client, 'createCustomer', { contacts });
    const { error } = (await call(client, 'createCustomer', { contacts })).body;
    expect(error).toEqual({
      code: 'CUSTOMER_CONTACT_CONFLICT',
      message: `A contact can belong to one customer only: contacts[0] belongs to customer ${ana.id}.`,
      details: [{ path: 'contacts[0]', customerId: ana.id }],
    });
  });

  test('with an idempotency key creates one record, however often it is repeated', async () => {
    const { agency, client } = await agent();
    const create = (args: Record<string, unknown>) => call(client, 'createCatalogProduct', args);
    const idempotencyKey = 'México, first try\n';
    const first = await create({ title: 'Oaxaca', idempotencyKey });
    expect(await create({ title: 'Oaxaca', idempotencyKey })).toEqual(first);
    expect((await create({ title: 'Puebla', idempotencyKey })).body.error.code).toBe(
      'IDEMPOTENCY_KEY_REUSED',
    );
    // Models that send every argument send no key in these forms.
    for (const none of [{}, { idempotencyKey: null }, { idempotencyKey: '' }])
      expect((await create({ title: 'Oaxaca', ...none })).isError).toBe(false);
    expect((await agency.get('/v1/catalog/products')).body.pagination.total).toBe(4);
  });

  test('counts once against the rate limit of its key, and its two log lines have the same request id', async () => {
    const { scope, id } = await service.agency();
    const limited = await startService({ beside: service, requestsPerMinute: 2 });
    onTestFinished(limited.close);
    const { key } = parseJson(await issueApiKey(scope, { name: 'agent' }));
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'listTeamMembers' } };
    const accept = 'application/json, text/event-stream';
    const send = () => limited.client(key).post('/mcp', message, { headers: { accept } });
    // A call counts as one request, and no header can exempt a request.
    const allowed = [await send(), await send()];
    expect(allowed.map(({ body }) => body.result.isError)).toEqual([false, false]);
    expect(allowed.map(({ headers }) => headers['x-ratelimit-remaining'])).toEqual(['1', '0']);
    const { status, body, headers } = await send();
    expect([status, body.error.code]).toEqual([429, 'RATE_LIMIT_EXCEEDED']);
    expect(Number(headers['retry-after'])).toEqual(expect.any(Number));
    const disguised = { headers: { 'x-counted-request': 'true' } };
    expect((await limited.client(key).get('/v1/team', disguised)).status).toBe(429);

    const other = parseJson(await issueApiKey(scope, { name: 'logged' }));
    lines.length = 0;
    await call(await connect(other.key), 'listQuotes');
    const inner = lines.find((line) => JSON.stringify(line).includes('/v1/quotes'));
    const outer = lines.filter((line) => JSON.stringify(line).includes('"/mcp"'));
    expect(JSON.stringify(inner)).toContain(id);
    expect(outer.map(({ requestId }) => requestId)).toContain(inner?.requestId);
  });
});

describe('arguments of every tool', () => {
  type Property = { type?: string | string[] };
  type Tool = {
    name: string;
    properties: Record<string, Property>;
    required: readonly string[];
    /** Arguments with which a call succeeds. */
    validArguments: () => Record<string, unknown>;
  };
  let agency: Agency;
  let client: Client;
  let tools: Tool[];

  beforeAll(async () => {
    ({ agency, client } = await agent());
    const contacts = () => [{ identifierType: 'web', identifierValue: `visitor ${newId()}` }];
    const ids = await populate({ service, agency });
    tools = (await client.listTools()).tools.map(({ name, inputSchema }) => {
      const { required = [] } = inputSchema;
      const properties = (inputSchema.properties ?? {}) as Tool['properties'];
      const validValue = (argument: string) => {
        if (argument === 'contacts') return contacts();
        const isText = typesOf(properties[argument] ?? {}).includes('string') && !argument.endsWith('Id');
        return isText ? 'Oaxaca' : ids[argument as keyof typeof ids];
      };
      const validArguments = () =>
        Object.fromEntries(required.map((argument) => [argument, validValue(argument)]));
      return { name, properties, required, validArguments };
    });
    const undefinedArguments = tools.flatMap(({ name, validArguments }) =>
      Object.entries(validArguments()).flatMap(([argument, value]) =>
        value === undefined ? [`${argument} of ${name}`] : [],
      ),
    );
    expect(undefinedArguments, `Create their records in \`populate\` of ${FILE}`).toEqual([]);
  });

  /** Groups so small that a response can have an error for each item: it has twenty errors at most. */
  const inGroups = <Item>(items: readonly Item[]): Item[][] =>
    items.length === 0 ? [] : [items.slice(0, 15), ...inGroups(items.slice(15))];

  const typesOf = ({ type = [] }: Property): string[] => [type].flat();

  test('null in an optional argument is the same as no argument', async () => {
    for (const { name, properties, required, validArguments } of tools) {
      if (name.startsWith('archive')) continue;
      const optional = Object.keys(properties).filter((argument) => !required.includes(argument));
      const nulls = Object.fromEntries(optional.map((argument) => [argument, null]));
      const plain = await call(client, name, validArguments());
      const withNulls = await call(client, name, { ...validArguments(), ...nulls });
      expect([withNulls.isError, plain.isError], name).toEqual([false, false]);
      if (!name.startsWith('create')) expect(withNulls.body, name).toEqual(plain.body);
      if (!name.startsWith('list')) continue;
      expect(plain.body.data.length, `${name}: create its record in \`populate\` of ${FILE}`).toBeGreaterThan(
        0,
      );
    }
  });

  test('an error names a required argument that is absent, null or empty', async () => {
    for (const { name, required, validArguments } of tools) {
      for (const argument of required) {
        const error = {
          code: 'VALIDATION_FAILED',
          message: `The request is not valid: ${argument} is required.`,
          details: [{ path: argument, message: 'is required' }],
        };
        for (const value of [undefined, null, ...(argument.endsWith('Id') ? [''] : [])]) {
          const result = await call(client, name, { ...validArguments(), [argument]: value });
          expect(result, name).toEqual({ isError: true, body: { error } });
        }
      }
    }
  });

  test('`fields` selects the fields of each record in every reading tool, and is unknown to /v1', async () => {
    for (const { name, properties, validArguments } of tools.filter(
      ({ properties }) => 'fields' in properties,
    )) {
      const { body: complete } = await call(client, name, validArguments());
      const { items, description } = properties.fields as {
        items: { enum?: string[] };
        description?: string;
      };
      const other = /^The field names of (\w+)\.$/.exec(description ?? '')?.[1];
      const namedBy = tools.find((tool) => tool.name === other)?.properties.fields as { items: typeof items };
      const names = (namedBy?.items ?? items).enum ?? [];
      const records = (body: { data?: object[] }) => body.data ?? [body];
      for (const record of records(complete)) expect(Object.keys(record), name).toEqual(names);
      const everySecond = names.filter((_, index) => index % 2 === 1);
      for (const fields of [everySecond, names.slice(0, 1), names, []]) {
        const { isError, body } = await call(client, name, { ...validArguments(), fields });
        expect(isError, name).toBe(false);
        const selected = records(complete).map((record) =>
          Object.fromEntries(
            Object.entries(record).filter(([field]) => fields.length === 0 || fields.includes(field)),
          ),
        );
        expect(body, name).toEqual(complete.data ? { ...complete, data: selected } : selected[0]);
      }
      const fields = [names[1]?.slice(0, -1), 'nobody has it', 5];
      const { body } = await call(client, name, { ...validArguments(), fields });
      expect(body.error.details, name).toEqual([
        { path: 'fields[0]', message: `is unknown (did you mean ${names[1]}?)` },
        { path: 'fields[1]', message: `is unknown (known names: ${names.join(', ')})` },
        { path: 'fields[2]', message: 'must be a string' },
      ]);
      const many = await call(client, name, { ...validArguments(), fields: [...names, ...names] });
      expect(many.body.error.details, name).toEqual([
        { path: 'fields', message: `must be an array of at most ${names.length} field names` },
      ]);
    }
    const { status, headers } = await agency.get('/v1/team?fields=name');
    expect([status, headers['x-ignored-parameters']]).toEqual([200, 'fields']);
  });

  test('an error names an argument of the wrong type, which is never converted to text', async () => {
    const values: [value: unknown, isWrong: (types: string[]) => boolean][] = [
      [['x'], (types) => !types.includes('array')],
      [{ x: 1 }, (types) => !types.includes('object')],
      [true, (types) => !types.includes('boolean')],
      [1.5, (types) => !types.includes('number') && !types.includes('integer')],
      [1.5, (types) => types.includes('integer')],
      ['\ud800', (types) => types.includes('string')],
    ];
    for (const { name, properties, required, validArguments } of tools)
      for (const [value, isWrong] of values) {
        const wrong = Object.keys(properties).filter((argument) =>
          isWrong(typesOf(properties[argument] as Property)),
        );
        // The arguments for the path and for headers are validated one by one, before the others.
        const isFirst = (argument: string) =>
          argument === 'idempotencyKey' || (required.includes(argument) && argument.endsWith('Id'));
        const first = wrong.filter(isFirst).map((argument) => [argument]);
        for (const group of [...first, ...inGroups(wrong.filter((argument) => !isFirst(argument)))]) {
          const mistyped = Object.fromEntries(group.map((argument) => [argument, value]));
          const { body } = await call(client, name, { ...validArguments(), ...mistyped });
          expect(body.error?.code, `${name} ${group} ${value}`).toBe('VALIDATION_FAILED');
          const paths = body.error.details.map(({ path }: { path: string }) => path);
          for (const argument of group)
            expect(paths, `${name} ${value}`).toContainEqual(
              expect.stringMatching(new RegExp(`^${argument}\\b`)),
            );
        }
      }
  });
});

test.each([{}, { authorization: 'Bearer tcrm_wrong' }])(
  'a request with headers %j and no valid key is rejected',
  async (headers) => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const { status, body } = await service.client('').post('/mcp', message, { key: null, headers });
    expect([status, body.error.code]).toEqual([401, 'UNAUTHORIZED']);
  },
);

test('no arguments cause an internal error', async () => {
  const { client } = await agent();
  const names = operations.map(({ operation }) => operation.operationId);
  const argumentNames = [
    ...new Set(operations.flatMap(({ operation }) => (operation.parameters ?? []).map(({ name }) => name))),
    'title',
    'contacts',
    'variants',
    'tags',
  ];
  const anyArguments = fc.dictionary(
    fc.oneof(fc.constantFrom(...argumentNames), fc.string({ maxLength: 8 })),
    fc.jsonValue(),
    {
      maxKeys: 4,
    },
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...names), anyArguments, async (name, args) => {
      const { isError, body } = await call(client, name, args);
      if (!isError) return;
      expect(errorCodes).toContain(body.error.code);
      expect(body.error.code).not.toBe('INTERNAL_ERROR');
    }),
    { numRuns: 100, examples: [['listCatalogProducts', { '': { toString: {} } }]] },
  );
});

test('a call uses the key of its request, in either header, even if the header is repeated', async () => {
  const { key } = await service.agency();
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'listTeamMembers' } };
  const variants: Record<string, string>[] = [
    { 'x-api-key': key },
    { 'x-api-key': key, 'X-Api-Key': key },
    { 'x-api-key': key, Authorization: 'Basic eDp5' },
  ];
  for (const headers of variants) {
    const bytes = requestBytes(
      'POST',
      '/mcp',
      { ...headers, 'Content-Type': 'application/json' },
      JSON.stringify(message),
    );
    const response = await exchange(Number(new URL(base).port), bytes);
    expect(JSON.parse(response?.text ?? '').result.isError).toBe(false);
  }
});

test('a message that is not of the protocol is rejected, and there are no streams and sessions', async () => {
  const agency = await service.agency();
  const accept = 'application/json, text/event-stream';
  const unknown = await agency.post(
    '/mcp',
    { jsonrpc: '2.0', id: 1, method: 'x/y' },
    { headers: { accept } },
  );
  expect(unknown.body).toMatchObject({ id: 1, error: { code: -32_601 } });
  const ping = (more: object, headers = {}, path = '/mcp') =>
    agency.post(path, { jsonrpc: '2.0', id: 'a', method: 'ping', ...more }, { headers });
  for (const path of ['/mcp', '/mcp/'])
    expect((await ping({ params: null }, {}, path)).body).toEqual({ jsonrpc: '2.0', id: 'a', result: {} });
  for (const [code, message, more] of [
    [-32_600, 'body.method must be a string', { method: 5 }],
    [-32_600, 'body.method is required', { method: undefined }],
    [-32_600, 'body.id must be a string or a number', { id: null }],
    [-32_602, 'body.params must be a JSON object', { params: [] }],
    [-32_602, 'body.params.cursor must be a string', { method: 'tools/list', params: { cursor: 5 } }],
    [-32_602, 'body.params.name is required', { method: 'tools/call' }],
    [
      -32_602,
      'body.params.arguments must be a JSON object',
      { method: 'tools/call', params: { name: 'x', arguments: [] } },
    ],
    [
      -32_602,
      'body.params.clientInfo is required',
      { method: 'initialize', params: { protocolVersion: '1', capabilities: {} } },
    ],
  ] as const) {
    const { status, body } = await ping(more);
    const id = 'id' in more ? null : 'a';
    expect(body).toEqual({
      jsonrpc: '2.0',
      id,
      error: { code, message: `The request is not valid: ${message}.` },
    });
    expect(status).toBe(code === -32_602 ? 200 : 400);
  }
  const listed = await ping({ method: 'tools/list', params: { cursor: null, _meta: null } });
  expect(listed.body.result.tools).toHaveLength(operations.length);
  const given = { name: 'listQuotes', arguments: '{"limit":1}' };
  expect((await ping({ method: 'tools/call', params: given })).body.result.isError).toBe(false);
  for (const [payload, type, code] of [
    ['{', 'application/json', -32_700],
    ['', 'application/json', -32_700],
    ['{}', 'text/plain', -32_700],
    ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 'application/json', -32_600],
    ['{"hello":1}', 'application/json', -32_600],
  ] as const) {
    const headers = { 'x-api-key': agency.key, 'content-type': type };
    const response = await service.app.inject({ method: 'POST', url: '/mcp', headers, payload });
    expect([response.statusCode, response.json()], payload).toMatchObject([
      400,
      { jsonrpc: '2.0', id: null, error: { code, message: expect.stringContaining('body') } },
    ]);
  }
  expect((await ping({ params: { _meta: 1 } })).body).toMatchObject({
    jsonrpc: '2.0',
    error: { code: -32_600 },
  });
  const old = await ping({}, { 'mcp-protocol-version': '2020-01-01' });
  expect([old.status, old.body.error]).toMatchObject([
    400,
    { code: -32_022, data: { supported: expect.arrayContaining(['2025-06-18']), requested: '2020-01-01' } },
  ]);
  expect(await ping({ id: undefined, method: 'notifications/cancelled' })).toMatchObject({
    status: 202,
    text: '',
  });
  expect((await agency.get('/mcp')).status).toBe(405);
  expect((await agency.delete('/mcp')).headers.allow).toBe('POST');
});

describe('revision 2026-07-28', () => {
  const pinned = (key: string, pin = '2026-07-28') =>
    connect(key, base, { versionNegotiation: { mode: { pin } } });

  test('has the tools and results of earlier revisions, for a client that requires it and one that negotiates', async () => {
    const agency = await service.agency();
    await opportunity(agency, { salesStage: 'won' });
    const old = await connect(agency.key);
    const auto = await connect(agency.key, base, { versionNegotiation: { mode: 'auto' } });
    for (const client of [await pinned(agency.key), auto]) {
      expect(client.getInstructions()).toBe(old.getInstructions());
      expect((await client.listTools()).tools).toEqual((await old.listTools()).tools);
      for (const args of [{ limit: 1 }, { limti: 1 }])
        expect(await call(client, 'listOpportunities', args)).toEqual(
          await call(old, 'listOpportunities', args),
        );
      await expect(client.callTool({ name: 'listNothing' })).rejects.toThrow('is unknown');
    }
  });

  test('simultaneous requests of two organizations each use their own key', async () => {
    const [one, other] = [await service.agency(), await service.agency()];
    await opportunity(one, { title: 'Una' });
    await opportunity(other, { title: 'Otra' });
    const clients = [await pinned(one.key), await pinned(other.key)];
    const titles = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        const { body } = await call(clients[index % 2] as Client, 'listOpportunities', { fields: ['title'] });
        return body.data.map(({ title }: { title: string }) => title);
      }),
    );
    expect(titles).toEqual(Array.from({ length: 10 }, (_, index) => [index % 2 ? 'Otra' : 'Una']));
  });

  test('the error of an unknown later revision names the supported ones, and there are no streams', async () => {
    const agency = await service.agency();
    await expect(pinned(agency.key, '2099-01-01')).rejects.toThrow();
    const envelope = (version: string) => ({
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
      'io.modelcontextprotocol/clientCapabilities': {},
    });
    const send = (method: string, version: string, params: object = {}) =>
      agency.post(
        '/mcp',
        { jsonrpc: '2.0', id: 7, method, params: { ...params, _meta: envelope(version) } },
        { headers: { 'mcp-protocol-version': version, 'mcp-method': method } },
      );
    const { status, body } = await send('tools/list', '2099-01-01');
    expect([status, body]).toMatchObject([
      400,
      { id: 7, error: { code: -32_022, data: { supported: ['2026-07-28'], requested: '2099-01-01' } } },
    ]);
    const listening = await send('subscriptions/listen', '2026-07-28', { notifications: {} });
    expect(listening.body.error).toBeDefined();
    expect(listening.headers['content-type']).toMatch(/^application\/json/);
  });
});

test('pages of other sites are rejected, whatever Host they send; local pages and clients without Origin are not', async () => {
  const { key } = await service.agency();
  const app = await ownApp(service, { publisher: { publicUrl: 'https://api.agency.example' } });
  const message = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const statusOf = async (origin: string | undefined, host = 'api.agency.example') => {
    const headers = { 'x-api-key': key, host, ...(origin !== undefined && { origin }) };
    return (await app.inject({ method: 'POST', url: '/mcp', headers, payload: message })).statusCode;
  };
  for (const origin of [undefined, 'https://api.agency.example', 'http://localhost:6274'])
    expect(await statusOf(origin), origin).toBe(200);
  for (const origin of ['https://evil.example', 'null', 'https://api.agency.example.evil.example'])
    expect(await statusOf(origin), origin).toBe(403);
  expect(await statusOf('http://evil.example', 'evil.example')).toBe(403);
});
