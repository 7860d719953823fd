import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { issueApiKey } from '../../src/api-keys/repository.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import { operationsOf, readDocument } from '../support/contract.ts';
import { customer } from '../support/records.ts';
import { routesOf } from '../support/router.ts';
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
  test('is in a walk over all writes of the router', () => {
    const routed = routesOf(service.app).filter((route) => /^(?!GET|HEAD)\w+ \/v1\//.test(route));
    expect(writes.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(routed.sort());
    expect(writes.length).toBeGreaterThan(5);
  });

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
