import pg from 'pg';
import { RateLimiterMemory, RateLimiterPostgres } from 'rate-limiter-flexible';
import { type RateLimitOptions, WINDOW_SECONDS } from './rate-limit.ts';

type Limiter = RateLimitOptions['limiter'];

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
