import { describe, expect, test, vi } from 'vitest';
import { operationsOf, readDocument } from '../../test/support/contract.ts';
import { CrmError, createClient, responseInfo } from '../src/index.ts';
import { useClient } from './start.ts';

const { start } = useClient();

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
  const titles = Array.from({ length: 23 }, (_, index) => `Product ${index}`);
  for (const title of titles) await crm.products.create({ title });
  const seen: string[] = [];
  for await (const { title } of crm.products.walk({ limit: 10 })) seen.push(title);
  expect(seen).toEqual(titles.toReversed());
  const sizes: number[] = [];
  for await (const { data } of crm.products.walk({ limit: 10, status: 'active' }).pages())
    sizes.push(data.length);
  expect(sizes).toEqual([10, 10, 3]);
  for await (const row of crm.products.walk({ status: 'draft' })) expect.unreachable(row.id);
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

describe('unknown names', () => {
  const misspelt = {
    contacts: [{ identifierType: 'web' as const, identifierValue: 'visitor' }],
    firstname: 'Ana',
  };

  test('are rejected, with a suggestion', async () => {
    const { crm } = await start();
    await expect(crm.customers.create(misspelt)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining('did you mean firstName?'),
    });
  });

  test('are passed to the callback if they are ignored', async () => {
    const onIgnored = vi.fn();
    const { crm } = await start({ strict: false, onIgnored });
    await crm.customers.create(misspelt);
    const request = { method: 'POST', path: '/v1/customers' };
    expect(onIgnored.mock.calls).toEqual([[['body.firstname'], request]]);
  });
});

test('the base address may end in /v1/', async () => {
  const { agency, baseUrl } = await start();
  const crm = createClient({ apiKey: agency.key, baseUrl: `${baseUrl}/v1/` });
  expect((await crm.team.list()).pagination.total).toBe(0);
});

test.each([
  [{ apiKey: '', baseUrl: 'https://crm.example.com' }, 'apiKey is empty'],
  [{ apiKey: undefined as unknown as string, baseUrl: 'https://crm.example.com' }, 'apiKey is empty'],
  [{ apiKey: 'tcrm_…', baseUrl: 'https://crm.example.com' }, 'apiKey is not a key'],
  [{ apiKey: 'tcrm_', baseUrl: '' }, 'baseUrl is ""'],
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
  const { id } = await crm.products.create({ title: 'Patagonia' });
  const stale = await crm.products.get(id);
  const changed = await crm.products.update(id, { fromPrice: 1 }, { ifMatch: stale });
  const error = { status: 412, code: 'PRECONDITION_FAILED' };
  await expect(crm.products.update(id, { fromPrice: 2 }, { ifMatch: stale })).rejects.toMatchObject(error);
  await expect(crm.products.archive(id, { ifMatch: stale })).rejects.toMatchObject(error);
  expect(await crm.products.get(id)).toEqual(changed);
  await crm.products.update(id, { fromPrice: 3 }, { ifMatch: changed });
  expect(await crm.products.archive(id, { ifMatch: '*' })).toEqual({ id, archivedAt: expect.any(String) });
  await expect(crm.products.get(id)).rejects.toMatchObject({ code: 'CATALOG_PRODUCT_NOT_FOUND' });
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
