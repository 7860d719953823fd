import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from '../contract/errors.ts';
import type { Database } from '../db/pool/client.ts';
import { type OrganizationScope, scopeTo } from '../db/pool/scope.ts';
import { callerOf } from '../http/caller.ts';
import { hasScheme, presentedKey } from '../http/credentials.ts';
import { holdsKey, isWellFormedKey } from './api-key.ts';
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

const HOW = 'Send one key, as `Authorization: Bearer <key>` or as `x-api-key: <key>`.';

/** Each is one object, because its stack has no use. Only the last is about keys that exist, and names none. */
const UNAUTHORIZED = {
  noKey: unauthorized(`No API key was found. ${HOW}`),
  withoutBearer: unauthorized(`Authorization has the key without the word Bearer. ${HOW}`),
  surplusBearer: unauthorized(`The word Bearer stands where only the key belongs. ${HOW}`),
  inAddress: unauthorized(`The key was sent in the address, which logs keep: replace the key. ${HOW}`),
  incomplete: unauthorized(
    'This is not a complete API key: its form or its checksum is wrong. Copy all of it, from `tcrm_` to the last character.',
  ),
  notActive: unauthorized('The API key is not valid: it is unknown, expired or revoked.'),
};

/** Headers that are read as a key. */
const TAKEN = ['authorization', 'x-api-key'];

/** How to write a key that was sent in the wrong place or form; where none was sent, that it is required. */
function misplaced({ headers, url = '' }: IncomingMessage): ApiError {
  const { authorization = '' } = headers;
  if (holdsKey(authorization) && !hasScheme(authorization)) return UNAUTHORIZED.withoutBearer;
  if (holdsKey(url)) return UNAUTHORIZED.inAddress;
  const [name] =
    Object.entries(headers).find(([name, value]) => !TAKEN.includes(name) && holdsKey(String(value))) ?? [];
  return name === undefined
    ? UNAUTHORIZED.noKey
    : unauthorized(`The key was sent in the header ${name.slice(0, 64)}. ${HOW}`);
}

/** Why a key with this access may not call an operation of this method. */
const BEYOND_ACCESS = {
  read: new ApiError('KEY_READ_ONLY', 'This key can only read. Use a key with the access "write".'),
  create: new ApiError(
    'KEY_CREATE_ONLY',
    'This key can only create. Use a key with the access "write" or "read".',
  ),
};

const METHODS = { read: ['GET', 'HEAD'], create: ['POST'] };

/** The error for a key whose access does not include this method; undefined where it does. */
export function accessError(key: KnownKey | undefined, method: string): ApiError | undefined {
  const access = key?.access ?? 'read';
  return access === 'write' || METHODS[access].includes(method) ? undefined : BEYOND_ACCESS[access];
}

/** The part of /v1 that an operation belongs to: what its path begins with. */
export const resourceOf = (path: string): string => path.split('/')[2] ?? '';

/** Whether the key reaches this part of /v1. */
export const reaches = (key: KnownKey | undefined, resource: string): boolean =>
  key !== undefined && (key.resources === null || key.resources.includes(resource));

/** Why the key may not do this, where it may not. */
function rejectionFor({ apiKey, method, routeOptions }: FastifyRequest): ApiError | undefined {
  const resource = resourceOf(routeOptions.url ?? '');
  if (reaches(apiKey, resource)) return accessError(apiKey, method);
  return new ApiError(
    'KEY_RESOURCE_NOT_ALLOWED',
    `This key does not reach ${resource}, only ${apiKey?.resources?.join(', ')}. Use a key that does.`,
  );
}

/** Lets a key pass where it was issued for. Needs an authenticated request. */
export function rejectBeyondKey(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => done(rejectionFor(request)));
}

/** Lets only requests with an active key pass, and gives them the scope of the key's organization. */
export function authenticate(app: FastifyInstance, { db, keys }: { db: Database; keys: KeyCache }): void {
  app.addHook('onRequest', (request, reply, done) => {
    const enter = (key: KnownKey | undefined): void => {
      if (key) {
        request.apiKey = key;
        request.scope = scopeTo(db, key.organizationId, callerOf(reply));
      }
      done(key ? undefined : UNAUTHORIZED.notActive);
    };
    const presented = presentedKey(request.raw.rawHeaders);
    if (presented === undefined) return done(misplaced(request.raw));
    if (!isWellFormedKey(presented))
      return done(hasScheme(presented) ? UNAUTHORIZED.surplusBearer : UNAUTHORIZED.incomplete);
    const found = keys.find(presented);
    // Nearly every key is known at once: no promise then.
    if (found instanceof Promise) found.then(enter, done);
    else enter(found);
  });
}
