import type { FastifyInstance, FastifyReply } from 'fastify';
import pg from 'pg';
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterPostgres,
  type RateLimiterRes,
} from 'rate-limiter-flexible';
import { ApiError } from '../errors.ts';
import type { KnownKey } from '../keys/repository.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** When the request's window ends, in milliseconds since 1970. Undefined when it was not counted. */
    countedUntil: number | undefined;
  }
}

/** Length of a window in seconds. Limits are per minute. */
const WINDOW_SECONDS = 60;

/** Counts the requests of each key in fixed windows. Its own limit is not used: each key has one. */
type Limiter = Pick<RateLimiterAbstract, 'penalty' | 'reward'>;

export type RateLimitOptions = {
  limiter: Limiter;
  /** Requests per minute of a key without a limit of its own. 0: no limit. */
  requestsPerMinute: number;
};

/** Counts in this process only. */
export const memoryLimiter = (): Limiter => new RateLimiterMemory({ points: 0, duration: WINDOW_SECONDS });

/**
 * Counts in the database, for all instances together. It has connections of its own, so that it still counts when the
 * pool is full.
 */
export function sharedLimiter(
  url: string,
  onError: (error: Error) => void,
): { limiter: Limiter; close: () => Promise<void> } {
  const pool = new pg.Pool({
    connectionString: url,
    max: 4,
    connectionTimeoutMillis: 1_000,
    query_timeout: 1_000,
    application_name: 'travel-agency-crm-api rate limit',
  });
  pool.on('error', onError);
  pool.on('connect', (client) => client.on('error', onError));
  const limiter = new RateLimiterPostgres({
    storeClient: pool,
    storeType: 'client',
    tableName: 'rate_limits',
    tableCreated: true,
    points: 0,
    duration: WINDOW_SECONDS,
  });
  return { limiter, close: () => pool.end() };
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
 * Limits the requests of each key. Refused requests do not prolong the window, and an answer of 304 does not count.
 * Needs an authenticated request.
 */
export function limitRate(app: FastifyInstance, { limiter, requestsPerMinute }: RateLimitOptions): void {
  const limitOf = (key: KnownKey): number => key.requestsPerMinute ?? requestsPerMinute;

  /** Writes the headers of the limit. Returns in how many seconds the key has its whole limit again. */
  function tell(
    reply: FastifyReply,
    limit: number,
    { consumedPoints, msBeforeNext }: RateLimiterRes,
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
    const counted = (count: RateLimiterRes): void => {
      request.countedUntil = Date.now() + count.msBeforeNext;
      const reset = tell(reply, limit, count);
      done(count.consumedPoints > limit ? exceeded(limit, reset) : undefined);
    };
    const failed = (error: Error): void => {
      request.log.warn({ err: error }, 'the rate limit store failed; the request passes');
      done();
    };
    limiter.penalty(key.id).then(counted, failed);
  });

  app.addHook('onSend', (request, reply, payload, done) => {
    const { apiKey: key, countedUntil = 0 } = request;
    // The window may have ended and forgotten this request. Taking it back would then give the next window one
    // request too many.
    if (reply.statusCode !== 304 || !key || countedUntil <= Date.now()) return done(null, payload);
    const uncounted = (count: RateLimiterRes): void => {
      tell(reply, limitOf(key), count);
      done(null, payload);
    };
    const failed = (error: Error): void => {
      request.log.warn({ err: error }, 'the rate limit store failed; an unchanged answer stays counted');
      done(null, payload);
    };
    limiter
      .reward(key.id)
      .then(uncounted, failed)
      .catch((error: Error) => reply.raw.destroy(error));
  });
}
