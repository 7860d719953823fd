import { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible';
import { type Limiter, WINDOW_SECONDS } from './rate-limit.ts';

const COMMAND_TIMEOUT_MS = 250;
/** After this time without a reply the connection is closed, and requests no longer wait. */
const CONNECTION_TIMEOUT_MS = 1_000;
const RECONNECT_MS = 500;

/** Counts in Redis, for all instances together, and in memory while Redis does not reply. */
export function redisLimiter(
  url: string,
  onError: (error: Error) => void,
): { limiter: Limiter; close: () => Promise<void> } {
  const client = new Redis(url, {
    connectionName: 'travel-agency-crm-api',
    connectTimeout: CONNECTION_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: CONNECTION_TIMEOUT_MS,
    // A late count is useless, and a repeated one is wrong.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => RECONNECT_MS,
  });
  client.on('error', onError);
  const points = { points: 0, duration: WINDOW_SECONDS };
  return {
    limiter: new RateLimiterRedis({
      ...points,
      storeClient: client,
      keyPrefix: 'travel-agency-crm-api:requests',
      rejectIfRedisNotReady: true,
      insuranceLimiter: new RateLimiterMemory(points),
    }),
    close: async () => {
      client.disconnect();
    },
  };
}
