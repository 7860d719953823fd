import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from '../contract/errors.ts';
import { type Database, type OrganizationScope, scopeTo } from '../db/index.ts';
import { callerOf } from '../http/caller.ts';
import { hasScheme, presentedKey } from '../http/credentials.ts';
import { containsKey, isWellFormedKey } from './api-key.ts';
import type { KeyCache } from './cache.ts';
import type { KnownKey } from './repository.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined before authentication, and outside of /v1 and /mcp. */
    apiKey: KnownKey | undefined;
    /** The organization of the key or, on dashboard routes, of the path. */
    scope: OrganizationScope;
  }
}

const unauthorized = (message: string): ApiError =>
  new ApiError('UNAUTHORIZED', message, { headers: { 'www-authenticate': 'Bearer' } });

const HOW = 'Send one key, as `Authorization: Bearer <key>` or as `x-api-key: <key>`.';

const UNAUTHORIZED = {
  noKey: unauthorized(`No API key was found. ${HOW}`),
  withoutBearer: unauthorized(`Authorization contains the key without the word Bearer. ${HOW}`),
  surplusBearer: unauthorized(`The header has one word Bearer too many before the key. ${HOW}`),
  inAddress: unauthorized(`The key was sent in the URL, which logs record: replace the key. ${HOW}`),
  incomplete: unauthorized(
    'This is not a complete API key: its format or its checksum is wrong. Copy the whole key, from `tcrm_` to the last character.',
  ),
  notActive: unauthorized('The API key is not valid: it is unknown, expired or revoked.'),
};

const KEY_HEADERS = ['authorization', 'x-api-key'];

function noUsableKey({ headers, url = '' }: IncomingMessage): ApiError {
  const { authorization = '' } = headers;
  if (containsKey(authorization) && !hasScheme(authorization)) return UNAUTHORIZED.withoutBearer;
  if (containsKey(url)) return UNAUTHORIZED.inAddress;
  const [name] =
    Object.entries(headers).find(
      ([name, value]) => !KEY_HEADERS.includes(name) && containsKey(String(value)),
    ) ?? [];
  return name === undefined
    ? UNAUTHORIZED.noKey
    : unauthorized(`The key was sent in the header ${name.slice(0, 64)}. ${HOW}`);
}

const ACCESS_ERRORS = {
  read: new ApiError('KEY_READ_ONLY', 'This key can only read. Use a key with the access "write".'),
  create: new ApiError(
    'KEY_CREATE_ONLY',
    'This key can only create. Use a key with the access "write" or "read".',
  ),
};

const METHODS = { read: ['GET', 'HEAD'], create: ['POST'] };

/** Undefined if the access of the key includes the method. */
export function accessError(key: KnownKey | undefined, method: string): ApiError | undefined {
  const access = key?.access ?? 'read';
  return access === 'write' || METHODS[access].includes(method) ? undefined : ACCESS_ERRORS[access];
}

/** `customers` for `/v1/customers/:customerId`. */
export const resourceOf = (path: string): string => path.split('/')[2] ?? '';

export const hasAccess = (key: KnownKey | undefined, resource: string): boolean =>
  key !== undefined && (key.resources === null || key.resources.includes(resource));

function rejectionFor({ apiKey, method, routeOptions }: FastifyRequest): ApiError | undefined {
  const resource = resourceOf(routeOptions.url ?? '');
  if (hasAccess(apiKey, resource)) return accessError(apiKey, method);
  return new ApiError(
    'KEY_RESOURCE_NOT_ALLOWED',
    `This key has no access to ${resource}, only to ${apiKey?.resources?.join(', ')}. Use another key.`,
  );
}

export function rejectBeyondKey(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => done(rejectionFor(request)));
}

/** Requires an active key, and sets `apiKey` and `scope`. */
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
    if (presented === undefined) return done(noUsableKey(request.raw));
    if (!isWellFormedKey(presented))
      return done(hasScheme(presented) ? UNAUTHORIZED.surplusBearer : UNAUTHORIZED.incomplete);
    const found = keys.find(presented);
    if (found instanceof Promise) found.then(enter, done);
    else enter(found);
  });
}
