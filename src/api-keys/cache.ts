import type { FastifyBaseLogger } from 'fastify';
import { LruMap } from 'toad-cache';
import { REJECTIONS } from '../contract/errors.ts';
import { idAmongAll, type Queries } from '../db/index.ts';
import { hashKey } from './api-key.ts';
import { findKeys, type KnownKey, saveKeyUsage } from './repository.ts';

export type KeyCache = ReturnType<typeof openKeyCache>;

export type KeyCacheOptions = {
  db: Queries;
  logger: FastifyBaseLogger;
  /** Milliseconds of a monotonic clock. */
  now?: () => number;
  /** Milliseconds since 1970, for `lastUsedAt`. */
  date?: () => number;
  capacity?: number;
};

/** A revoked key is rejected within a second on every instance. The rest of the second is for the lookup itself. */
const TTL_MS = 900;
/** Keys in use are looked up together, so that their requests need no queries. */
const REFRESH_MS = 600;
/** After its last request, a key counts as in use for this long. */
const IN_USE_MS = 10_000;
const REFRESH_BATCH = 1_000;
const USAGE_INTERVAL_MS = 60_000;
const CAPACITY = 10_000;
const BATCH_SIZE = 100;
const MAX_PENDING = 1_000;
const MAX_RUNNING = 2;

/**
 * Batches lookups into at most two simultaneous queries, which also bounds the cost of a flood of unknown keys.
 * @returns a function that throws Rejection when too many lookups are pending
 */
function batchLookups(findKey: (hashes: string[]) => Promise<Map<string, KnownKey>>) {
  const pending = new Map<string, PromiseWithResolvers<KnownKey | undefined>>();
  let running = 0;

  async function run(): Promise<void> {
    while (pending.size > 0) {
      const batch = [...pending].slice(0, BATCH_SIZE);
      for (const [hash] of batch) pending.delete(hash);
      try {
        const found = await findKey(batch.map(([hash]) => hash));
        for (const [hash, { resolve }] of batch) resolve(found.get(hash));
      } catch (error) {
        for (const [, { reject }] of batch) reject(error);
      }
    }
    running -= 1;
  }

  return (hash: string): Promise<KnownKey | undefined> => {
    let lookup = pending.get(hash);
    if (!lookup) {
      if (pending.size >= MAX_PENDING) return Promise.reject(REJECTIONS.full);
      lookup = Promise.withResolvers();
      pending.set(hash, lookup);
      if (running < MAX_RUNNING) {
        running += 1;
        setImmediate(run);
      }
    }
    return lookup.promise;
  };
}

/** Unknown keys are not cached, so that a new key works at once. */
export function openKeyCache(options: KeyCacheOptions) {
  const { db, logger, now = () => performance.now(), date = Date.now, capacity = CAPACITY } = options;
  const memory = new LruMap<{ key: KnownKey; until: number }>(capacity);
  const inUse = new Map<string, number>();
  const usage = new Map<string, { key: KnownKey; at: number }>();
  const counts = { hits: 0, misses: 0 };

  async function findKey(hashes: readonly string[]): Promise<Map<string, KnownKey>> {
    const startedAt = now();
    const found = await findKeys(db, hashes);
    for (const hash of hashes) {
      memory.delete(hash);
      if (!found.has(hash)) inUse.delete(hash);
    }
    for (const [hash, { key, lifetime }] of found)
      memory.set(hash, { key, until: startedAt + Math.min(TTL_MS, lifetime) });
    return new Map([...found].map(([hash, { key }]) => [hash, key]));
  }

  const lookUp = batchLookups(findKey);

  let isRefreshing = false;

  async function refresh(): Promise<void> {
    if (isRefreshing) return;
    isRefreshing = true;
    for (const [hash, at] of inUse) if (at < now() - IN_USE_MS) inUse.delete(hash);
    const hashes = [...inUse.keys()];
    try {
      for (let start = 0; start < hashes.length; start += REFRESH_BATCH)
        await findKey(hashes.slice(start, start + REFRESH_BATCH));
    } catch (error) {
      logger.debug({ err: error }, 'the keys in use were not refreshed; the next requests look them up');
    } finally {
      isRefreshing = false;
    }
  }

  async function saveUsage(): Promise<void> {
    if (usage.size === 0) return;
    const batch = [...usage.values()];
    usage.clear();
    try {
      await saveKeyUsage(db, batch);
    } catch (error) {
      logger.warn({ err: error }, 'key usage was not saved; it is retried with the next');
      for (const entry of batch)
        if (!usage.has(idAmongAll(entry.key))) usage.set(idAmongAll(entry.key), entry);
    }
  }

  function used(key: KnownKey): KnownKey {
    usage.set(idAmongAll(key), { key, at: date() });
    return key;
  }

  const refreshes = setInterval(refresh, REFRESH_MS).unref();
  const saves = setInterval(saveUsage, USAGE_INTERVAL_MS).unref();

  return {
    /** Undefined for a key that is unknown, expired or revoked. A promise only if the database is asked. */
    find(key: string): KnownKey | undefined | Promise<KnownKey | undefined> {
      const hash = hashKey(key);
      const at = now();
      const cached = memory.get(hash);
      if (cached && at < cached.until) {
        counts.hits += 1;
        inUse.set(hash, at);
        return used(cached.key);
      }
      counts.misses += 1;
      return lookUp(hash).then((found) => found && used(found));
    },
    stats: () => ({ ...counts }),
    async close(): Promise<void> {
      clearInterval(refreshes);
      clearInterval(saves);
      await saveUsage();
    },
  };
}
