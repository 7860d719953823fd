import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { issueApiKey, updateApiKey } from '../../src/api-keys/repository.ts';
import { type ApiKeyCreate, RESOURCES } from '../../src/api-keys/schema.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import { operationsOf, readDocument } from '../support/contract.ts';
import { customer } from '../support/records.ts';
import { type Agency, useService } from '../support/service.ts';

const service = useService({ requestsPerMinute: 1_000 });
const operations = operationsOf(readDocument('openapi/openapi.json'));
const writes = operations.filter(({ method }) => method !== 'GET');
const reads = operations.filter(({ method }) => method === 'GET');

const REFUSED = {
  error: { code: 'KEY_READ_ONLY', message: 'This key can only read; ask for one with the access "write".' },
};

const readerOf = async ({ scope }: Agency): Promise<string> =>
  parseJson(await issueApiKey(scope, { name: 'reader', access: 'read' })).key;

async function populated() {
  const agency = await service.agency();
  const ids: Record<string, string> = {
    customerId: (await customer(agency)).id,
    productId: (await agency.post('/v1/catalog/products', { title: 'Oaxaca' })).body.id,
  };
  const at = (path: string): string => path.replace(/\{(\w+)\}/, (_, name) => ids[name] ?? randomUUID());
  return { agency, at, key: await readerOf(agency) };
}

describe('a key that only reads', () => {
  test.each(writes.map(({ method, path }) => [method, path] as const))(
    'is refused by %s %s, whatever is sent, and nothing is written',
    async (method, path) => {
      const { agency, at, key } = await populated();
      const before = (await agency.get(at(path))).text;
      for (const [url, body] of [
        [at(path), { title: 'x', firstName: 'x', contacts: [] }],
        [at(path), 'no JSON'],
        [path.replace(/\{\w+\}/, 'nobody'), {}],
      ] as const) {
        const answer = await agency.request(method, url, { key, body });
        expect(answer.status).toBe(403);
        expect(answer.body).toEqual(REFUSED);
        expect(answer.headers['x-ratelimit-limit']).toBe('1000');
      }
      expect((await agency.get(at(path))).text).toBe(before);
    },
  );

  test.each(reads.map(({ path }) => path))('reads %s as a key that writes does', async (path) => {
    const { agency, at, key } = await populated();
    const url = at(path);
    const [theirs, ours] = [await agency.get(url, { key }), await agency.get(url)];
    expect([theirs.status, theirs.text]).toEqual([ours.status, ours.text]);
    const head = await service.app.inject({ method: 'HEAD', url, headers: { 'x-api-key': key } });
    expect(head.statusCode).toBe(ours.status);
  });

  test('is refused after its limit is', async () => {
    const { agency } = await populated();
    const limited = parseJson(
      await issueApiKey(agency.scope, { name: 'reader', access: 'read', requestsPerMinute: 1 }),
    ).key;
    const write = (key: string) => agency.post('/v1/catalog/products', { title: 'Puebla' }, { key });
    expect((await write(limited)).status).toBe(403);
    expect((await write(limited)).status).toBe(429);
    expect((await write('nonsense')).status).toBe(401);
  });
});

describe('a key that was issued for some resources', () => {
  const issue = async ({ scope }: Agency, settings: Omit<ApiKeyCreate, 'name'>) =>
    parseJson(await issueApiKey(scope, { name: 'n', ...settings }));
  const isOf = (resource: string, path: string) => path.startsWith(`/v1/${resource}`);

  test('has a resource for every operation', () => {
    const left = operations.filter(({ path }) => !RESOURCES.some((resource) => isOf(resource, path)));
    expect(left.map(({ path }) => path)).toEqual([]);
    expect(operations.some(({ path }) => path === '/v1/quotes/{quoteId}/attachments')).toBe(true);
  });

  test.each(RESOURCES)(
    'reaches %s alone: any other operation is 403, whatever is sent, and nothing is written',
    async (resource) => {
      const { agency, at } = await populated();
      const { key } = await issue(agency, { resources: [resource] });
      for (const { method, path } of operations) {
        const url = at(path);
        const before = (await agency.get(url)).text;
        const body = method === 'GET' ? undefined : 'no JSON';
        const { status, body: answer, headers } = await agency.request(method, url, { key, body });
        if (isOf(resource, path)) expect([200, 400, 404]).toContain(status);
        else {
          expect([status, answer]).toEqual([
            403,
            {
              error: {
                code: 'KEY_RESOURCE_NOT_ALLOWED',
                message: `This key does not reach ${path.split('/')[2]}, only ${resource}; ask for one that does.`,
              },
            },
          ]);
          expect(headers['x-ratelimit-limit']).toBe('1000');
          expect((await agency.get(url)).text).toBe(before);
        }
      }
    },
  );

  test('reaches several, and is held to its access too', async () => {
    const { agency } = await populated();
    const { key } = await issue(agency, { resources: ['team', 'catalog'], access: 'read' });
    const status = async (method: string, path: string) => {
      const { status, body } = await agency.request(method, path, {
        key,
        body: method === 'GET' ? undefined : {},
      });
      return [status, body.error?.code];
    };
    expect(await status('GET', '/v1/team')).toEqual([200, undefined]);
    expect(await status('GET', '/v1/catalog/products')).toEqual([200, undefined]);
    expect(await status('POST', '/v1/catalog/products')).toEqual([403, 'KEY_READ_ONLY']);
    expect(await status('POST', '/v1/customers')).toEqual([403, 'KEY_RESOURCE_NOT_ALLOWED']);
    expect(await status('GET', '/v1/nothing')).toEqual([404, 'ROUTE_NOT_FOUND']);
  });

  test('is refused after its limit is', async () => {
    const { agency } = await populated();
    const { key } = await issue(agency, { resources: ['team'], requestsPerMinute: 1 });
    const statuses = [
      (await agency.get('/v1/quotes', { key })).status,
      (await agency.get('/v1/quotes', { key })).status,
    ];
    expect(statuses).toEqual([403, 429]);
  });
});

test('changed settings of a key hold within a second, in a process that knows it too', async () => {
  let now = 0;
  const { startService } = await import('../support/service.ts');
  const other = await startService({ beside: service, keyClock: () => now });
  const { agency } = await populated();
  const { id, key } = parseJson(await issueApiKey(agency.scope, { name: 'n' }));
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
