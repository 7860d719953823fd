import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { generateKey, hashKey } from '../../src/api-keys/api-key.ts';
import { openKeyCache } from '../../src/api-keys/cache.ts';
import { findKey, revokeApiKey, saveKeyUsage } from '../../src/api-keys/repository.ts';
import type { Queries } from '../../src/db/index.ts';
import { createLogger } from '../../src/http/logging.ts';
import { type Service, type ServiceOptions, startService, useService } from '../support/service.ts';

/** A revoked key is rejected within a second: no answer of the cache is older than 900 ms. */
const TTL = 900;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const service = await useService();
/** The clock of the caches. */
let now = 0;
beforeEach(() => {
  now = 0;
});
afterEach(() => {
  vi.useRealTimers();
});
async function startInstance(options: ServiceOptions = {}): Promise<Service> {
  const instance = await startService({ beside: service, ...options });
  onTestFinished(instance.close);
  return instance;
}

type Intercept = <Row>(query: () => Promise<Row[]>) => Promise<Row[]>;

/** A cache whose reads and writes pass through these functions. */
function openCache(intercepts: { read?: Intercept; write?: Intercept }) {
  const through = (verb: 'read' | 'write'): Queries['read'] => {
    const intercept: Intercept = intercepts[verb] ?? ((query) => query());
    return (statement, values) => intercept(() => service.db[verb](statement, values));
  };
  const db = { ...service.db, read: through('read'), write: through('write') };
  return openKeyCache({ db, logger: createLogger('silent'), now: () => now });
}

const outOfReach = () => Promise.reject(new Error('out of reach'));

const statusAt = async ({ client }: Service, key: string): Promise<number> =>
  (await client(key).get('/v1/team')).status;
async function issueKey() {
  const { scope, issueKey } = await service.agency();
  const { id, key } = await issueKey();
  return { id, key, revoke: () => revokeApiKey(scope, id) };
}

describe('a revoked key', () => {
  test('is rejected, and one with other settings has them, at an instance that learns nothing of it, 900 ms after its lookup', async () => {
    const { id, key } = await issueKey();
    const other = await startInstance({ keyClock: () => now });
    expect(await statusAt(other, key)).toBe(200);
    for (const [change, status] of [
      ["resources = '{quotes}'", 403],
      ['resources = null, requests_per_minute = 1', 200],
      ['revoked_at = now()', 401],
    ] as const) {
      const before = await statusAt(other, key);
      await service.query(`update api_keys set ${change} where id = $1`, [id]);
      now += TTL - 1;
      expect(await statusAt(other, key)).toBe(before);
      now += 1;
      expect(await statusAt(other, key)).toBe(status);
    }
  });

  test('is rejected when the database hangs: an answer of more than 900 ms is asked for again', async () => {
    const { key, revoke } = await issueKey();
    const found = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const keys = openCache({
      read: async (query) => {
        const rows = await query();
        found.resolve();
        await release.promise;
        return rows;
      },
    });
    const lookup = keys.find(key);
    await found.promise;
    await revoke();
    now += TTL;
    const later = keys.find(key);
    release.resolve();
    expect([await lookup, await later]).toEqual([undefined, undefined]);
  });

  test('is rejected even if the clock of the machine is set back', async () => {
    const { key, revoke } = await issueKey();
    const other = await startInstance();
    expect(await statusAt(other, key)).toBe(200);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600 * SECOND });
    await revoke();
    await expect.poll(() => statusAt(other, key)).toBe(401);
  });
});

test('a cached key is not accepted for longer if the database cannot be reached, and is again afterwards', async () => {
  const { id, key } = await issueKey();
  let fails = false;
  const keys = openCache({ read: (query) => (fails ? outOfReach() : query()) });
  await keys.find(key);
  fails = true;
  expect(await keys.find(key)).toMatchObject({ id });
  now += TTL;
  await expect(keys.find(key)).rejects.toThrow('out of reach');
  fails = false;
  expect(await keys.find(key)).toMatchObject({ id });
});

test('a new key works at once, even if it was just unknown', async () => {
  const { id } = await issueKey();
  const key = generateKey();
  expect(await statusAt(service, key)).toBe(401);
  await service.query('update api_keys set hash = $2 where id = $1', [id, Buffer.from(hashKey(key), 'hex')]);
  expect(await statusAt(service, key)).toBe(200);
});

test('a key is rejected from its expiry on, before its cache entry would expire', async () => {
  const { id, key } = await issueKey();
  const keys = openCache({ read: async (find) => (await find()).map((row) => ({ ...row, lifetime: 100 })) });
  await keys.find(key);
  now += 99;
  await service.query("update api_keys set expires_at = now() - interval '1 second' where id = $1", [id]);
  expect(await keys.find(key)).toMatchObject({ id });
  now += 1;
  expect(await keys.find(key)).toBeUndefined();
});

test('lastUsedAt is written at most once a minute, by the clock of the database; a write that fails or hangs delays no request', async () => {
  const { id, key } = await issueKey();
  const row = async () => {
    const select = `select extract(epoch from now() - last_used_at)::float8 as age, xmin::text as version
      from api_keys where id = $1`;
    const [found] = await service.query<{ age: number; version: string }>(select, [id]);
    return { age: 1_000, version: '', ...found };
  };
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600 * SECOND });
  const results = [outOfReach, () => new Promise<never>(() => undefined)];
  let writes = 0;
  const keys = openCache({ write: (query) => results[writes++]?.() ?? query() });
  for (const [at, written] of [
    [0, 1],
    [SECOND, 1],
    [MINUTE, 2],
    [2 * MINUTE, 3],
  ] as const) {
    now = at;
    expect([await keys.find(key), writes]).toMatchObject([{ id }, written]);
  }
  await expect.poll(async () => (await row()).age ?? 1_000).toBeLessThan(30);
  const known = await findKey(service.db, hashKey(key));
  if (!known) throw new Error('The key was not found.');
  for (const [seconds, isWritten] of [
    [59, false],
    [61, true],
  ] as const) {
    await service.query(`update api_keys set last_used_at = now() - interval '${seconds} s'`);
    const { version } = await row();
    await saveKeyUsage(service.db, known);
    expect((await row()).version !== version).toBe(isWritten);
  }
});
