import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { invalid } from '../contract/errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who of the agency acts, as the dashboard names them. */
    actor?: string;
  }
}

const MAX_LENGTH = 64;

/** Puts `X-Actor` into the log line of the request. */
export function readActor(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    // Node reads a header as Latin-1. Most clients send UTF-8, fetch sends Latin-1.
    const sent = Buffer.from(request.headers['x-actor']?.toString() ?? '', 'latin1');
    const actor = sent.toString(isUtf8(sent) ? 'utf8' : 'latin1');
    if (actor.length > MAX_LENGTH)
      return done(invalid('header.x-actor', `must have at most ${MAX_LENGTH} characters`));
    if (actor) request.actor = actor;
    done();
  });
}
