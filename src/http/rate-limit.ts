import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../contract/errors.ts';
import { idAmongAll } from '../db/index.ts';
import { provesCopy } from './conditional.ts';
import { type Counted, type Limiter, memoryLimiter, WINDOW_SECONDS } from './limiter.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** End of the window in which the request was counted, in milliseconds since 1970. */
    countedUntil: number | undefined;
  }
}

const COUNTED = 'x-counted-request';

/** Header of a request that is already counted: one that /mcp makes inside this process. Clients cannot know its value. */
export const COUNTED_ALREADY = { [COUNTED]: randomUUID() };

type Key = NonNullable<FastifyRequest['apiKey']>;

export type RateLimitOptions = {
  limiter: Limiter;
  /** The default for a key without its own limit. 0: no limit. */
  requestsPerMinute: number;
};

/** @returns the seconds until the window ends */
function setLimitHeaders(
  reply: FastifyReply,
  limit: number,
  { consumedPoints, msBeforeNext }: Counted,
): number {
  const reset = Math.max(1, Math.ceil(msBeforeNext / 1_000));
  // A 304 can be taken back where its request was not counted: in memory, while Redis fails.
  const remaining = Math.max(0, limit - Math.max(0, consumedPoints));
  reply.headers({
    'ratelimit-policy': `"default";q=${limit};w=${WINDOW_SECONDS}`,
    ratelimit: `"default";r=${remaining};t=${reset}`,
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(reset),
  });
  return reset;
}

/** Uncounted 304s per window and instance, as a multiple of the limit. A 304 saves bytes, but costs the query. */
const FREE_MULTIPLE = 10;

/** Limits the requests of each key. A 304 does not count, within bounds. Needs an authenticated request. */
export function limitRate(app: FastifyInstance, { limiter, requestsPerMinute }: RateLimitOptions): void {
  const free = memoryLimiter();
  const limitOf = (key: Key): number => key.requestsPerMinute ?? requestsPerMinute;

  app.decorateRequest('countedUntil');
  app.addHook('onRequest', (request, reply, done) => {
    const key = request.apiKey;
    const limit = key ? limitOf(key) : 0;
    if (!key || limit === 0) return done();
    if (request.headers[COUNTED] === COUNTED_ALREADY[COUNTED]) return done();
    const counted = (count: Counted): void => {
      request.countedUntil = Date.now() + count.msBeforeNext;
      const reset = setLimitHeaders(reply, limit, count);
      done(count.consumedPoints > limit ? new ApiError('RATE_LIMIT_EXCEEDED', { limit, reset }) : undefined);
    };
    limiter.penalty(idAmongAll(key)).then(counted, done);
  });

  async function takeBack(key: Key, reply: FastifyReply): Promise<void> {
    const { consumedPoints } = await free.penalty(idAmongAll(key));
    if (consumedPoints > FREE_MULTIPLE * limitOf(key)) return;
    setLimitHeaders(reply, limitOf(key), await limiter.reward(idAmongAll(key)));
  }

  app.addHook('onSend', (request, reply, payload, done) => {
    const { apiKey: key, countedUntil = 0 } = request;
    const isFree = reply.statusCode === 304 && provesCopy(request);
    // In the next window, this request is not counted, and must not be taken back.
    if (!isFree || !key || countedUntil <= Date.now()) return done(null, payload);
    const failed = (error: Error): void =>
      request.log.warn({ err: error }, 'the rate limit store failed; a 304 stays counted');
    takeBack(key, reply)
      .catch(failed)
      .then(() => done(null, payload))
      .catch((error: Error) => reply.raw.destroy(error));
  });
}
