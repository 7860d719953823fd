import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible';

export const WINDOW_SECONDS = 60;

const COMMAND_TIMEOUT_MS = 250;
/** After this time without a reply the connection is closed, and requests no longer wait. */
const CONNECTION_TIMEOUT_MS = 1_000;
const RECONNECT_MS = 500;

/** Counts one more request in the fixed window of the key. */
export type Limiter = { penalty: (key: string) => Promise<{ consumedPoints: number; msBeforeNext: number }> };

const WINDOW = { points: 0, duration: WINDOW_SECONDS };

export const memoryLimiter = (): Limiter => new RateLimiterMemory(WINDOW);

/** Counts in Redis, for all instances together, and in memory while Redis does not reply. */
export async function redisLimiter(url: string, onError: (error: Error) => void) {
  const { Redis } = await import('ioredis');
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
    // After a failover, the old primary keeps its connections, and the address leads to the new one.
    reconnectOnError: ({ message }) => message.includes('READONLY'),
  });
  client.on('error', onError);
  const inMemory = memoryLimiter();
  const inRedis = new RateLimiterRedis({
    ...WINDOW,
    storeClient: client,
    keyPrefix: 'travel-agency-crm-api:requests',
    rejectIfRedisNotReady: true,
  });
  const penalty: Limiter['penalty'] = (key) =>
    inRedis.penalty(key).catch((error) => {
      onError(error);
      return inMemory.penalty(key);
    });
  return { limiter: { penalty }, close: async () => client.disconnect() };
}
