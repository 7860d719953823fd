import type { FastifyInstance } from 'fastify';

export const commonHeaders = (requestId: string): Record<string, string> => ({
  'x-request-id': requestId,
  'x-content-type-options': 'nosniff',
});

/** `no-cache` lets a client store the response, but revalidate it (304) before each use. */
const CACHE_CONTROL = {
  data: { 'cache-control': 'private, no-cache', vary: 'Authorization, x-api-key' },
  document: { 'cache-control': 'public, no-cache' },
  credential: { 'cache-control': 'no-store' },
} as const;

export const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Sets what every response of a kind has, including errors: data is JSON, which routes return as bytes. Call it before any hook that
 * can reject a request.
 */
export function setHeaders(app: FastifyInstance, kind: keyof typeof CACHE_CONTROL): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(CACHE_CONTROL[request.routeOptions.config.credential ? 'credential' : kind]);
    if (kind === 'data') reply.type(JSON_TYPE);
    done();
  });
}

export const isCacheable = (cacheControl: unknown): boolean =>
  cacheControl !== undefined && cacheControl !== CACHE_CONTROL.credential['cache-control'];
