import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { generateKey, hashKey } from '../../src/api-keys/api-key.ts';
import { type KeyCache, openKeyCache } from '../../src/api-keys/cache.ts';
import { findKeys, issueApiKey, revokeApiKey, saveKeyUsage } from '../../src/api-keys/repository.ts';
import type { Queries } from '../../src/db/pool/scope.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import { createLogger } from '../../src/http/logging.ts';
import { type Service, type ServiceOptions, startService, useService } from '../support/service.ts';

/** The promise to the owners of keys: a second. A lookup is good for this part of it, and keys in use are looked up again. */
const GOOD = 900;
const REFRESH = 600;
const SECOND = 1_000;
const NOON = Date.parse('2026-11-21T12:00:00.000Z');

const service = useService();
/** The clock of instances and caches of a test. */
let now = 0;
const opened: { close: () => Promise<void> }[] = [];
beforeEach(() => {
  now = 0;
});
afterEach(async () => {
  vi.useRealTimers();
  for (const each of opened.splice(0).reverse()) await each.close();
});

/** Nothing happens by itself: neither the refresh nor the saving of usage. */
const stopTimers = () => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });

/** Another instance on the same database; it closes with the test. */
async function instance(options: ServiceOptions = {}): Promise<Service> {
  const other = await startService({ beside: service, ...options });
  opened.push(other);
  return other;
}

type Around = <Row>(asks: () => Promise<Row[]>, values: object) => Promise<Row[]>;

/** A cache of keys whose questions to the database go through these. */
function cacheOn(around: { read?: Around; write?: Around }): KeyCache {
  const through = (verb: 'read' | 'write'): Queries['read'] => {
    const each: Around = around[verb] ?? ((asks) => asks());
    return (statement, values) => each(() => service.db[verb](statement, values), values as object);
  };
  const db = { ...service.db, read: through('read'), write: through('write') };
  const keys = openKeyCache({ db, logger: createLogger('silent'), now: () => now, date: () => NOON });
  opened.push(keys);
  return keys;
}

const outOfReach = () => Promise.reject(new Error('out of reach'));

const statusAt = async ({ client }: Service, key: string): Promise<number> =>
  (await client(key).get('/v1/team')).status;

const until = (condition: () => Promise<boolean>) =>
  vi.waitUntil(condition, { timeout: 120_000, interval: 5 });

const refused = (at: Service, key: string) => until(async () => (await statusAt(at, key)) === 401);

/** Answers whether the instance found the key in its memory, where it was accepted. */
async function fromMemory(at: Service, key: string): Promise<boolean> {
  const before = at.keys.stats().hits;
  expect(await statusAt(at, key)).toBe(200);
  return at.keys.stats().hits > before;
}

/** Waits until the instance knows the key by heart: only then does forgetting it mean anything. */
const remembered = (at: Service, key: string) => until(() => fromMemory(at, key));

/** A key of an agency of its own, and how it is revoked. */
async function issued(expiresAt: string | null = null) {
  const agency = await service.agency();
  const { id, key } = parseJson(await issueApiKey(agency.scope, { name: 'another', expiresAt }));
  return { agency, id, key, revoke: () => revokeApiKey(agency.scope, id) };
}

const inAnHour = (): string => new Date(Date.now() + 3_600 * SECOND).toISOString();

describe('a revoked key', () => {
  test('is refused by every instance, and its neighbours are not', async () => {
    const { agency, key, revoke } = await issued();
    const other = await instance();
    for (const at of [service, other]) await remembered(at, key);
    await remembered(other, agency.key);
    await revoke();
    await Promise.all([service, other].map((at) => refused(at, key)));
    await remembered(other, agency.key);
  });

  test('is refused when the time of its lookup is over, although nothing was looked up again', async () => {
    stopTimers();
    const { id, key } = await issued();
    const other = await instance({ keyClock: () => now });
    await remembered(other, key);
    // By hand, which tells nobody.
    await service.query('update api_keys set revoked_at = now() where id = $1', [id]);
    now += GOOD - 1;
    expect(await fromMemory(other, key)).toBe(true);
    now += 1;
    expect(await statusAt(other, key)).toBe(401);
  });

  test('is forgotten when the keys in use are looked up again, and its request did not wait for that', async () => {
    stopTimers();
    const [revoked, kept, unused] = [await issued(), await issued(), await issued()];
    const asked: number[] = [];
    const keys = cacheOn({
      read: (asks, values) => {
        asked.push((values as { hashes: string[] }).hashes.length);
        return asks();
      },
    });
    await Promise.all([revoked, kept, unused].map(({ key }) => keys.find(key)));
    for (const { key } of [revoked, kept]) expect(keys.find(key)).not.toBeInstanceOf(Promise);
    asked.length = 0;

    await revoked.revoke();
    now += REFRESH;
    vi.advanceTimersByTime(REFRESH);
    await until(async () => keys.find(revoked.key) instanceof Promise);
    now += REFRESH;
    expect(asked[0]).toBe(2);
    expect(keys.find(kept.key)).not.toBeInstanceOf(Promise);
    expect(keys.find(unused.key)).toBeInstanceOf(Promise);
    expect(await keys.find(revoked.key)).toBeUndefined();
  });

  test('is not remembered for longer by a lookup that began before it was revoked', async () => {
    stopTimers();
    const late = await issued();
    const answer = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const keys = cacheOn({
      read: async (asks) => {
        const rows = await asks();
        asked.resolve();
        await answer.promise;
        return rows;
      },
    });
    const lookup = keys.find(late.key);
    await asked.promise;
    await late.revoke();
    now += GOOD;
    answer.resolve();
    expect((await lookup)?.id).toBe(late.id);
    expect(await keys.find(late.key)).toBeUndefined();
  });

  test('is refused although the clock of the machine is set back', async () => {
    const { key, revoke } = await issued();
    const other = await instance();
    await remembered(other, key);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600 * SECOND });
    await revoke();
    await refused(other, key);
  });

  test('is not good for longer because the database cannot be asked', async () => {
    stopTimers();
    const { agency, key } = await issued();
    let fails = false;
    const keys = cacheOn({ read: (asks) => (fails ? outOfReach() : asks()) });
    await keys.find(key);
    expect(keys.find(key)).not.toBeInstanceOf(Promise);
    fails = true;
    await vi.advanceTimersByTimeAsync(REFRESH);
    expect(keys.find(key)).not.toBeInstanceOf(Promise);
    now += GOOD;
    await expect(keys.find(key)).rejects.toThrow('out of reach');
    fails = false;
    expect((await keys.find(key))?.organizationId).toBe(agency.id);
  });
});

test('a new key works at once, also where it was asked for a moment before', async () => {
  const { id } = await issued();
  const key = generateKey();
  expect(await statusAt(service, key)).toBe(401);
  await service.query('update api_keys set hash = $2 where id = $1', [id, Buffer.from(hashKey(key), 'hex')]);
  expect(await statusAt(service, key)).toBe(200);
});

describe('a key that expires', () => {
  test('is good until its hour and refused from then on, before its lookup is a second old', async () => {
    stopTimers();
    const { id, key } = await issued(inAnHour());
    // The key has 100 ms left by the clock of the database.
    const keys = cacheOn({
      read: async (asks) => (await asks()).map((row) => ({ ...row, lifetime: 100 })),
    });
    await keys.find(key);
    now += 99;
    expect(keys.find(key)).not.toBeInstanceOf(Promise);
    await service.query("update api_keys set expires_at = now() - interval '1 second' where id = $1", [id]);
    now += 1;
    expect(await keys.find(key)).toBeUndefined();
  });

  test('keeps to the clock of the database, however wrong the one of the instance is', async () => {
    const { key } = await issued(inAnHour());
    const lifetime = (await findKeys(service.db, [hashKey(key)])).get(hashKey(key))?.lifetime;
    expect(lifetime).toBeGreaterThan(3_000 * SECOND);
    expect(lifetime).toBeLessThanOrEqual(3_600 * SECOND);
    for (const wrong of [-7_200 * SECOND, 7_200 * SECOND]) {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + wrong });
      expect(await statusAt(await instance(), key)).toBe(200);
      vi.useRealTimers();
    }
  });
});

describe('lastUsedAt', () => {
  const stored = async (id: string) =>
    (
      await service.query<{ at: Date | null; version: string }>(
        'select last_used_at as at, xmin::text as version from api_keys where id = $1',
        [id],
      )
    )[0];
  const lastUsedAt = async (id: string) => (await stored(id))?.at?.getTime();

  test('is written beside the requests, once for all of a minute, and when the instance stops', async () => {
    stopTimers();
    const { id, key } = await issued();
    let date = NOON;
    const other = await startService({ beside: service, keyDate: () => date });
    for (let request = 0; request < 3; request += 1) {
      date += SECOND;
      expect(await statusAt(other, key)).toBe(200);
    }
    expect(await lastUsedAt(id)).toBeUndefined();
    vi.advanceTimersByTime(60_000);
    await until(async () => (await lastUsedAt(id)) !== undefined);
    expect(await lastUsedAt(id)).toBe(NOON + 3 * SECOND);
    date += 120 * SECOND;
    expect(await statusAt(other, key)).toBe(200);
    await other.close();
    expect(await lastUsedAt(id)).toBe(NOON + 123 * SECOND);
  });

  test('is written at most once a minute, however many instances tell it, and never goes back', async () => {
    const { id, key } = await issued();
    const known = (await findKeys(service.db, [hashKey(key)])).get(hashKey(key));
    if (!known) throw new Error('The key is not there.');
    const used = (at: number) => saveKeyUsage(service.db, [{ key: known.key, at: NOON + at * SECOND }]);
    await used(5);
    const first = await stored(id);
    expect(first?.at).toEqual(new Date(NOON + 5 * SECOND));
    for (const at of [5, 20, 59, 0, -3_600]) await used(at);
    expect(await stored(id)).toEqual(first);
    await used(60);
    expect(await lastUsedAt(id)).toBe(NOON + 60 * SECOND);
  });

  test('of a use that could not be saved is saved with the next', async () => {
    stopTimers();
    const { id, key } = await issued();
    let fails = true;
    const keys = cacheOn({ write: (asks) => (fails ? outOfReach() : asks()) });
    await keys.find(key);
    await vi.advanceTimersByTimeAsync(60_000);
    vi.useRealTimers();
    expect(await lastUsedAt(id)).toBeUndefined();
    fails = false;
    await keys.close();
    expect(await lastUsedAt(id)).toBe(NOON);
  });
});
