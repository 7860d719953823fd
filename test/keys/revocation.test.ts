import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, inject, test, vi } from 'vitest';
import { parseJson } from '../../src/db/sql/json.ts';
import { createLogger } from '../../src/http/logging.ts';
import { hashKey } from '../../src/keys/api-key.ts';
import { openKeyCache } from '../../src/keys/cache.ts';
import {
  findKeys,
  issueApiKey,
  revokeApiKey,
  rotateApiKey,
  saveKeyUsage,
} from '../../src/keys/repository.ts';
import { type DatabaseProxy, startProxy } from '../support/proxy.ts';
import {
  type Agency,
  type Service,
  type ServiceOptions,
  startService,
  useService,
} from '../support/service.ts';

/** The promise to the owners of keys, and to the tests' clock. */
const SECOND = 1_000;
const HEARTBEAT = 400;
const NOON = Date.parse('2026-11-21T12:00:00.000Z');

const service = useService();
const opened: { close: () => Promise<void> }[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const each of opened.splice(0).reverse()) await each.close();
});

/** Another instance on the same database; it closes with the test. */
async function instance(options: ServiceOptions = {}): Promise<Service> {
  const other = await startService({ beside: service, ...options });
  opened.push(other);
  return other;
}

async function proxy(): Promise<DatabaseProxy> {
  const made = await startProxy(service.url);
  opened.push(made);
  return made;
}

const statusAt = async ({ client }: Service, key: string): Promise<number> =>
  (await client(key).get('/v1/team')).status;

const until = (condition: () => Promise<boolean>) =>
  vi.waitUntil(condition, { timeout: 20_000, interval: 5 });

const refused = (at: Service, key: string) => until(async () => (await statusAt(at, key)) === 401);

/** Answers whether the instance found the key in its memory, where it was accepted. */
async function fromMemory(at: Service, key: string): Promise<boolean> {
  const before = at.keys.stats().hits;
  expect(await statusAt(at, key)).toBe(200);
  return at.keys.stats().hits > before;
}

/** Waits until the instance knows the key by heart: only then does forgetting it mean anything. */
const remembered = (at: Service, key: string) => until(() => fromMemory(at, key));

async function anotherKey(
  { scope }: Agency,
  expiresAt: string | null = null,
): Promise<{ id: string; key: string }> {
  return parseJson(await issueApiKey(scope, { name: 'another', expiresAt }));
}

/** What only the database's clock does: its hour comes, and nobody is told. */
const expireUntold = (id: string) =>
  service.query("update api_keys set expires_at = now() - interval '1 second' where id = $1", [id]);

describe('a revoked key', () => {
  test('is refused by every instance, and its neighbours are not', async ({ annotate }) => {
    const agency = await service.agency();
    const { id, key } = await anotherKey(agency);
    // This clock stands still: nothing but the notification can end the trust in what is remembered.
    const other = await instance({ keyClock: () => NOON });
    for (const at of [service, other]) await remembered(at, key);
    await remembered(other, agency.key);

    await revokeApiKey(agency.scope, id);
    const revoked = performance.now();
    await Promise.all([service, other].map((at) => refused(at, key)));
    await annotate(`refused by both instances ${Math.round(performance.now() - revoked)} ms after`);
    expect(await fromMemory(other, agency.key)).toBe(true);
  });

  test('is refused although the channel was cut before anybody could be told', async () => {
    const agency = await service.agency();
    const { id, key } = await anotherKey(agency);
    const channel = await proxy();
    const other = await instance({ keyClock: () => NOON, keyChannel: channel.url });
    await remembered(other, key);

    channel.cut();
    await revokeApiKey(agency.scope, id);
    await refused(other, key);
    expect(await fromMemory(other, agency.key)).toBe(false);
    channel.mend();
    await remembered(other, agency.key);
  });

  test('is refused although the server ended the connection that listens', async () => {
    const agency = await service.agency();
    const { id, key } = await anotherKey(agency);
    const other = await instance({ keyClock: () => NOON });
    await remembered(other, key);

    // One statement: the change is told when the listeners are already gone.
    await service.query(
      `with ended as (
         select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'travel-agency-crm-api keys')
       update api_keys set revoked_at = now() where id = $1 and (select count(*) from ended) > 0`,
      [id],
    );
    await refused(other, key);
    await remembered(other, agency.key);
  });

  test('lives a second at the most when the channel falls silent', async () => {
    const agency = await service.agency();
    const { id, key } = await anotherKey(agency);
    const channel = await proxy();
    let now = NOON;
    const other = await instance({ keyClock: () => now, keyChannel: channel.url });
    await remembered(other, key);

    channel.freeze();
    await revokeApiKey(agency.scope, id);
    now += SECOND;
    expect(await statusAt(other, key)).toBe(401);
    expect(await fromMemory(other, agency.key)).toBe(false);
  });

  test('does not outlive a silent channel by a clock that stands still', async () => {
    const agency = await service.agency();
    const { id, key } = await anotherKey(agency);
    const channel = await proxy();
    const other = await instance({ keyClock: () => NOON, keyChannel: channel.url });
    await remembered(other, key);

    channel.freeze();
    await revokeApiKey(agency.scope, id);
    await refused(other, key);
  });

  test('is refused although the channel swallows what is told: nothing is remembered then', async () => {
    const agency = await service.agency();
    const { id, key } = await anotherKey(agency);
    // What listens in another database is open, answers, and never hears anything.
    const other = await instance({ keyClock: () => NOON, keyChannel: inject('serverUrl') });
    for (let round = 0; round < 3; round += 1) {
      expect(await fromMemory(other, key)).toBe(false);
      await pause(HEARTBEAT);
    }
    await revokeApiKey(agency.scope, id);
    expect(await statusAt(other, key)).toBe(401);
  });

  test('is refused within a minute when it was revoked by hand, which tells nobody', async () => {
    const agency = await service.agency();
    const { id, key } = await anotherKey(agency);
    let now = NOON;
    const other = await instance({ keyClock: () => now });
    await remembered(other, key);
    await service.query('update api_keys set revoked_at = now() where id = $1', [id]);
    expect(await fromMemory(other, key)).toBe(true);
    now += 60 * SECOND;
    await remembered(other, agency.key);
    expect(await statusAt(other, key)).toBe(401);
  });

  test('is not remembered by a lookup that began before it was revoked', async () => {
    const agency = await service.agency();
    const [late, early] = [await anotherKey(agency), await anotherKey(agency)];
    const answer = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    let held = false;
    const keys = openKeyCache({
      db: {
        ...service.db,
        read: async (statement, values) => {
          const rows = await service.db.read(statement, values);
          if (held) {
            asked.resolve();
            await answer.promise;
          }
          return rows;
        },
      },
      url: service.url,
      logger: createLogger('silent'),
      now: () => NOON,
    });
    opened.push(keys);
    await until(async () => {
      await keys.find(early.key);
      return keys.stats().hits > 0;
    });

    held = true;
    const lookup = keys.find(late.key);
    await asked.promise;
    held = false;
    await revokeApiKey(agency.scope, late.id);
    await revokeApiKey(agency.scope, early.id);
    // Changes are told in their order: when this one is known, so is the other.
    await until(async () => (await keys.find(early.key)) === undefined);
    answer.resolve();
    expect((await lookup)?.id).toBe(late.id);
    expect(await keys.find(late.key)).toBeUndefined();
  });
});

describe('a key that expires', () => {
  test('is good until its hour and refused from then on, although nobody tells of it', async () => {
    const agency = await service.agency();
    const { id, key } = await anotherKey(agency, new Date(Date.now() + 3_600 * SECOND).toISOString());
    let now = NOON;
    const other = await instance({ keyClock: () => now });
    await remembered(other, key);
    await expireUntold(id);
    now += 3_590 * SECOND;
    await remembered(other, agency.key);
    now += 10 * SECOND;
    await remembered(other, agency.key);
    expect(await statusAt(other, key)).toBe(401);
  });

  test('keeps to the clock of the database, however wrong the one of the instance is', async () => {
    const agency = await service.agency();
    const { key } = await anotherKey(agency, new Date(Date.now() + 3_600 * SECOND).toISOString());
    for (const clock of [Date.now() - 7_200 * SECOND, Date.now() + 7_200 * SECOND]) {
      const known = (await findKeys(service.db, [hashKey(key)], clock)).get(hashKey(key));
      const lifetime = (known?.expiresAt ?? 0) - clock;
      expect(lifetime).toBeGreaterThan(3_000 * SECOND);
      expect(lifetime).toBeLessThanOrEqual(3_600 * SECOND);
      expect(await statusAt(await instance({ keyClock: () => clock }), key)).toBe(200);
    }
  });
});

describe('a rotated key', () => {
  test('is good for the overlap and refused after it; the new one is good at once', async () => {
    const agency = await service.agency();
    const old = await anotherKey(agency);
    let now = NOON;
    const other = await instance({ keyClock: () => now });
    await remembered(other, old.key);

    const { key } = parseJson(await rotateApiKey(agency.scope, old.id, 3_600));
    expect(await statusAt(other, key)).toBe(200);
    // The notification makes the instance ask again; only then does it know of the end.
    const { misses } = other.keys.stats();
    await until(async () => {
      expect(await statusAt(other, old.key)).toBe(200);
      return other.keys.stats().misses > misses;
    });
    await remembered(other, old.key);
    await expireUntold(old.id);
    expect(await fromMemory(other, old.key)).toBe(true);
    now += 3_600 * SECOND;
    await remembered(other, key);
    expect(await statusAt(other, old.key)).toBe(401);
  });

  test('is refused on every instance when there is no overlap', async () => {
    const agency = await service.agency();
    const old = await anotherKey(agency);
    const other = await instance({ keyClock: () => NOON });
    await remembered(other, old.key);
    const { key } = parseJson(await rotateApiKey(agency.scope, old.id, 0));
    await refused(other, old.key);
    await remembered(other, key);
  });
});

describe('lastUsedAt', () => {
  const lastUsedAt = async (id: string): Promise<Date | null | undefined> =>
    (
      await service.query<{ at: Date | null }>('select last_used_at as at from api_keys where id = $1', [id])
    )[0]?.at;

  test('is written beside the requests, once for all of a minute', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const agency = await service.agency();
    const { id, key } = await anotherKey(agency);
    let now = NOON;
    const other = await instance({ keyClock: () => now });
    for (let request = 0; request < 3; request += 1) {
      now += SECOND;
      expect(await statusAt(other, key)).toBe(200);
    }
    expect(await lastUsedAt(id)).toBeNull();
    vi.advanceTimersByTime(60_000);
    vi.useRealTimers();
    await until(async () => (await lastUsedAt(id)) !== null);
    expect(await lastUsedAt(id)).toEqual(new Date(NOON + 3 * SECOND));
  });

  test('is written when the instance stops', async () => {
    const agency = await service.agency();
    const { id, key } = await anotherKey(agency);
    const other = await startService({ beside: service, keyClock: () => NOON });
    expect(await statusAt(other, key)).toBe(200);
    await other.close();
    expect(await lastUsedAt(id)).toEqual(new Date(NOON));
  });

  test('is written at most once a minute, however many instances tell it, and never goes back', async () => {
    const agency = await service.agency();
    const { id, key } = await anotherKey(agency);
    const known = (await findKeys(service.db, [hashKey(key)])).get(hashKey(key));
    if (!known) throw new Error('The key is not there.');
    const used = (at: number) => saveKeyUsage(service.db, [{ key: known, at: NOON + at * SECOND }]);
    const version = async () =>
      (await service.query<{ xmin: string }>('select xmin::text from api_keys where id = $1', [id]))[0]?.xmin;

    await used(5);
    const first = await version();
    for (const at of [5, 20, 59, 0, -3_600]) await used(at);
    expect(await version()).toBe(first);
    expect(await lastUsedAt(id)).toEqual(new Date(NOON + 5 * SECOND));
    await used(60);
    expect(await version()).not.toBe(first);
    expect(await lastUsedAt(id)).toEqual(new Date(NOON + 60 * SECOND));
  });

  test('of a use that could not be saved is saved with the next', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const agency = await service.agency();
    const { id, key } = await anotherKey(agency);
    let fails = true;
    const keys = openKeyCache({
      db: {
        ...service.db,
        write: (statement, values) =>
          fails ? Promise.reject(new Error('out of reach')) : service.db.write(statement, values),
      },
      url: service.url,
      logger: createLogger('silent'),
      now: () => NOON,
    });
    await keys.find(key);
    await vi.advanceTimersByTimeAsync(60_000);
    vi.useRealTimers();
    expect(await lastUsedAt(id)).toBeNull();
    fails = false;
    await keys.close();
    expect(await lastUsedAt(id)).toEqual(new Date(NOON));
  });
});

test('an instance that stops while it opens the channel leaves no connection behind', async () => {
  const listeners = async () =>
    (
      await service.query(
        "select pid from pg_stat_activity where datname = current_database() and application_name = 'travel-agency-crm-api keys'",
      )
    ).length;
  await until(async () => (await listeners()) === 1);
  for (let count = 0; count < 5; count += 1) {
    const keys = openKeyCache({ db: service.db, url: service.url, logger: createLogger('silent') });
    await keys.close();
  }
  await until(async () => (await listeners()) === 1);
  expect(await statusAt(service, `tcrm_${randomUUID()}`)).toBe(401);
});
