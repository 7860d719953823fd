import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { LruMap } from 'toad-cache';
import { ApiError } from '../contract/errors.ts';
import { idAmongAll } from '../db/sql/ids.ts';
import { provesCopy } from './conditional.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** When the request's window ends, in milliseconds since 1970. Undefined when it was not counted. */
    countedUntil: number | undefined;
  }
}

/** Length of a window in seconds. Limits are per minute. */
export const WINDOW_SECONDS = 60;

const COUNTED = 'x-counted-request';

/**
 * The header of a request that another one makes inside of this process, as a call over /mcp does: it is counted already.
 * Nobody outside of the process can know the value.
 */
export const COUNTED_ALREADY = { [COUNTED]: randomUUID() };

type Key = NonNullable<FastifyRequest['apiKey']>;

/** The count of the window, and when it ends. */
type Counted = { consumedPoints: number; msBeforeNext: number };

/** Counts the requests of each key in fixed windows; the limit is each key's own. */
export type Limiter = {
  penalty: (key: string, points?: number) => Promise<Counted>;
  reward: (key: string, points?: number) => Promise<Counted>;
};

export type RateLimitOptions = {
  limiter: Limiter;
  /** Requests per minute of a key without a limit of its own. 0: no limit. */
  requestsPerMinute: number;
};

/** Counts in this process only. */
export const memoryLimiter = (): Limiter => new RateLimiterMemory({ points: 0, duration: WINDOW_SECONDS });

export type InsuranceOptions = {
  /** True while the store has enough to do: it is not asked then. */
  isBusy: () => boolean;
  onError: (error: Error) => void;
};

/** So many keys are remembered whose requests the store does not know of. */
const MAX_PENDING = 10_000;

/**
 * Counts in the store, and in memory where the store is busy or fails: together never more lenient than the limit times
 * the instances. Memory counts every request of this instance, and the store is told later what it missed. (The library's
 * insurance limiter starts at zero with each failure, and the store learns nothing.)
 */
export function insured(store: Limiter, { isBusy, onError }: InsuranceOptions): Limiter {
  const memory = memoryLimiter();
  const pending = new LruMap<number>(MAX_PENDING, WINDOW_SECONDS * 1_000);

  async function count(key: string, points: number): Promise<Counted> {
    let here = await memory.penalty(key, points);
    // Taken back after the window in which it was given.
    if (here.consumedPoints < 0) here = await memory.penalty(key, -here.consumedPoints);
    const debt = pending.get(key) ?? 0;
    pending.delete(key);
    if (!isBusy()) {
      try {
        return await store.penalty(key, debt + points);
      } catch (error) {
        onError(error as Error);
      }
    }
    pending.set(key, (pending.get(key) ?? 0) + debt + points);
    return here;
  }

  return {
    penalty: (key, points = 1) => count(key, points),
    reward: (key, points = 1) => count(key, -points),
  };
}

const limitHeaders = (limit: number, remaining: number, reset: number): Record<string, string> => ({
  'ratelimit-policy': `"default";q=${limit};w=${WINDOW_SECONDS}`,
  ratelimit: `"default";r=${remaining};t=${reset}`,
  'x-ratelimit-limit': String(limit),
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': String(reset),
});

const exceeded = (limit: number, reset: number): ApiError =>
  new ApiError('RATE_LIMIT_EXCEEDED', `This key may make ${limit} requests a minute; retry in ${reset} s.`, {
    headers: { 'retry-after': String(reset) },
  });

/**
 * So many times its limit, a key gets answers of 304 that do not count, in each window and from each instance. Not more:
 * they save bytes, but each costs the search behind it.
 */
const FREE_TIMES = 10;

/**
 * Limits the requests of each key. Refused requests do not prolong the window. A 304 to a tag that the client really has
 * does not count, within bounds. Needs an authenticated request.
 */
export function limitRate(app: FastifyInstance, { limiter, requestsPerMinute }: RateLimitOptions): void {
  const free = memoryLimiter();
  const limitOf = (key: Key): number => key.requestsPerMinute ?? requestsPerMinute;

  /** Answers the seconds until the allowance is whole again. */
  function setLimitHeaders(
    reply: FastifyReply,
    limit: number,
    { consumedPoints, msBeforeNext }: Counted,
  ): number {
    const reset = Math.max(1, Math.ceil(msBeforeNext / 1_000));
    reply.headers(limitHeaders(limit, Math.max(0, limit - consumedPoints), reset));
    return reset;
  }

  app.decorateRequest('countedUntil');
  app.addHook('onRequest', (request, reply, done) => {
    const key = request.apiKey;
    const limit = key ? limitOf(key) : 0;
    if (!key || limit === 0) return done();
    if (request.headers[COUNTED] === COUNTED_ALREADY[COUNTED]) return done();
    const counted = (count: Counted): void => {
      request.countedUntil = Date.now() + count.msBeforeNext;
      const reset = setLimitHeaders(reply, limit, count);
      done(count.consumedPoints > limit ? exceeded(limit, reset) : undefined);
    };
    limiter.penalty(idAmongAll(key)).then(counted, done);
  });

  /** Does not count an answer that nothing changed, unless this key had its share of them. */
  async function takeBack(key: Key, reply: FastifyReply): Promise<void> {
    const { consumedPoints } = await free.penalty(idAmongAll(key));
    if (consumedPoints > FREE_TIMES * limitOf(key)) return;
    setLimitHeaders(reply, limitOf(key), await limiter.reward(idAmongAll(key)));
  }

  app.addHook('onSend', (request, reply, payload, done) => {
    const { apiKey: key, countedUntil = 0 } = request;
    const isFree = reply.statusCode === 304 && provesCopy(request);
    // The window may have ended and forgotten this request. Taking it back would then give the next window one
    // request too many.
    if (!isFree || !key || countedUntil <= Date.now()) return done(null, payload);
    const failed = (error: Error): void =>
      request.log.warn({ err: error }, 'the rate limit store failed; an unchanged answer stays counted');
    takeBack(key, reply)
      .catch(failed)
      .then(() => done(null, payload))
      .catch((error: Error) => reply.raw.destroy(error));
  });
}
