import { describe, expect, test } from 'vitest';
import { operationsOf, readDocument } from '../../test/support/contract.ts';
import { CrmError, createClient, responseInfo } from '../src/index.ts';
import { useClient } from './start.ts';

const { start } = useClient();

const contact = (identifierValue: string) => ({ identifierType: 'web' as const, identifierValue });

async function failure(call: Promise<unknown>): Promise<CrmError> {
  const error = await call.then(
    () => undefined,
    (reason) => reason,
  );
  if (!(error instanceof CrmError)) throw new Error(`No CrmError but ${String(error)}`);
  return error;
}

test('has every operation of the document', async () => {
  const asked = new Set<string>();
  const crm = createClient({
    baseUrl: 'https://api.agency.example',
    apiKey: 'a key',
    fetch: async (input, init) => {
      const path = new URL(String(input)).pathname;
      asked.add(`${init?.method ?? 'GET'} ${path.replace(/\/x(?=\/|$)/, '/{id}')}`);
      return Response.json({ data: [], pagination: { limit: 100, offset: 0, total: 0 } });
    },
  });
  const calls = Object.values(crm).flatMap((part) => Object.values(part)) as ((
    id: string,
    body: object,
  ) => unknown)[];
  await Promise.allSettled(calls.map(async (call) => call('x', {})));
  const documented = operationsOf(readDocument('openapi/openapi.json'));
  expect([...asked].sort()).toEqual(
    documented.map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/, '{id}')}`).sort(),
  );
});

test('a product is created, read, changed, listed and archived', async () => {
  const { crm } = await start();
  const made = await crm.products.create({ title: 'Patagonia', variants: [{ label: 'Alta' }] });
  expect(made).toMatchObject({ title: 'Patagonia', type: 'package', variants: [{ label: 'Alta' }] });
  expect(await crm.products.get(made.id)).toEqual(made);
  const changed = await crm.products.update(made.id, { fromPrice: 1450, currency: 'USD' });
  expect(changed).toMatchObject({ id: made.id, fromPrice: 1450, currency: 'USD' });
  const { data, pagination } = await crm.products.list({ query: 'patagonia', limit: 5 });
  expect(data).toEqual([changed]);
  expect(pagination).toEqual({ limit: 5, offset: 0, total: 1 });
  expect(await crm.products.archive(made.id)).toEqual({ id: made.id, archivedAt: expect.any(String) });
  expect((await failure(crm.products.get(made.id))).code).toBe('CATALOG_PRODUCT_NOT_FOUND');
});

test('a walk gives every row, in pages of the size that is asked for', async () => {
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
  const error = await failure(crm.customers.list({ limit: 101 }));
  expect(error).toMatchObject({ status: 400, code: 'VALIDATION_FAILED', attempts: 1 });
  expect(error.requestId).toMatch(/^[\w-]{8,64}$/);
  if (!error.is('VALIDATION_FAILED')) throw error;
  expect(error.details.map(({ path, message }) => `${path} ${message}`)).toEqual([
    'query.limit must be an integer from 1 to 100, in decimal digits',
  ]);
});

describe('unknown names', () => {
  const misspelt = () => ({ contacts: [contact(`visitor ${Math.random()}`)], firstname: 'Ana' });

  test('are rejected, with a suggestion', async () => {
    const { crm } = await start();
    const error = await failure(crm.customers.create(misspelt()));
    expect(error).toMatchObject({ code: 'VALIDATION_FAILED' });
    expect(error.message).toContain('did you mean firstName?');
  });

  test('reach the callback where they are ignored', async () => {
    const told: unknown[] = [];
    const { crm } = await start({ strict: false, onIgnored: (...ignored) => told.push(ignored) });
    await crm.customers.create(misspelt());
    expect(told).toEqual([[['body.firstname'], { method: 'POST', path: '/v1/customers' }]]);
  });
});

test.each(['/', '/v1', '/v1/'])('the base address may end in %s', async (end) => {
  const { agency, baseUrl } = await start();
  const crm = createClient({ apiKey: agency.key, baseUrl: baseUrl + end });
  expect((await crm.team.list()).pagination.total).toBe(0);
});

test.each([
  [{ apiKey: '', baseUrl: 'https://crm.example.com' }, 'apiKey is empty'],
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
  expect((await failure(crm.customers.get('../team'))).code).toBe('CUSTOMER_NOT_FOUND');
  expect((await failure(crm.customers.get('a?b#c'))).code).toBe('CUSTOMER_NOT_FOUND');
});

test('a response has its request id', async () => {
  const { crm } = await start();
  const page = await crm.customers.list();
  expect(responseInfo(page)).toMatchObject({ requestId: expect.any(String), replayed: false });
  expect(responseInfo({})).toBeUndefined();
});

test('a change with a stale ifMatch is rejected', async () => {
  const { crm } = await start();
  const made = await crm.products.create({ title: 'Patagonia' });
  const read = await crm.products.get(made.id);
  const changed = await crm.products.update(read.id, { fromPrice: 1 }, { ifMatch: read });
  const late = crm.products.update(read.id, { fromPrice: 2 }, { ifMatch: read });
  await expect(late).rejects.toMatchObject({ status: 412, code: 'PRECONDITION_FAILED' });
  await expect(crm.products.archive(read.id, { ifMatch: read })).rejects.toMatchObject({ status: 412 });
  expect(await crm.products.update(read.id, { fromPrice: 3 }, { ifMatch: changed })).toMatchObject({
    fromPrice: 3,
  });
  await crm.products.archive(read.id, { ifMatch: '*' });
});

test('a create with the key of an earlier one says so, and makes no second record', async () => {
  const { crm } = await start();
  const options = { idempotencyKey: 'form 1' };
  const first = await crm.products.create({ title: 'Patagonia' }, options);
  const second = await crm.products.create({ title: 'Patagonia' }, options);
  expect(second).toEqual(first);
  expect([first, second].map((answer) => responseInfo(answer)?.replayed)).toEqual([false, true]);
  const other = crm.products.create({ title: 'Norte' }, options);
  await expect(other).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
  expect((await crm.products.list()).pagination.total).toBe(1);
});
