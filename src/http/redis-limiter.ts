import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { insured, type Limiter, WINDOW_SECONDS } from './rate-limit.ts';

/** A request does not wait longer for its count. */
const ANSWER_MS = 250;
/** After this much silence the connection is given up, and requests no longer wait at all. */
const SILENCE_MS = 1_000;
const RECONNECT_MS = 500;

/**
 * Counts in Redis, for all instances together. While Redis is out of reach or silent, this process counts in its memory.
 * @param url `redis://` or `rediss://`
 */
export function redisLimiter(
  url: string,
  onError: (error: Error) => void,
): { limiter: Limiter; close: () => Promise<void> } {
  const client = new Redis(url, {
    connectionName: 'travel-agency-crm-api',
    connectTimeout: SILENCE_MS,
    commandTimeout: ANSWER_MS,
    socketTimeout: SILENCE_MS,
    // A count that comes late is worth nothing, and one that is sent twice is wrong.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => RECONNECT_MS,
  });
  client.on('error', onError);
  const store = new RateLimiterRedis({
    storeClient: client,
    keyPrefix: 'travel-agency-crm-api:requests',
    points: 0,
    duration: WINDOW_SECONDS,
  });
  return {
    limiter: insured(store, { isBusy: () => client.status !== 'ready', onError }),
    close: async () => {
      client.disconnect();
    },
  };
}
