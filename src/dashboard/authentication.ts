import { hash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { ApiError } from '../contract/errors.ts';
import { presentedToken } from '../http/credentials.ts';

const CLOSED = new ApiError('SERVICE_UNAVAILABLE', 'closed');

/** Comparing digests takes the same time for any two texts. */
const digest = (text: string): Buffer => hash('sha256', text, 'buffer');

/** Without a configured token, every request gets 503. */
export function authenticateDashboard(app: FastifyInstance, token: string | undefined): void {
  if (token === undefined) app.log.warn(CLOSED.message);
  const expected = token === undefined ? undefined : digest(token);
  app.addHook('onRequest', (request, _reply, done) => {
    if (!expected) return done(CLOSED);
    const presented = presentedToken(request.raw.rawHeaders);
    if (presented && timingSafeEqual(digest(presented), expected)) return done();
    done(new ApiError('UNAUTHORIZED', 'noToken'));
  });
}
