import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from '../contract/errors.ts';
import type { Database } from '../db/pool/client.ts';
import { type OrganizationScope, scopeTo } from '../db/pool/scope.ts';
import { callerOf } from '../http/caller.ts';
import { hasScheme, presentedKey } from '../http/credentials.ts';
import { isWellFormedKey } from './api-key.ts';
import type { KeyCache } from './cache.ts';
import type { KnownKey } from './repository.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The key that the request came with; undefined before authentication and outside of /v1. */
    apiKey: KnownKey | undefined;
    /** The organization of that key. */
    scope: OrganizationScope;
  }
}

const unauthorized = (message: string): ApiError =>
  new ApiError('UNAUTHORIZED', message, { headers: { 'www-authenticate': 'Bearer' } });

/** Each is one object, because its stack has no use. Only the last speaks of keys that exist, and it names none. */
const UNAUTHORIZED = {
  noKey: unauthorized(
    'No API key was sent, or two that differ; send one as Authorization: Bearer <key> or as x-api-key: <key>.',
  ),
  withScheme: unauthorized('x-api-key takes the key alone: leave out Bearer.'),
  notWhole: unauthorized(
    'This is not a whole API key: its form or its checksum is wrong; copy all of it, from tcrm_ to the last character.',
  ),
  notLive: unauthorized('The API key does not work: it is unknown, expired or revoked.'),
};

const READ_ONLY = new ApiError(
  'KEY_READ_ONLY',
  'This key can only read; ask for one with the access "write".',
);

/** The part of /v1 that an operation belongs to: what its path begins with. */
export const resourceOf = (path: string): string => path.split('/')[2] ?? '';

/** Whether the key reaches this part of /v1. */
export const reaches = (key: KnownKey | undefined, resource: string): boolean =>
  key !== undefined && (key.resources === null || key.resources.includes(resource));

/** Why the key may not do this, where it may not: it was issued for other resources, or to read. */
function refusalFor({ apiKey, method, routeOptions }: FastifyRequest): ApiError | undefined {
  const resources = apiKey?.resources;
  if (resources) {
    const resource = resourceOf(routeOptions.url ?? '');
    if (!resources.includes(resource))
      return new ApiError(
        'KEY_RESOURCE_NOT_ALLOWED',
        `This key does not reach ${resource}, only ${resources.join(', ')}; ask for one that does.`,
      );
  }
  return method === 'GET' || method === 'HEAD' || apiKey?.access === 'write' ? undefined : READ_ONLY;
}

/** Lets a key pass where it was issued for. Needs an authenticated request. */
export function refuseBeyondKey(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => done(refusalFor(request)));
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
    if (!isWellFormedKey(presented))
      return done(hasScheme(presented) ? UNAUTHORIZED.withScheme : UNAUTHORIZED.notWhole);
    const found = keys.find(presented);
    // Nearly every key is known at once: no promise then.
    if (found instanceof Promise) found.then(enter, done);
    else enter(found);
  });
}
