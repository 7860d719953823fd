import type { FastifyInstance } from 'fastify';

/** Headers about the answer itself: its request id, its type, and who may cache it. */

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The answers contain a key or a signed link. Nobody may cache them. */
    credential?: true;
  }
}

/** The headers of every answer. `nosniff` tells browsers to trust its content type. */
export const commonHeaders = (requestId: string): Record<string, string> => ({
  'x-request-id': requestId,
  'x-content-type-options': 'nosniff',
});

/**
 * Data: only the client may keep it. Documents: anybody may. Both must be asked for again before use (`no-cache`),
 * and a 304 is then the answer. Credentials: nobody may keep them.
 */
const CACHE_CONTROL = {
  data: { 'cache-control': 'private, no-cache', vary: 'Authorization, x-api-key' },
  document: { 'cache-control': 'public, no-cache' },
  credential: { 'cache-control': 'no-store' },
} as const;

/** Sets Cache-Control on every answer of these routes, errors too. Register it before any hook that can refuse a request. */
export function setCacheControl(app: FastifyInstance, answers: keyof typeof CACHE_CONTROL): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(CACHE_CONTROL[request.routeOptions.config.credential ? 'credential' : answers]);
    done();
  });
}

/** Whether a client may keep an answer with this Cache-Control. An answer without one has no tag. */
export const isCacheable = (cacheControl: unknown): boolean =>
  cacheControl !== undefined && cacheControl !== CACHE_CONTROL.credential['cache-control'];
