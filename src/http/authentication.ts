import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Database } from '../db/client.ts';
import { type OrganizationScope, scopeTo } from '../db/scope.ts';
import { ApiError } from '../errors.ts';
import type { KeyCache } from '../keys/cache.ts';
import type { KnownKey } from '../keys/repository.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The key that the request came with; undefined before authentication and outside of /v1. */
    apiKey: KnownKey | undefined;
    /** The organization of that key. */
    scope: OrganizationScope;
  }
}

/** No more than the scheme: a pattern with the spaces at the end takes quadratic time on a header full of them. */
const BEARER = /^bearer +/i;

/** One answer whatever is wrong with the key, so that it tells nobody which keys exist. One object: its stack says nothing. */
const UNAUTHORIZED = new ApiError('UNAUTHORIZED', 'The API key is missing or not valid.', {
  headers: { 'www-authenticate': 'Bearer' },
});

/** The key of the request, from either header; undefined when there is none, or two that differ. */
export function presentedKey(headers: IncomingHttpHeaders): string | undefined {
  const { authorization = '' } = headers;
  const bearer = BEARER.test(authorization)
    ? authorization.replace(BEARER, '').trim() || undefined
    : undefined;
  const header = headers['x-api-key']?.toString().trim() || undefined;
  if (bearer !== undefined && header !== undefined && bearer !== header) return undefined;
  return bearer ?? header;
}

/** Lets only requests with a live key pass, and gives them the scope of its organization. */
export function authenticate(app: FastifyInstance, { db, keys }: { db: Database; keys: KeyCache }): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const enter = (key: KnownKey | undefined): void => {
      if (key) {
        request.apiKey = key;
        request.scope = scopeTo(db, key.organizationId);
      }
      done(key ? undefined : UNAUTHORIZED);
    };
    const presented = presentedKey(request.headers);
    const found = presented === undefined ? undefined : keys.find(presented);
    // Nearly every key is known at once: no promise then.
    if (found instanceof Promise) found.then(enter, done);
    else enter(found);
  });
}
