import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { operationsOf, PUBLIC } from './support/contract.ts';
import { ownLog } from './support/instance.ts';
import { FILE, populate } from './support/operations.ts';
import { opportunity, product, web } from './support/records.ts';
import { startService, useService } from './support/service.ts';
import { listen } from './support/socket.ts';

/** The Model Context Protocol, with the client of the official SDK over a real connection. */

const service = await useService({ mcp: 'write' });
const { origin: base } = await listen(service);

/** A client; it closes with the test. */
async function connect(key: string, origin = base, options: ClientOptions = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, options);
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', origin), { requestInit }));
  onTestFinished(() => client.close());
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

const names = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

const operations = operationsOf(PUBLIC);
const idsOf = (method: string) =>
  operations.filter((one) => one.method === method).map(({ operation }) => operation.operationId);

const CONTACTS = [web('ana')];

describe('the tools', () => {
  test('are the operations of /v1, each with its parameters, in schemas that every host takes', async () => {
    const { tools } = await (await agent()).client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(operations.map(({ operation }) => operation.operationId));
    for (const [index, tool] of tools.entries()) {
      const { method, operation } = operations[index] as (typeof operations)[number];
      const properties = Object.keys(tool.inputSchema.properties ?? {});
      const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in !== 'header');
      expect(properties).toEqual(expect.arrayContaining(parameters.map(({ name }) => name)));
      for (const [name, ofMethods] of Object.entries({ clear: ['PATCH'], idempotencyKey: ['POST'] }))
        expect(properties.includes(name), `${name} of ${tool.name}`).toBe(ofMethods.includes(method));
      expect(tool.annotations).toEqual({
        readOnlyHint: method === 'GET',
        destructiveHint: method === 'PATCH' || method === 'DELETE',
        idempotentHint: method !== 'POST',
        openWorldHint: false,
      });
      expect(tool.description).toMatch(/ Use it to /);
      // Many models cannot follow references, and some hosts reject all tools where one type is a list.
      expect(JSON.stringify(tool.inputSchema), tool.name).not.toMatch(/\$ref|"type":\[|[[,:]null/);
      // Agents see no headers, bodies or statuses.
      expect(JSON.stringify(tool), tool.name).not.toMatch(
        /etag|if-match|strict|prefer:|header|\bbody\b|\b4\d\d\b/i,
      );
    }
    const { description, inputSchema } = tools.find(({ name }) => name === 'updateCustomer') ?? {};
    expect(description).toContain('`contacts`, `tags` and `summary` replace what was there');
    expect(inputSchema?.required).toEqual(['customerId']);
  });

  test('only read with MCP=read, the default, and do not exist with MCP=off', async () => {
    const { key } = await service.agency();
    const reading = await startService({ beside: service });
    onTestFinished(reading.close);
    const client = await connect(key, (await listen(reading)).origin);
    expect(client.getInstructions()).toMatch(/^The records of one travel agency\./);
    expect(await names(client)).toEqual(idsOf('GET'));
    const message =
      'There is no tool createCatalogProduct. tools/list names the tools. On this service, agents can only read.';
    await expect(call(client, 'createCatalogProduct', { title: 'x' })).rejects.toThrow(message);
    const off = await startService({ beside: service, mcp: 'off' });
    onTestFinished(off.close);
    const { status, body } = await off.client(key).post('/mcp', {});
    expect([status, body.error.code]).toEqual([404, 'ROUTE_NOT_FOUND']);
  });

  test.each([
    [{ access: 'create' }, idsOf('POST'), 'listCustomers', 'KEY_CREATE_ONLY'],
    [
      { access: 'read', resources: ['quotes', 'catalog'] },
      ['listCatalogProducts', 'getCatalogProduct', 'listQuotes', 'listQuoteAttachments'],
      'createCatalogProduct',
      'KEY_READ_ONLY',
    ],
  ] as const)('of a key with %j are those that it may use', async (limits, allowed, other, code) => {
    const { issueKey } = await service.agency();
    const { key } = await issueKey(limits as never);
    const client = await connect(key);
    expect(await names(client)).toEqual(allowed);
    expect(await call(client, other, {})).toMatchObject({ isError: true, body: { error: { code } } });
    expect((await call(client, allowed[0] ?? '', { title: 'x' })).body.error?.code).not.toBe(code);
  });
});

/** What hosts make of arguments: each is the same as the others of its line. */
const AS_HOSTS_SEND: [name: string, ...args: Record<string, unknown>[]][] = [
  [
    'createCustomer',
    { tags: ['vip'], contacts: CONTACTS },
    { tags: '["vip"]', contacts: JSON.stringify(CONTACTS) },
    { tags: 'vip', contacts: CONTACTS[0], city: '', country: null },
    { tags: ['vip'], contacts: JSON.stringify(CONTACTS[0]), preferredLanguage: '' },
  ],
  [
    'createCatalogProduct',
    { title: 'x', fromPrice: 99.5, variants: [{ label: 'A', fromPrice: 7, includes: ['x'] }] },
    { title: 'x', fromPrice: '99.5', currency: '', variants: { label: 'A', fromPrice: '7', includes: 'x' } },
    {
      title: 'x',
      fromPrice: '99.50',
      variants: '[{"label":"A","fromPrice":7,"priceMax":null,"includes":"[\\"x\\"]"}]',
    },
  ],
  [
    'listCustomers',
    { limit: 1, updatedBefore: '2026-11-02T00:00:00Z' },
    { limit: '1', query: '', contactType: null, tag: '', updatedBefore: '2026-11-02' },
  ],
];

test.each(AS_HOSTS_SEND)(
  '%s takes lists as JSON or as their only entry, numbers as text, days for date-times, and no empty text',
  async (name, ...all) => {
    const results = await Promise.all(
      all.map(async (args) => (await call((await agent()).client, name, args)).body),
    );
    const generated = /"(?:id|createdAt|updatedAt)":"[^"]*"/g;
    const [expected, ...others] = results.map((body) => JSON.stringify(body).replace(generated, ''));
    expect(expected).not.toContain('error');
    for (const other of others) expect(other).toBe(expected);
  },
);

test('an update leaves fields whose argument is null, and empties those in `clear`', async () => {
  const { client } = await agent();
  const texts = { firstName: 'Ana', lastName: 'Peña', city: 'Quito', country: 'Ecuador', summary: 'Vegana' };
  const { body: ana } = await call(client, 'createCustomer', { contacts: CONTACTS, ...texts, tags: ['vip'] });
  const update = async (args: object) =>
    (await call(client, 'updateCustomer', { customerId: ana.id, ...args })).body;
  const nulls = { lastName: null, tags: null, contacts: null };
  const { updatedAt, ...changed } = await update({ ...nulls, country: 'Chile', clear: ['city', 'summary'] });
  expect({ ...ana, ...changed }).toEqual({ ...ana, city: null, summary: null, country: 'Chile' });
  expect(updatedAt > ana.updatedAt).toBe(true);
  expect(await update({ clear: 'country' })).toMatchObject({ country: null });
  expect((await update({ clear: ['contacts'] })).error.details).toEqual([
    { path: 'clear', message: expect.stringMatching(/^must be a list of names among firstName, .*summary$/) },
  ]);
  expect((await update({ clear: ['city'], city: 'Lima' })).error.details).toEqual([
    { path: 'city', message: 'is in clear too: send one of them' },
  ]);
});

test('an update takes a record as it was read, and says which arguments only responses have', async () => {
  const { client } = await agent();
  const { body: product } = await call(client, 'createCatalogProduct', { title: 'Oaxaca' });
  const sent = { ...product, productId: product.id, title: 'Chiapas' };
  const { content } = await client.callTool({ name: 'updateCatalogProduct', arguments: sent });
  const [record, note] = content as { text: string }[];
  expect(JSON.parse(record?.text ?? '')).toMatchObject({ id: product.id, title: 'Chiapas' });
  expect(note?.text).not.toContain('body');
  expect(note?.text).toMatch(/^Ignored, because only responses have it: .*\bvariants/);
});

describe('arguments', () => {
  const MANY = Array(25_000).fill('id');
  const NO_NAMES = /^clear must be a list of names/;
  const DEEP = `${'['.repeat(40)}${']'.repeat(40)}`;
  const OBJECTS = `[${Array(12_001).fill('{}')}]`;
  const INFINITE = '{"label":"x","currency":-1e400}';
  const REJECTED: Record<string, [what: string, args: Record<string, unknown>, message: RegExp][]> = {
    updateCustomer: [
      ['25,000 names', { clear: MANY, customerId: 'x' }, NO_NAMES],
      ['a name that no field has', { clear: '["x"]', customerId: 'x' }, NO_NAMES],
      ['a key of an update', { customerId: 'x', idempotencyKey: '1' }, /^idempotencyKey is unknown/],
    ],
    createCustomer: [
      ['JSON in JSON', { contacts: DEEP }, /must not be nested deeper than 32 levels/],
      ['many objects as JSON', { contacts: OBJECTS }, /must have at most 12000 fields, objects and lists/],
    ],
    listCustomers: [
      ['a long query', { query: 'x'.repeat(100_000) }, /^The arguments are too long/],
      ['an object', { query: { toString: 1 } }, /^query must be a string$/],
      ['a name of other tools', { clear: ['city'] }, /^clear is unknown/],
    ],
    createCatalogProduct: [
      ['1e400', { title: 'x', fromPrice: '9'.repeat(400) }, /^fromPrice must be a number$/],
      ['1e400 as JSON', { title: 'x', variants: INFINITE }, /^variants\[0\]\.currency must be a string$/],
      ['an unknown name', { titel: 'x', title: 'x' }, /did you mean title/],
    ],
    getCustomer: [
      ['half a character', { customerId: '\ud800' }, /^customerId must not contain/],
      ['no id', { customerId: '' }, /^customerId is required$/],
    ],
  };
  describe.each(Object.entries(REJECTED))('of %s', (name, cases) => {
    test.each(cases)(
      'that are %s are an error that is named, like one of /v1',
      async (_what, args, message) => {
        const { error } = (await call((await agent()).client, name, args)).body;
        expect(error.code).toBe('VALIDATION_FAILED');
        expect(error.message.replace(/^The request is not valid: |\.$/g, '')).toMatch(message);
      },
    );
  });

  test('that are optional may be null, in every tool', async () => {
    const { agency, client } = await agent();
    const ids = await populate({ service, agency });
    const { tools } = await client.listTools();
    for (const { name, inputSchema } of tools.filter(({ name }) => !name.startsWith('archive'))) {
      const { required = [], properties = {} } = inputSchema;
      const valid = () => {
        const values = { ...ids, contacts: [web(crypto.randomUUID())], title: 'Oaxaca' };
        return Object.fromEntries(required.map((argument) => [argument, values[argument as 'title']]));
      };
      expect(Object.values(valid()), `${name}: \`populate\` of ${FILE}`).not.toContain(undefined);
      const optional = Object.keys(properties).filter((argument) => !required.includes(argument));
      const nulls = Object.fromEntries(optional.map((argument) => [argument, null]));
      const { isError, body } = await call(client, name, { ...valid(), ...nulls });
      expect(isError, name).toBe(false);
      expect(body.data ?? [body], `${name}: \`populate\` of ${FILE}`).not.toEqual([]);
    }
    const params = { name: 'listTeamMembers', arguments: null };
    const { body } = await agency.post('/mcp', { jsonrpc: '2.0', id: 'a', method: 'tools/call', params });
    expect(body.result).toMatchObject({ isError: false });
    const { customerId, productId } = ids;
    expect((await call(client, 'archiveCustomer', { customerId })).body.id).toBe(customerId);
    expect((await call(client, 'archiveCatalogProduct', { productId })).body.id).toBe(productId);
  });
});

test('a result above 1 MiB is an error that says what to do', async () => {
  const { agency, client } = await agent();
  for (let index = 0; index < 18; index += 1)
    await product(agency, { title: `${index}`, description: 'x\\"]}{[,\\\\" '.repeat(4_000) });
  const message = 'The result would be larger than 1 MiB. Use a lower `limit`.';
  const body = { error: { code: 'VALIDATION_FAILED', message } };
  const reading = await startService({ beside: service });
  onTestFinished(reading.close);
  for (const each of [client, await connect(agency.key, (await listen(reading)).origin)])
    expect(await call(each, 'listCatalogProducts')).toEqual({ isError: true, body });
  expect((await agency.get('/v1/catalog/products')).body.data).toHaveLength(18);
  const page = await agency.get('/v1/catalog/products?limit=5');
  expect((await call(client, 'listCatalogProducts', { limit: 5 })).body).toEqual(page.body);
});

describe('a call', () => {
  test('that is rejected has the error of the operation, with the paths of arguments', async () => {
    const { client } = await agent();
    const { body: ana } = await call(client, 'createCustomer', { contacts: CONTACTS });
    expect((await call(client, 'createCustomer', { contacts: CONTACTS })).body.error).toEqual({
      code: 'CUSTOMER_CONTACT_CONFLICT',
      message: `A contact can belong to one customer only: contacts[0] belongs to customer ${ana.id}.`,
      details: [{ path: 'contacts[0]', customerId: ana.id }],
    });
    const notFound = { isError: true, body: { error: { code: 'CONVERSATION_NOT_FOUND' } } };
    for (const conversationId of ['../team', '..'])
      expect(await call(client, 'getConversationTranscript', { conversationId })).toMatchObject(notFound);
  });

  test('with an idempotency key creates one record, however often it is repeated', async () => {
    const { agency, client } = await agent();
    const create = (args: Record<string, unknown>) => call(client, 'createCatalogProduct', args);
    const idempotencyKey = 'México, first try\n';
    const first = await create({ title: 'Oaxaca', idempotencyKey });
    expect(await create({ title: 'Oaxaca', idempotencyKey })).toEqual(first);
    const { error } = (await create({ title: 'Puebla', idempotencyKey })).body;
    expect(error.code).toBe('IDEMPOTENCY_KEY_REUSED');
    for (const none of [{}, { idempotencyKey: null }, { idempotencyKey: '' }])
      expect((await create({ title: 'Oaxaca', ...none })).isError).toBe(false);
    expect((await agency.get('/v1/catalog/products')).body.pagination.total).toBe(4);
  });

  test('counts once against the limit of its key, whatever it is disguised as, is stored by no cache, and is logged with the id of its request', async () => {
    const { key } = await service.agency();
    const { logger, lines } = ownLog();
    const limited = await startService({ beside: service, requestsPerMinute: 2, logger });
    onTestFinished(limited.close);
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'listTeamMembers' } };
    const send = () => limited.client(key).post('/mcp', message);
    const allowed = [await send(), await send()];
    expect(allowed.map(({ body }) => body.result.isError)).toEqual([false, false]);
    expect(allowed.map(({ headers }) => headers['x-ratelimit-remaining'])).toEqual(['1', '0']);
    expect(allowed[0]?.headers['cache-control']).toBe('no-store');
    const ids = allowed.flatMap(({ headers }) => [headers['x-request-id'], headers['x-request-id']]);
    await expect.poll(() => lines.map(({ requestId }) => requestId)).toEqual(ids);
    expect((await send()).body.error.code).toBe('RATE_LIMIT_EXCEEDED');
    const disguised = { headers: { 'x-counted-request': 'true' } };
    expect((await limited.client(key).get('/v1/team', disguised)).status).toBe(429);
  });
});

describe('the protocol', () => {
  test('of an unknown revision is 400, which names all that the service speaks', async () => {
    const agency = await service.agency();
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const unknown = { headers: { 'mcp-protocol-version': '2031-01-01' } };
    const { status, body } = await agency.post('/mcp', list, unknown);
    expect([status, body.error.code]).toEqual([400, -32_022]);
    expect(body.error.data.supported).toEqual(expect.arrayContaining(['2026-07-28', '2025-11-25']));
    const known = { headers: { 'mcp-protocol-version': '2025-11-25' } };
    expect((await agency.post('/mcp', list, known)).status).toBe(200);
  });

  test.each([
    ['GET', '/.well-known/oauth-protected-resource'],
    ['GET', '/.well-known/oauth-authorization-server/mcp'],
    ['POST', '/register'],
  ])('has no OAuth: %s %s says to set the key as a header', async (method, url) => {
    const { status, body } = await service.client('').request(method, url, { key: null, body: {} });
    expect([status, body.error.code]).toEqual([404, 'ROUTE_NOT_FOUND']);
    expect(body.error.message).toContain('Set the API key as a header: `Authorization: Bearer <key>`');
  });

  test('needs a key, has no streams and sessions, takes no batches, and is the same at /mcp/ and for any Origin', async () => {
    const agency = await service.agency();
    const ping = { jsonrpc: '2.0', id: 'a', method: 'ping' };
    const pong = { body: { id: 'a', result: {} } };
    for (const path of ['/mcp/', '/mcp'])
      expect(await agency.post(path, ping, { headers: { origin: 'null' } })).toMatchObject(pong);
    const { status, body } = await agency.post('/mcp', [ping]);
    expect([status, body.error.code]).toEqual([400, 'VALIDATION_FAILED']);
    const notification = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
    expect(await agency.post('/mcp', notification)).toMatchObject({ status: 202, text: '' });
    expect((await agency.post('/mcp', ping, { key: null })).status).toBe(401);
    expect((await agency.get('/mcp')).status).toBe(405);
    expect((await agency.delete('/mcp')).headers.allow).toBe('POST');
  });

  test('of revision 2026-07-28 has the tools and results of earlier ones, and keeps two callers apart', async () => {
    const [one, other] = [await service.agency(), await service.agency()];
    await opportunity(one, { title: 'Una' });
    await opportunity(other, { title: 'Otra' });
    const old = await connect(one.key);
    const modern = (key: string, mode: 'auto' | { pin: string } = { pin: '2026-07-28' }) =>
      connect(key, base, { versionNegotiation: { mode } });
    const [una, otra] = [await modern(one.key), await modern(other.key)];
    const list = (client: Client, args = {}) => call(client, 'listOpportunities', args);
    for (const client of [una, await modern(one.key, 'auto')]) {
      expect(client.getInstructions()).toBe(old.getInstructions());
      expect((await client.listTools()).tools).toEqual((await old.listTools()).tools);
      for (const args of [{ limit: 1 }, { limti: 1 }])
        expect(await list(client, args)).toEqual(await list(old, args));
    }
    const clients = Array.from({ length: 10 }, (_, index) => (index % 2 ? otra : una));
    const titles = await Promise.all(clients.map(async (each) => (await list(each)).body.data[0].title));
    expect(titles).toEqual(clients.map((each) => (each === una ? 'Una' : 'Otra')));
  });
});
