import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { generateKey, hashKey } from '../../src/api-keys/api-key.ts';
import { type KeyCache, openKeyCache } from '../../src/api-keys/cache.ts';
import { findKeys, issueApiKey, revokeApiKey, saveKeyUsage } from '../../src/api-keys/repository.ts';
import { parseJson, type Queries } from '../../src/db/index.ts';
import { createLogger } from '../../src/http/logging.ts';
import { type Service, type ServiceOptions, startService, useService } from '../support/service.ts';

/** A revoked key is rejected within a second: cache entries live 900 ms, and keys in use are refreshed every 600 ms. */
const TTL = 900;
const REFRESH = 600;
const SECOND = 1_000;
const NOON = Date.parse('2026-11-21T12:00:00.000Z');

const service = useService();
/** The clock of the caches. */
let now = 0;
beforeEach(() => {
  now = 0;
});
afterEach(() => {
  vi.useRealTimers();
});

/** Stops the refreshes of caches, and the saving of `lastUsedAt`. */
const stopTimers = () => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });

/** Another instance on the same database. */
async function startInstance(options: ServiceOptions = {}): Promise<Service> {
  const instance = await startService({ beside: service, ...options });
  onTestFinished(instance.close);
  return instance;
}

type Intercept = <Row>(query: () => Promise<Row[]>, values: object) => Promise<Row[]>;

/** A cache whose reads and writes pass through these functions. */
function openCache(intercepts: { read?: Intercept; write?: Intercept }, date = () => NOON): KeyCache {
  const through = (verb: 'read' | 'write'): Queries['read'] => {
    const intercept: Intercept = intercepts[verb] ?? ((query) => query());
    return (statement, values) => intercept(() => service.db[verb](statement, values), values as object);
  };
  const db = { ...service.db, read: through('read'), write: through('write') };
  const keys = openKeyCache({ db, logger: createLogger('silent'), now: () => now, date });
  onTestFinished(keys.close);
  return keys;
}

const isCached = (keys: KeyCache, key: string) => !(keys.find(key) instanceof Promise);

const outOfReach = () => Promise.reject(new Error('out of reach'));

const statusAt = async ({ client }: Service, key: string): Promise<number> =>
  (await client(key).get('/v1/team')).status;

/** Sends a request with an active key; whether the instance found the key in its cache. */
async function hitsCache(instance: Service, key: string): Promise<boolean> {
  const before = instance.keys.stats().hits;
  expect(await statusAt(instance, key)).toBe(200);
  return instance.keys.stats().hits > before;
}

/** A key of a new agency. */
async function issueKey(expiresAt: string | null = null) {
  const { scope } = await service.agency();
  const { id, key } = parseJson(await issueApiKey(scope, { name: 'another', expiresAt }));
  return { id, key, revoke: () => revokeApiKey(scope, id) };
}

const inAnHour = (): string => new Date(Date.now() + 3_600 * SECOND).toISOString();

describe('a revoked key', () => {
  test('is rejected by an instance that learns nothing of it when its cache entry expires', async () => {
    stopTimers();
    const { id, key } = await issueKey();
    const other = await startInstance({ keyClock: () => now });
    await statusAt(other, key);
    expect(await hitsCache(other, key)).toBe(true);
    await service.query('update api_keys set revoked_at = now() where id = $1', [id]);
    now += TTL - 1;
    expect(await hitsCache(other, key)).toBe(true);
    now += 1;
    expect(await statusAt(other, key)).toBe(401);
  });

  test('leaves the cache at the next refresh, which covers exactly the keys in use and delays no request', async () => {
    stopTimers();
    const [revoked, active, unused] = [await issueKey(), await issueKey(), await issueKey()];
    const batches: number[] = [];
    const keys = openCache({
      read: (query, values) => {
        batches.push((values as { hashes: string[] }).hashes.length);
        return query();
      },
    });
    await Promise.all([revoked, active, unused].map(({ key }) => keys.find(key)));
    for (const { key } of [revoked, active]) expect(isCached(keys, key)).toBe(true);
    batches.length = 0;

    await revoked.revoke();
    now += REFRESH;
    vi.advanceTimersByTime(REFRESH);
    await expect.poll(() => isCached(keys, revoked.key)).toBe(false);
    now += REFRESH;
    expect(batches[0]).toBe(2);
    expect(isCached(keys, active.key)).toBe(true);
    expect(isCached(keys, unused.key)).toBe(false);
    expect(await keys.find(revoked.key)).toBeUndefined();
  });

  test('is not cached for longer by a lookup that began before the revocation', async () => {
    stopTimers();
    const { id, key, revoke } = await issueKey();
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
    release.resolve();
    expect((await lookup)?.id).toBe(id);
    expect(await keys.find(key)).toBeUndefined();
  });

  test('is rejected even if the clock of the machine is set back', async () => {
    const { key, revoke } = await issueKey();
    const other = await startInstance();
    await expect.poll(() => hitsCache(other, key)).toBe(true);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600 * SECOND });
    await revoke();
    await expect.poll(() => statusAt(other, key)).toBe(401);
  });
});

test('a cached key is not accepted for longer if the database cannot be reached', async () => {
  stopTimers();
  const { id, key } = await issueKey();
  let fails = false;
  const keys = openCache({ read: (query) => (fails ? outOfReach() : query()) });
  await keys.find(key);
  expect(isCached(keys, key)).toBe(true);
  fails = true;
  await vi.advanceTimersByTimeAsync(REFRESH);
  expect(isCached(keys, key)).toBe(true);
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

describe('a key that expires', () => {
  test('is rejected from its expiry on, before its cache entry would expire', async () => {
    stopTimers();
    const { id, key } = await issueKey(inAnHour());
    const keys = openCache({
      read: async (query) => (await query()).map((row) => ({ ...row, lifetime: 100 })),
    });
    await keys.find(key);
    now += 99;
    expect(isCached(keys, key)).toBe(true);
    await service.query("update api_keys set expires_at = now() - interval '1 second' where id = $1", [id]);
    now += 1;
    expect(await keys.find(key)).toBeUndefined();
  });

  test('expires by the clock of the database, however wrong the clock of the instance is', async () => {
    const { key } = await issueKey(inAnHour());
    const lifetime = (await findKeys(service.db, [hashKey(key)])).get(hashKey(key))?.lifetime;
    expect(lifetime).toBeGreaterThan(3_000 * SECOND);
    expect(lifetime).toBeLessThanOrEqual(3_600 * SECOND);
    for (const error of [-7_200 * SECOND, 7_200 * SECOND]) {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + error });
      expect(await statusAt(await startInstance(), key)).toBe(200);
      vi.useRealTimers();
    }
  });
});

describe('lastUsedAt', () => {
  /** Its value, and the version of its row. */
  async function stored(id: string) {
    const [row] = await service.query<{ at: Date | null; version: string }>(
      'select last_used_at as at, xmin::text as version from api_keys where id = $1',
      [id],
    );
    return row;
  }
  const lastUsedAt = async (id: string) => (await stored(id))?.at?.getTime();

  test('is written once a minute, and when the instance stops', async () => {
    stopTimers();
    const { id, key } = await issueKey();
    let date = NOON;
    const other = await startService({ beside: service, keyDate: () => date });
    for (let request = 0; request < 3; request += 1) {
      date += SECOND;
      expect(await statusAt(other, key)).toBe(200);
    }
    expect(await lastUsedAt(id)).toBeUndefined();
    vi.advanceTimersByTime(60 * SECOND);
    await expect.poll(() => lastUsedAt(id)).toBe(NOON + 3 * SECOND);
    date += 120 * SECOND;
    expect(await statusAt(other, key)).toBe(200);
    await other.close();
    expect(await lastUsedAt(id)).toBe(NOON + 123 * SECOND);
  });

  test('is written at most once a minute over all instances, and never goes back', async () => {
    const { id, key } = await issueKey();
    const found = (await findKeys(service.db, [hashKey(key)])).get(hashKey(key));
    if (!found) throw new Error('The key was not found.');
    const save = (second: number) =>
      saveKeyUsage(service.db, [{ key: found.key, at: NOON + second * SECOND }]);
    await save(5);
    const first = await stored(id);
    expect(first?.at).toEqual(new Date(NOON + 5 * SECOND));
    for (const second of [5, 20, 59, 0, -3_600]) await save(second);
    expect(await stored(id)).toEqual(first);
    await save(60);
    expect(await lastUsedAt(id)).toBe(NOON + 60 * SECOND);
  });

  test('is saved with the next attempt if saving failed', async () => {
    stopTimers();
    const { id, key } = await issueKey();
    let date = NOON;
    let failed: undefined | (() => void);
    const fail = () =>
      new Promise<never>((_done, reject) => {
        failed = () => reject(new Error('out of reach'));
      });
    const keys = openCache({ write: (query) => (failed ? query() : fail()) }, () => date);
    await keys.find(key);
    await vi.advanceTimersByTimeAsync(60 * SECOND);
    // Used again before the failure is known.
    date += SECOND;
    await keys.find(key);
    failed?.();
    await vi.advanceTimersByTimeAsync(0);
    expect(await lastUsedAt(id)).toBeUndefined();
    await keys.close();
    expect(await lastUsedAt(id)).toBe(NOON + SECOND);
  });
});
