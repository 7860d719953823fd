import type { FastifyInstance } from 'fastify';

/** What answers say of themselves: who asked, how to read them, and who may keep them. */

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The answers have a key or a signed link in them: nobody may keep them. */
    credential?: true;
  }
}

/** The headers of every answer, whoever writes it. Browsers are told not to take it for anything but its type. */
export const everyAnswer = (requestId: string): Record<string, string> => ({
  'x-request-id': requestId,
  'x-content-type-options': 'nosniff',
});

/**
 * Kept by the client alone and asked for again each time; kept by anybody and asked for again; kept by nobody. `no-cache`
 * means that it may be kept and must be asked for: a 304 is then the answer.
 */
const CACHE_CONTROL = {
  data: { 'cache-control': 'private, no-cache', vary: 'Authorization, x-api-key' },
  document: { 'cache-control': 'public, no-cache' },
  credential: { 'cache-control': 'no-store' },
} as const;

/** Says on every answer of these routes, errors included, who may keep it. Register before what can refuse a request. */
export function setCacheControl(app: FastifyInstance, answers: keyof typeof CACHE_CONTROL): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(CACHE_CONTROL[request.routeOptions.config.credential ? 'credential' : answers]);
    done();
  });
}

/** Whether an answer with this Cache-Control can be asked for again. Without one, nothing is said of it. */
export const isCacheable = (cacheControl: unknown): boolean =>
  cacheControl !== undefined && cacheControl !== CACHE_CONTROL.credential['cache-control'];
