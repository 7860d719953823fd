import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { ApiError } from '../contract/errors.ts';
import { type Limiter, WINDOW_SECONDS } from './limiter.ts';

const COUNTED = 'x-counted-request';

/** Header of a request that is already counted: one that /mcp makes inside this process. Clients cannot know its value. */
export const COUNTED_ALREADY = { [COUNTED]: randomUUID() };

export const isCounted = (headers: IncomingHttpHeaders): boolean =>
  headers[COUNTED] === COUNTED_ALREADY[COUNTED];

export type RateLimitOptions = {
  limiter: Limiter;
  /** The default for a key without its own limit. 0: no limit. */
  requestsPerMinute: number;
};

/** Limits the requests of each key. Needs an authenticated request. */
export function limitRate(app: FastifyInstance, { limiter, requestsPerMinute }: RateLimitOptions): void {
  app.addHook('onRequest', ({ apiKey: key, headers }, reply, done) => {
    const limit = key?.requestsPerMinute ?? requestsPerMinute;
    if (!key || limit === 0 || isCounted(headers)) return done();
    // Keys of two organizations can have one id.
    limiter.penalty(`${key.organizationId} ${key.id}`).then(({ consumedPoints, msBeforeNext }) => {
      // Longer than the window if the clock was set back.
      const reset = Math.min(WINDOW_SECONDS, Math.max(1, Math.ceil(msBeforeNext / 1_000)));
      reply.headers({
        'x-ratelimit-limit': String(limit),
        'x-ratelimit-remaining': String(Math.max(0, limit - consumedPoints)),
        'x-ratelimit-reset': String(reset),
      });
      done(consumedPoints > limit ? new ApiError('RATE_LIMIT_EXCEEDED', { limit, reset }) : undefined);
    }, done);
  });
}
