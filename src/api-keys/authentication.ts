import type { FastifyInstance } from 'fastify';
import { ApiError } from '../contract/errors.ts';
import { resourceNames } from '../contract/resources.ts';
import { type Database, scopeTo } from '../db/index.ts';
import { presentedKey } from '../http/credentials.ts';
import { beforeWrites } from '../http/error-handler.ts';
import { callerOf, type Needs } from '../http/request.ts';
import { isWellFormedKey } from './api-key.ts';
import type { KeyCache } from './cache.ts';
import type { KnownKey } from './repository.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined before authentication, and outside of /v1 and /mcp. */
    apiKey: KnownKey | undefined;
  }
}

const ACCESS_ERRORS = { read: 'KEY_READ_ONLY', create: 'KEY_CREATE_ONLY' } as const;

/** Why the key may not use an operation. Nobody has access to a route that does not say what it needs. */
export function accessError(key: KnownKey | undefined, { access, resource }: Needs): ApiError | undefined {
  const { access: has = 'read', resources = [] } = key ?? {};
  if (access === undefined || (resources !== null && (!resource || !resources.includes(resource))))
    return new ApiError('KEY_RESOURCE_NOT_ALLOWED', {
      resource: resource ?? 'this path',
      resources: resources ?? resourceNames,
    });
  return has === 'write' || has === access ? undefined : new ApiError(ACCESS_ERRORS[has]);
}

export function rejectBeyondKey(app: FastifyInstance): void {
  app.addHook('onRequest', ({ apiKey, routeOptions: { config } }, _reply, done) =>
    done(accessError(apiKey, config)),
  );
}

/**
 * Call it before the routes are registered.
 * @returns what an operation needs, by its operationId
 */
export function collectNeeds(app: FastifyInstance): (operationId: string) => Needs {
  const routes = new Map<unknown, { config?: Needs }>();
  app.addHook('onRoute', (route) => {
    routes.set(route.schema?.operationId, route);
  });
  return (operationId) => routes.get(operationId)?.config ?? {};
}

/** Requires an active key, and sets `apiKey` and `scope`. */
export function authenticate(app: FastifyInstance, { db, keys }: { db: Database; keys: KeyCache }): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const enter = (key: KnownKey | undefined): void => {
      if (key) {
        request.apiKey = key;
        request.scope = scopeTo(db, key.organizationId, callerOf(request));
      }
      done(key ? undefined : new ApiError('UNAUTHORIZED', 'notActive'));
    };
    const presented = presentedKey(request.raw.rawHeaders);
    if (presented === undefined) return done(new ApiError('UNAUTHORIZED', 'noKey'));
    if (!isWellFormedKey(presented)) return done(new ApiError('UNAUTHORIZED', 'incomplete'));
    const found = keys.find(presented);
    if (found instanceof Promise) found.then(enter, (error) => done(beforeWrites(error) as Error));
    else enter(found);
  });
}
