import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler, RouteOptions } from 'fastify';
import { z } from 'zod';
import type { PageJson } from '../db/index.ts';

export function onPage(
  route: RouteOptions,
  work: (request: FastifyRequest, reply: FastifyReply, total: number) => Promise<void> | void,
): void {
  const hook: onSendHookHandler = (request, reply, payload, done) => {
    const total = (payload as PageJson<unknown> | null | undefined)?.total;
    const pending = reply.statusCode === 200 && total !== undefined && work(request, reply, total);
    if (pending) pending.then(() => done(null, payload), done);
    else done(null, payload);
  };
  // First, because Fastify's hook for HEAD drops the body.
  route.onSend = [hook, route.onSend ?? []].flat();
}

function pageUrl(
  { url, protocol, host }: FastifyRequest,
  publicUrl: string | undefined,
  offset: number,
): string {
  // A request line may contain an absolute URL, with any host.
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  searchParams.set('offset', String(offset));
  return `${publicUrl ?? (host ? `${protocol}://${host}` : '')}${pathname}?${searchParams}`;
}

/**
 * Adds `Link: <…>; rel="next"` (RFC 8288) to every page but the last. Call it before the routes are registered.
 * @param publicUrl default: the host of the request
 */
export function linkPages(app: FastifyInstance, publicUrl?: string): void {
  app.addHook('onRoute', (route) => {
    const query = route.schema?.querystring;
    if (!(query instanceof z.ZodObject) || !('offset' in query.shape)) return;
    onPage(route, (request, reply, total) => {
      const { limit, offset } = request.query as { limit: number; offset: number };
      const next = offset + limit;
      if (next < total) reply.header('link', `<${pageUrl(request, publicUrl, next)}>; rel="next"`);
    });
  });
}
