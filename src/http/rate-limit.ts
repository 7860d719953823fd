import type { FastifyInstance } from 'fastify';
import pg from 'pg';
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterPostgres,
  type RateLimiterRes,
} from 'rate-limiter-flexible';
import { ApiError } from '../errors.ts';

/** Length of a window in seconds; the limits are given per minute. */
const WINDOW_SECONDS = 60;

/** Counts the requests of each key in fixed windows; only its counting is used, the limit is each key's own. */
type Limiter = Pick<RateLimiterAbstract, 'penalty' | 'reward'>;

export type RateLimitOptions = {
  limiter: Limiter;
  /** Requests per minute of a key that has no limit of its own; 0 switches the limit off. */
  requestsPerMinute: number;
};

/** Counts in this process only. */
export const memoryLimiter = (): Limiter => new RateLimiterMemory({ points: 0, duration: WINDOW_SECONDS });

/** Counts in the database, for all instances together, over connections of its own: a full pool must not stop the counting. */
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

/** Limits each key's requests; refused ones count no further. Needs an authenticated request. */
export function limitRate(app: FastifyInstance, { limiter, requestsPerMinute }: RateLimitOptions): void {
  app.addHook('onRequest', (request, reply, done) => {
    const key = request.apiKey;
    const limit = key?.requestsPerMinute ?? requestsPerMinute;
    if (!key || limit === 0) return done();
    const counted = ({ consumedPoints, msBeforeNext }: RateLimiterRes): void => {
      const reset = Math.max(1, Math.ceil(msBeforeNext / 1_000));
      reply.headers(limitHeaders(limit, Math.max(0, limit - consumedPoints), reset));
      done(consumedPoints > limit ? exceeded(limit, reset) : undefined);
    };
    const failed = (error: Error): void => {
      request.log.warn({ err: error }, 'the rate limit store failed; the request passes');
      done();
    };
    limiter.penalty(key.id).then(counted, failed);
  });
}
