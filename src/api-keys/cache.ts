import type { FastifyBaseLogger } from 'fastify';
import { LruMap } from 'toad-cache';
import { Rejection, serviceUnavailable } from '../contract/errors.ts';
import type { Queries } from '../db/index.ts';
import { hashKey } from './api-key.ts';
import { findKey, type KnownKey, saveKeyUsage } from './repository.ts';

export type KeyCache = ReturnType<typeof openKeyCache>;

export type KeyCacheOptions = {
  db: Queries;
  logger: FastifyBaseLogger;
  /** Milliseconds of a monotonic clock. */
  now?: () => number;
};

/** A revoked key is rejected within a second on every instance. */
const TTL_MS = 900;
const MAX_ATTEMPTS = 3;
const MINUTE_MS = 60_000;
const CAPACITY = 10_000;
/** Bounds the cost of a flood of unknown keys. */
const MAX_LOOKUPS = 1_000;

/** Unknown keys are not cached, so that a new key works at once. */
export function openKeyCache({ db, logger, now = () => performance.now() }: KeyCacheOptions) {
  const known = new LruMap<{ key: KnownKey; until: number; usedAt: number }>(CAPACITY);
  const lookups = new Map<string, Promise<KnownKey | undefined>>();

  /** A database that hangs may answer with what was true before a revocation: such an answer is too old. */
  async function lookUp(hash: string): Promise<KnownKey | undefined> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const at = now();
      const key = await findKey(db, hash);
      const usedAt = known.get(hash)?.usedAt ?? Number.NEGATIVE_INFINITY;
      known.delete(hash);
      if (!key) return undefined;
      const until = at + Math.min(TTL_MS, key.lifetime);
      if (now() >= until) continue;
      // Also while the write waits for a locked row: it holds one of few connections.
      const savesUsage = key.isUsageDue && at >= usedAt + MINUTE_MS;
      known.set(hash, { key, until, usedAt: savesUsage ? at : usedAt });
      if (savesUsage)
        saveKeyUsage(db, key).catch((err) => logger.warn({ err }, 'the use of a key was not saved'));
      return key;
    }
    throw serviceUnavailable();
  }

  return {
    /** Undefined for a key that is unknown, expired or revoked. A promise only if the database is asked. */
    find(key: string): KnownKey | undefined | Promise<KnownKey | undefined> {
      const hash = hashKey(key);
      const cached = known.get(hash);
      if (cached && now() < cached.until) return cached.key;
      const running = lookups.get(hash);
      if (running) return running;
      if (lookups.size >= MAX_LOOKUPS) return Promise.reject(new Rejection('full'));
      const lookup = lookUp(hash).finally(() => lookups.delete(hash));
      lookups.set(hash, lookup);
      return lookup;
    },
  };
}
