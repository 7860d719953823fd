import type { FastifyInstance } from 'fastify';
import type { Database } from '../db/run/client.ts';
import { type OrganizationScope, scopeTo } from '../db/run/scope.ts';
import { ApiError } from '../errors.ts';
import { isWellFormedKey } from '../keys/api-key.ts';
import type { KeyCache } from '../keys/cache.ts';
import type { KnownKey } from '../keys/repository.ts';
import { callerOf } from './caller.ts';

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

const unauthorized = (message: string): ApiError =>
  new ApiError('UNAUTHORIZED', message, { headers: { 'www-authenticate': 'Bearer' } });

/** Each is one object, because its stack has no use. Only the last speaks of keys that exist, and it names none. */
const UNAUTHORIZED = {
  noKey: unauthorized(
    'No API key was sent, or two that differ; send one as Authorization: Bearer <key> or as x-api-key: <key>.',
  ),
  notWhole: unauthorized(
    'This is not a whole API key: its form or its checksum is wrong; copy all of it, from tcrm_ to the last character.',
  ),
  notLive: unauthorized('The API key does not work: it is unknown, expired or revoked.'),
};

/** The value of a header; null when it was sent twice with different values. Node itself would keep the first. */
function onlyValue(rawHeaders: readonly string[], wanted: string): string | undefined | null {
  let found: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length !== wanted.length || name.toLowerCase() !== wanted) continue;
    const value = rawHeaders[index + 1];
    if (found !== undefined && found !== value) return null;
    found = value;
  }
  return found;
}

/** The token of the Authorization header; null when two were sent that differ. */
export function presentedToken(rawHeaders: readonly string[]): string | undefined | null {
  const value = onlyValue(rawHeaders, 'authorization');
  if (!value || !BEARER.test(value)) return value === null ? null : undefined;
  return value.replace(BEARER, '').trim() || undefined;
}

/** The key of the request, from either header; undefined when there is none, or two that differ. */
export function presentedKey(rawHeaders: readonly string[]): string | undefined {
  const token = presentedToken(rawHeaders);
  const header = onlyValue(rawHeaders, 'x-api-key');
  if (token === null || header === null) return undefined;
  const key = header?.trim() || undefined;
  if (token !== undefined && key !== undefined && token !== key) return undefined;
  return token ?? key;
}

const READ_ONLY = new ApiError(
  'KEY_READ_ONLY',
  'This key can only read; ask for one with the access "write".',
);

/** Lets a key that only reads pass with GET and HEAD alone. Needs an authenticated request. */
export function refuseWrites(app: FastifyInstance): void {
  app.addHook('onRequest', ({ method, apiKey }, _reply, done) => {
    const isRead = method === 'GET' || method === 'HEAD';
    done(isRead || apiKey?.access === 'write' ? undefined : READ_ONLY);
  });
}

/** Lets only requests with a live key pass, and gives them the scope of its organization. */
export function authenticate(app: FastifyInstance, { db, keys }: { db: Database; keys: KeyCache }): void {
  app.addHook('onRequest', (request, reply, done) => {
    const enter = (key: KnownKey | undefined): void => {
      if (key) {
        request.apiKey = key;
        request.scope = scopeTo(db, key.organizationId, callerOf(reply));
      }
      done(key ? undefined : UNAUTHORIZED.notLive);
    };
    const presented = presentedKey(request.raw.rawHeaders);
    if (presented === undefined) return done(UNAUTHORIZED.noKey);
    if (!isWellFormedKey(presented)) return done(UNAUTHORIZED.notWhole);
    const found = keys.find(presented);
    // Nearly every key is known at once: no promise then.
    if (found instanceof Promise) found.then(enter, done);
    else enter(found);
  });
}
