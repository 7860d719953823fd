import { isUtf8 } from 'node:buffer';
import { hash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { codePoints } from '../../rules/text.ts';
import { ApiError, invalid } from '../contract/errors.ts';
import { presentedToken } from '../http/credentials.ts';

const MAX_ACTOR_LENGTH = 64;

const CLOSED = new ApiError('SERVICE_UNAVAILABLE', 'closed');

/** Comparing digests takes the same time for any two texts. */
const digest = (text: string): Buffer => hash('sha256', text, 'buffer');

/** Requires the token. Without a configured one, every request gets 503. */
export function authenticateDashboard(app: FastifyInstance, token: string | undefined): void {
  if (token === undefined) app.log.warn(CLOSED.message);
  const expected = token === undefined ? undefined : digest(token);
  app.addHook('onRequest', (request, _reply, done) => {
    if (!expected) return done(CLOSED);
    const presented = presentedToken(request.raw.rawHeaders);
    if (!presented || !timingSafeEqual(digest(presented), expected))
      return done(new ApiError('UNAUTHORIZED', 'noToken'));
    // Node reads a header as Latin-1. Most clients send UTF-8, fetch sends Latin-1.
    const sent = Buffer.from(request.headers['x-actor']?.toString() ?? '', 'latin1');
    const actor = sent.toString(isUtf8(sent) ? 'utf8' : 'latin1');
    if (codePoints(actor) > MAX_ACTOR_LENGTH)
      return done(invalid('header.x-actor', `must have at most ${MAX_ACTOR_LENGTH} characters`));
    if (actor) request.actor = actor;
    done();
  });
}
