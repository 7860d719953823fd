import type { FastifyBaseLogger } from 'fastify';
import { LruMap } from 'toad-cache';
import { REJECTIONS } from '../contract/errors.ts';
import type { Queries } from '../db/pool/scope.ts';
import { idAmongAll } from '../db/sql/ids.ts';
import { hashKey } from './api-key.ts';
import { findKeys, type KnownKey, saveKeyUsage } from './repository.ts';

/** Answers whose key it is, from memory for less than a second. */
export type KeyCache = {
  /** The live key, or undefined for one that is unknown, expired or revoked. A promise only when it had to ask. */
  find: (key: string) => KnownKey | undefined | Promise<KnownKey | undefined>;
  /** How often `find` was answered from memory and how often not. */
  stats: () => { hits: number; misses: number };
  close: () => Promise<void>;
};

export type KeyCacheOptions = {
  db: Queries;
  logger: FastifyBaseLogger;
  /** Milliseconds, of a clock that never goes back. */
  now?: () => number;
  /** Milliseconds since 1970, for the time that a key was used. */
  date?: () => number;
  /** Keys that are remembered at most; the ones longest unused go first. */
  capacity?: number;
};

/** A revoked key is refused within a second, everywhere. A lookup is good for this part of it; the rest is its own time. */
const GOOD_MS = 900;
/** Keys in use are looked up again so often, together: a request that has to ask costs a query of its own. */
const REFRESH_MS = 600;
/** So long after its last request a key is in use. */
const IN_USE_MS = 10_000;
const REFRESHED_TOGETHER = 1_000;
const USAGE_INTERVAL_MS = 60_000;
const CAPACITY = 10_000;
const BATCH_SIZE = 100;
const MAX_PENDING = 1_000;
const MAX_RUNNING = 2;

/**
 * Asks for keys with two queries at a time, each with all hashes that came since the last: whatever a flood of keys
 * that do not exist costs the database, it is two connections' work.
 * @throws Refusal when too many are asked for
 */
function askTogether(findKey: (hashes: string[]) => Promise<Map<string, KnownKey>>) {
  const asked = new Map<string, PromiseWithResolvers<KnownKey | undefined>>();
  let asking = 0;

  async function ask(): Promise<void> {
    while (asked.size > 0) {
      const batch = [...asked].slice(0, BATCH_SIZE);
      for (const [hash] of batch) asked.delete(hash);
      try {
        const found = await findKey(batch.map(([hash]) => hash));
        for (const [hash, { resolve }] of batch) resolve(found.get(hash));
      } catch (error) {
        for (const [, { reject }] of batch) reject(error);
      }
    }
    asking -= 1;
  }

  return (hash: string): Promise<KnownKey | undefined> => {
    let response = asked.get(hash);
    if (!response) {
      if (asked.size >= MAX_PENDING) return Promise.reject(REJECTIONS.full);
      response = Promise.withResolvers();
      asked.set(hash, response);
      if (asking < MAX_RUNNING) {
        asking += 1;
        setImmediate(ask);
      }
    }
    return response.promise;
  };
}

/**
 * Opens the cache. Time alone makes it right: whatever it remembers was read from the database less than a second ago.
 * A key that does not exist is not remembered, so that a new one works at once.
 */
export function openKeyCache(options: KeyCacheOptions): KeyCache {
  const { db, logger, now = () => performance.now(), date = Date.now, capacity = CAPACITY } = options;
  const memory = new LruMap<{ key: KnownKey; until: number }>(capacity);
  /** When a key in use was last asked for, by its hash. */
  const inUse = new Map<string, number>();
  const usage = new Map<string, { key: KnownKey; at: number }>();
  const counts = { hits: 0, misses: 0 };

  async function findKey(hashes: readonly string[]): Promise<Map<string, KnownKey>> {
    const asked = now();
    const found = await findKeys(db, hashes);
    for (const hash of hashes) {
      memory.delete(hash);
      if (!found.has(hash)) inUse.delete(hash);
    }
    for (const [hash, { key, lifetime }] of found)
      memory.set(hash, { key, until: asked + Math.min(GOOD_MS, lifetime) });
    return new Map([...found].map(([hash, { key }]) => [hash, key]));
  }

  const ask = askTogether(findKey);

  let isRefreshing = false;

  async function refresh(): Promise<void> {
    if (isRefreshing) return;
    isRefreshing = true;
    for (const [hash, at] of inUse) if (at < now() - IN_USE_MS) inUse.delete(hash);
    const hashes = [...inUse.keys()];
    try {
      for (let start = 0; start < hashes.length; start += REFRESHED_TOGETHER)
        await findKey(hashes.slice(start, start + REFRESHED_TOGETHER));
    } catch (error) {
      logger.debug({ err: error }, 'keys were not looked up again; the next requests do it');
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
      logger.warn({ err: error }, 'key usage was not saved; it will be with the next');
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
    find(key) {
      const hash = hashKey(key);
      const at = now();
      const known = memory.get(hash);
      if (known && at < known.until) {
        counts.hits += 1;
        inUse.set(hash, at);
        return used(known.key);
      }
      counts.misses += 1;
      return ask(hash).then((found) => found && used(found));
    },
    stats: () => ({ ...counts }),
    async close() {
      clearInterval(refreshes);
      clearInterval(saves);
      await saveUsage();
    },
  };
}
