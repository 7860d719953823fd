import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import pg from 'pg';
import { LruMap } from 'toad-cache';
import type { Database } from '../db/client.ts';
import { hashKey, isWellFormedKey } from './api-key.ts';
import { findKey, KEY_CHANNEL, type KnownKey, saveKeyUsage } from './repository.ts';

/** Answers whose key it is, from memory where that is safe. */
export type KeyCache = {
  /** The live key, or undefined for one that is malformed, unknown, expired or revoked. A promise only when it had to ask. */
  find: (key: string) => KnownKey | undefined | Promise<KnownKey | undefined>;
  /** How often `find` was answered from memory and how often not. */
  stats: () => { hits: number; misses: number };
  close: () => Promise<void>;
};

export type KeyCacheOptions = {
  db: Database;
  /** A direct connection to the database: LISTEN means nothing behind a transaction pooler. */
  url: string;
  logger: FastifyBaseLogger;
  now?: () => number;
  /** Keys that are remembered at most; the ones longest unused go first. */
  capacity?: number;
};

/**
 * What is in memory is used for this long after the channel last proved that it is open: a lost channel lengthens a
 * key's life by no more. The rest of the promised second is PostgreSQL's, to tell of a change.
 */
const TRUST_MS = 900;
const HEARTBEAT_MS = 400;
/** A silent channel is given up by this timer too: a clock that is set back must not prolong the trust. */
const SILENCE_MS = TRUST_MS - HEARTBEAT_MS;
const USAGE_INTERVAL_MS = 60_000;
const CAPACITY = 10_000;

/**
 * Opens the cache. Keys are looked up once and then remembered; a change of a key is told to every instance over
 * LISTEN/NOTIFY and forgets it there, and its expiry holds by the clock. While the channel cannot be proven open, every
 * request asks the database.
 */
export function openKeyCache(options: KeyCacheOptions): KeyCache {
  const { db, url, logger, now = Date.now, capacity = CAPACITY } = options;
  const cache = new LruMap<KnownKey>(capacity);
  const usage = new Map<string, { key: KnownKey; at: number }>();
  const counts = { hits: 0, misses: 0 };
  /** Grows whenever something was forgotten, so that a lookup under way then is not remembered. */
  let changes = 0;
  let trustedUntil = 0;
  let closed = false;
  let listener: pg.Client | undefined;
  let beating: Promise<void>;
  let timer: NodeJS.Timeout | undefined;

  function forget(hash?: string): void {
    changes += 1;
    if (hash === undefined) cache.clear();
    else cache.delete(hash);
  }

  async function listen(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 3_000,
      query_timeout: SILENCE_MS,
      application_name: 'travel-agency-crm-api keys',
    });
    client.on('error', (error) => {
      logger.warn({ err: error }, 'the key channel was lost');
      if (client === listener) trustedUntil = 0;
    });
    client.on('notification', ({ payload }) => forget(payload));
    try {
      await client.connect();
      await client.query(`listen ${KEY_CHANNEL}`);
    } catch (error) {
      client.end().catch(() => undefined);
      throw error;
    }
    forget();
    return client;
  }

  async function heartbeat(): Promise<void> {
    const asked = now();
    try {
      listener ??= await listen();
      await listener.query('select 1');
      trustedUntil = asked + TRUST_MS;
    } catch (error) {
      trustedUntil = 0;
      forget();
      const lost = listener;
      listener = undefined;
      if (!closed) logger.debug({ err: error }, 'the key channel is not open');
      lost?.end().catch(() => undefined);
    }
  }

  function beat(): void {
    beating = heartbeat().then(() => {
      if (!closed) timer = setTimeout(beat, HEARTBEAT_MS).unref();
    });
  }

  async function saveUsage(): Promise<void> {
    if (usage.size === 0) return;
    const batch = [...usage.values()];
    usage.clear();
    try {
      await saveKeyUsage(db, batch);
    } catch (error) {
      logger.warn({ err: error }, 'key usage was not saved; it will be with the next');
      for (const entry of batch) if (!usage.has(entry.key.id)) usage.set(entry.key.id, entry);
    }
  }

  function used(key: KnownKey, at: number): KnownKey {
    usage.set(key.id, { key, at });
    return key;
  }

  async function ask(hash: string, asked: number): Promise<KnownKey | undefined> {
    const before = changes;
    const key = await findKey(db, hash, asked);
    if (!key) return undefined;
    if (before === changes && now() < trustedUntil) cache.set(hash, key);
    return used(key, asked);
  }

  beat();
  const saving = setInterval(saveUsage, USAGE_INTERVAL_MS).unref();

  return {
    find(key) {
      if (!isWellFormedKey(key)) return undefined;
      const hash = hashKey(key);
      const at = now();
      const known = at < trustedUntil ? cache.get(hash) : undefined;
      if (known && (known.expiresAt === null || at < known.expiresAt)) {
        counts.hits += 1;
        return used(known, at);
      }
      counts.misses += 1;
      return ask(hash, at);
    },
    stats: () => ({ ...counts }),
    async close() {
      closed = true;
      clearTimeout(timer);
      clearInterval(saving);
      await beating;
      // A silent server would not answer the goodbye.
      await Promise.race([listener?.end(), pause(SILENCE_MS, undefined, { ref: false })]);
      await saveUsage();
    },
  };
}
