import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { issueApiKey, updateApiKey } from '../../src/api-keys/repository.ts';
import { type ApiKeyCreate, RESOURCES } from '../../src/api-keys/schema.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import { operationsOf, readDocument } from '../support/contract.ts';
import { useDashboard } from '../support/dashboard.ts';
import { customer, product } from '../support/records.ts';
import { type Agency, startService } from '../support/service.ts';

const { service, dashboard } = useDashboard(() => ({}), { requestsPerMinute: 1_000 });
const operations = operationsOf(readDocument('openapi/openapi.json'));

type Settings = Omit<ApiKeyCreate, 'name'>;

const issue = async ({ scope }: Agency, settings: Settings = {}) =>
  parseJson(await issueApiKey(scope, { name: 'n', ...settings }));

const isOf = (resource: string, path: string) => path.startsWith(`/v1/${resource}`);

const LIMITED: Settings[] = [
  { access: 'read' },
  { access: 'create' },
  ...RESOURCES.map((resource) => ({ resources: [resource] })),
];
const CODES = { read: 'KEY_READ_ONLY', create: 'KEY_CREATE_ONLY', write: 'KEY_RESOURCE_NOT_ALLOWED' };

test.each(LIMITED)(
  'a key with %j does what it may like any other; the rest is 403, whatever is sent, and nothing is written',
  async (settings) => {
    const { access = 'write', resources: [resource] = [] } = settings as { resources?: string[] } & Settings;
    const may = (method: string, path: string) =>
      resource ? isOf(resource, path) : method === (access === 'read' ? 'GET' : 'POST');
    const agency = await service.agency();
    const ids: Record<string, string> = {
      customerId: (await customer(agency)).id,
      productId: (await product(agency)).id,
    };
    const { key } = await issue(agency, settings);
    const before = await dashboard.stored(agency);
    let refused = 0;
    for (const { method, path } of operations) {
      const url = path.replace(/\{(\w+)\}/, (_, name) => ids[name] ?? randomUUID());
      const bodies = method === 'GET' ? [undefined] : [{ title: 'x', contacts: [] }, 'no JSON'];
      for (const body of bodies) {
        if (may(method, path)) {
          const sent = { body: body && 'no JSON' };
          const theirs = await agency.request(method, url, { ...sent, key });
          const ours = await agency.request(method, url, sent);
          expect([theirs.status, theirs.text]).toEqual([ours.status, ours.text]);
          if (method !== 'GET') continue;
          const head = await service.app.inject({ method: 'HEAD', url, headers: { 'x-api-key': key } });
          expect(head.statusCode).toBe(ours.status);
          continue;
        }
        const { status, headers, body: answer } = await agency.request(method, url, { key, body });
        expect([status, answer.error.code]).toEqual([403, CODES[access]]);
        expect(headers['x-ratelimit-limit']).toBe('1000');
        if (method === 'GET') {
          const head = await service.app.inject({ method: 'HEAD', url, headers: { 'x-api-key': key } });
          expect(head.statusCode).toBe(403);
        }
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(5);
    expect(await dashboard.stored(agency)).toEqual(before);
  },
);

test('a key that only creates creates a customer and gets the response again with its Idempotency-Key', async () => {
  const agency = await service.agency();
  const { key } = await issue(agency, { access: 'create', resources: ['customers'] });
  const body = { contacts: [{ identifierType: 'email', identifierValue: 'ana@example.com' }] };
  const send = () =>
    agency.post('/v1/customers', body, { key, headers: { 'idempotency-key': 'lead form 1' } });
  const [first, again] = [await send(), await send()];
  expect([first.status, again.status, again.headers['idempotency-replayed']]).toEqual([201, 201, 'true']);
  expect(again.body).toEqual(first.body);
  expect((await agency.post('/v1/catalog/products', { title: 'x' }, { key })).body.error.code).toBe(
    'KEY_RESOURCE_NOT_ALLOWED',
  );
});

test('every operation belongs to a resource that a key can be for', () => {
  const left = operations.filter(({ path }) => !RESOURCES.some((resource) => isOf(resource, path)));
  expect(left).toEqual([]);
});

test('a key for several resources is held to its access too; its limit is looked at before either, a bad key first', async () => {
  const agency = await service.agency();
  const { key } = await issue(agency, {
    resources: ['team', 'catalog'],
    access: 'read',
    requestsPerMinute: 4,
  });
  const ask = async (method: string, path: string, sent = key) => {
    const body = method === 'GET' ? undefined : {};
    const answer = await agency.request(method, path, { key: sent, body });
    return [answer.status, answer.body.error?.code];
  };
  expect(await ask('GET', '/v1/team')).toEqual([200, undefined]);
  expect(await ask('GET', '/v1/catalog/products')).toEqual([200, undefined]);
  expect(await ask('POST', '/v1/catalog/products')).toEqual([403, 'KEY_READ_ONLY']);
  expect(await ask('POST', '/v1/customers')).toEqual([403, 'KEY_RESOURCE_NOT_ALLOWED']);
  expect(await ask('GET', '/v1/nothing')).toEqual([404, 'ROUTE_NOT_FOUND']);
  for (const path of ['/v1/catalog/products', '/v1/customers'])
    expect((await ask('POST', path))[0]).toBe(429);
  expect((await ask('POST', '/v1/customers', 'nonsense'))[0]).toBe(401);
});

test('changed settings of a key hold within a second, in a process that knows it too', async () => {
  let now = 0;
  const other = await startService({ beside: service, keyClock: () => now });
  const agency = await service.agency();
  const { id, key } = await issue(agency);
  const read = async (path: string) => (await other.client(key).get(path)).status;
  expect([await read('/v1/team'), await read('/v1/customers')]).toEqual([200, 200]);
  await updateApiKey(agency.scope, id, { resources: ['team'] });
  now += 1_000;
  expect([await read('/v1/team'), await read('/v1/customers')]).toEqual([200, 403]);
  await updateApiKey(agency.scope, id, { resources: null, requestsPerMinute: 1 });
  now += 1_000;
  expect([await read('/v1/customers'), await read('/v1/customers')]).toEqual([200, 429]);
  await other.close();
});
