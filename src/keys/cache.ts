import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import pg from 'pg';
import { LruMap } from 'toad-cache';
import type { Queries } from '../db/run/queries.ts';
import { REFUSALS } from '../errors.ts';
import { hashKey } from './api-key.ts';
import { findKeys, KEY_CHANNEL, type KnownKey, saveKeyUsage, sendBeat, usageName } from './repository.ts';

/** Answers whose key it is, from memory where that is safe. */
export type KeyCache = {
  /** The live key, or undefined for one that is unknown, expired or revoked. A promise only when it had to ask. */
  find: (key: string) => KnownKey | undefined | Promise<KnownKey | undefined>;
  /** How often `find` was answered from memory and how often not. */
  stats: () => { hits: number; misses: number };
  close: () => Promise<void>;
};

export type KeyCacheOptions = {
  db: Queries;
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
/** A key that was changed by hand in the database, which tells nobody, is good for no longer. */
const REMEMBER_MS = 60_000;
/** Anybody can make well-formed keys: those that do not exist are asked for once in this time. */
const REMEMBER_UNKNOWN_MS = 5_000;
const ASKED_TOGETHER = 100;
const MAX_ASKED = 1_000;
const MAX_ASKING = 2;

/**
 * Asks for keys with two queries at a time, each with all hashes that came since the last: whatever a flood of keys
 * that do not exist costs the database, it is two connections' work.
 * @throws Refusal when too many are asked for
 */
function askTogether(find: (hashes: string[]) => Promise<Map<string, KnownKey>>) {
  const asked = new Map<string, PromiseWithResolvers<KnownKey | undefined>>();
  let asking = 0;

  async function ask(): Promise<void> {
    while (asked.size > 0) {
      const batch = [...asked].slice(0, ASKED_TOGETHER);
      for (const [hash] of batch) asked.delete(hash);
      try {
        const found = await find(batch.map(([hash]) => hash));
        for (const [hash, { resolve }] of batch) resolve(found.get(hash));
      } catch (error) {
        for (const [, { reject }] of batch) reject(error);
      }
    }
    asking -= 1;
  }

  return (hash: string): Promise<KnownKey | undefined> => {
    let answer = asked.get(hash);
    if (!answer) {
      if (asked.size >= MAX_ASKED) return Promise.reject(REFUSALS.full);
      answer = Promise.withResolvers();
      asked.set(hash, answer);
      if (asking < MAX_ASKING) {
        asking += 1;
        setImmediate(ask);
      }
    }
    return answer.promise;
  };
}

/**
 * Opens the cache. Keys are looked up once and then remembered; a change of a key is told to every instance over
 * LISTEN/NOTIFY and forgets it there, and its expiry holds by the clock. While the channel cannot be proven open, every
 * request asks the database.
 */
export function openKeyCache(options: KeyCacheOptions): KeyCache {
  const { db, url, logger, now = Date.now, capacity = CAPACITY } = options;
  const cache = new LruMap<{ key: KnownKey; until: number }>(capacity);
  /** Until when a key is taken not to exist. */
  const unknown = new LruMap<number>(capacity);
  const findTogether = askTogether((hashes) => findKeys(db, hashes, now()));
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
    for (const memory of [cache, unknown]) {
      if (hash === undefined) memory.clear();
      else memory.delete(hash);
    }
  }

  /** What this instance sends to itself: heard, it proves that every change before it was heard too. */
  let beat = { text: '', heard: () => {} };
  const isBeat = (payload = ''): boolean => payload.startsWith('beat ');

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
    client.on('notification', ({ payload }) => {
      if (payload === beat.text) beat.heard();
      else if (!isBeat(payload)) forget(payload);
    });
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

  /** Sent over the pool, because that is how changes are sent. */
  async function hearBeat(): Promise<void> {
    const heard = Promise.withResolvers<void>();
    beat = { text: `beat ${randomUUID()}`, heard: heard.resolve };
    const late = setTimeout(() => heard.reject(new Error('The key channel is silent.')), SILENCE_MS);
    try {
      await Promise.all([heard.promise, sendBeat(db, beat.text)]);
    } finally {
      clearTimeout(late);
    }
  }

  async function heartbeat(): Promise<void> {
    const asked = now();
    try {
      listener ??= await listen();
      await hearBeat();
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

  function keepBeating(): void {
    beating = heartbeat().then(() => {
      if (!closed) timer = setTimeout(keepBeating, HEARTBEAT_MS).unref();
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
      for (const entry of batch) if (!usage.has(usageName(entry.key))) usage.set(usageName(entry.key), entry);
    }
  }

  function used(key: KnownKey, at: number): KnownKey {
    usage.set(usageName(key), { key, at });
    return key;
  }

  async function ask(hash: string, asked: number): Promise<KnownKey | undefined> {
    const before = changes;
    const key = await findTogether(hash);
    if (before === changes) {
      if (!key) unknown.set(hash, asked + REMEMBER_UNKNOWN_MS);
      else if (now() < trustedUntil) cache.set(hash, { key, until: asked + REMEMBER_MS });
    }
    return key && used(key, asked);
  }

  keepBeating();
  const saving = setInterval(saveUsage, USAGE_INTERVAL_MS).unref();

  return {
    find(key) {
      const hash = hashKey(key);
      const at = now();
      const known = at < trustedUntil ? cache.get(hash) : undefined;
      if (known && at < known.until && (known.key.expiresAt === null || at < known.key.expiresAt)) {
        counts.hits += 1;
        return used(known.key, at);
      }
      if (at < (unknown.get(hash) ?? 0)) return undefined;
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
