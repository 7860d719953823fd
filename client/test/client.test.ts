import { createServer } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { operationsOf, readDocument } from '../../test/support/contract.ts';
import { web } from '../../test/support/records.ts';
import { portOf } from '../../test/support/socket.ts';
import { CrmError, createClient, responseInfo } from '../src/index.ts';
import { useClient } from './start.ts';

const { start } = await useClient();

test('has every operation of the document', async () => {
  const requests = new Set<string>();
  const crm = createClient({
    baseUrl: 'https://api.agency.example',
    apiKey: 'a key',
    fetch: async (input, init) => {
      const path = new URL(String(input)).pathname;
      requests.add(`${init?.method ?? 'GET'} ${path.replace(/\/x(?=\/|$)/, '/{id}')}`);
      return Response.json({ data: [], pagination: { limit: 100, offset: 0, total: 0 } });
    },
  });
  const methods: ((id: string, body: object) => unknown)[] = Object.values(crm).flatMap(Object.values);
  await Promise.allSettled(methods.map(async (method) => method('x', {})));
  const documented = operationsOf(readDocument('openapi/openapi.json'));
  expect([...requests].sort()).toEqual(
    documented.map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/, '{id}')}`).sort(),
  );
});

test('a walk returns every row, in pages of the requested size', async () => {
  const { crm } = await start();
  const titles = Array.from({ length: 33 }, (_, index) => `Product ${index}`);
  for (const title of titles) await crm.products.create({ title });
  const walk = crm.products.walk({ limit: 10, status: 'active' });
  expect((await Array.fromAsync(walk)).map(({ title }) => title)).toEqual(titles.toReversed());
  const pages = await Array.fromAsync(walk.pages());
  expect(pages.map(({ data }) => data.length)).toEqual([10, 10, 10, 3]);
  // @ts-expect-error JavaScript passes it on.
  expect(await Array.fromAsync(crm.products.walk({ limit: undefined }))).toHaveLength(33);
});

test('errors have status, code, details typed by the code, and the request id', async () => {
  const { crm } = await start();
  const error: unknown = await crm.customers.list({ limit: 101 }).catch((reason) => reason);
  if (!(error instanceof CrmError && error.is('VALIDATION_FAILED'))) throw error;
  const details: { path: string; message: string }[] = error.details;
  expect({ ...error, details }).toMatchObject({
    status: 400,
    code: 'VALIDATION_FAILED',
    attempts: 1,
    requestId: expect.stringMatching(/^[\w-]{8,64}$/),
    details: [{ path: 'query.limit', message: 'must be an integer from 1 to 100, in decimal digits' }],
  });
});

test('unknown names are rejected with a suggestion, or ignored and passed to the callback', async () => {
  const misspelt = { contacts: [web('visitor')], firstname: 'Ana' };
  const { crm } = await start();
  const message = expect.stringContaining('did you mean firstName?');
  await expect(crm.customers.create(misspelt)).rejects.toMatchObject({ code: 'VALIDATION_FAILED', message });
  const onIgnored = vi.fn();
  const tolerant = await start({ strict: false, onIgnored });
  await tolerant.crm.customers.create(misspelt);
  const request = { method: 'POST', path: '/v1/customers' };
  expect(onIgnored.mock.calls).toEqual([[['body.firstname'], request]]);
});

test('the base address may end in /v1/', async () => {
  const { agency, baseUrl } = await start();
  const crm = createClient({ apiKey: agency.key, baseUrl: `${baseUrl}/v1/` });
  expect((await crm.team.list()).pagination.total).toBe(0);
});

test('a redirected create fails: it would become a GET, which creates nothing', async () => {
  const server = createServer(({ url }, response) => {
    response.writeHead(url === '/moved' ? 200 : 301, { location: '/moved' }).end('{}');
  });
  onTestFinished(() => void server.close());
  const crm = createClient({ apiKey: 'a key', baseUrl: `http://127.0.0.1:${await portOf(server)}` });
  const error = { status: 301, code: 'UNEXPECTED_RESPONSE', message: expect.stringContaining('/moved') };
  await expect(crm.products.create({ title: 'Patagonia' })).rejects.toMatchObject(error);
});

test.each([
  [{ apiKey: '', baseUrl: 'https://crm.example.com' }, 'apiKey is empty'],
  [{ apiKey: undefined as unknown as string, baseUrl: 'https://crm.example.com' }, 'apiKey is empty'],
  [{ apiKey: 'tcrm_…', baseUrl: 'https://crm.example.com' }, 'apiKey is not a key'],
  [{ apiKey: 'tcrm_', baseUrl: undefined as unknown as string }, 'baseUrl is undefined'],
  [{ apiKey: 'tcrm_', baseUrl: 'crm.example.com' }, 'such as https://crm.example.com'],
])('a client of %j is rejected with the reason', (options, reason) => {
  expect(() => createClient(options)).toThrow(TypeError);
  expect(() => createClient(options)).toThrow(reason);
});

test('an id cannot lead to another path', async () => {
  const { crm } = await start();
  for (const id of ['', '.', '..', undefined as unknown as string]) {
    await expect(crm.customers.archive(id)).rejects.toThrow(TypeError);
  }
  for (const id of ['../team', 'a?b#c'])
    await expect(crm.customers.get(id)).rejects.toMatchObject({ code: 'CUSTOMER_NOT_FOUND' });
});

test('a change with a stale ifMatch changes nothing', async () => {
  const { crm } = await start();
  const stale = await crm.products.create({ title: 'Patagonia' });
  const { id } = stale;
  const changed = await crm.products.update(id, { fromPrice: 1 }, { ifMatch: await crm.products.get(id) });
  const error = { status: 412, code: 'PRECONDITION_FAILED' };
  await expect(crm.products.update(id, { fromPrice: 2 }, { ifMatch: stale })).rejects.toMatchObject(error);
  await expect(crm.products.archive(id, { ifMatch: stale })).rejects.toMatchObject(error);
  const [row = {}] = (await crm.products.list()).data;
  await expect(crm.products.archive(id, { ifMatch: row })).rejects.toThrow('this object has no ETag');
  expect(await crm.products.get(id)).toEqual(changed);
  expect(await crm.products.archive(id, { ifMatch: '*' })).toEqual({ id, archivedAt: expect.any(String) });
});

test('a second create with the same idempotency key is a replay, and creates no second record', async () => {
  const { crm } = await start();
  const options = { idempotencyKey: 'form 1' };
  const first = await crm.products.create({ title: 'Patagonia' }, options);
  const second = await crm.products.create({ title: 'Patagonia' }, options);
  expect(second).toEqual(first);
  expect(responseInfo(first)).toMatchObject({ replayed: false, requestId: expect.any(String) });
  expect(responseInfo(second)).toMatchObject({ replayed: true });
  expect(responseInfo({})).toBeUndefined();
  expect((await crm.products.list()).pagination.total).toBe(1);
});
