import type { FastifyInstance, FastifyRequest, onSendHookHandler } from 'fastify';
import { z } from 'zod';
import type { PageJson } from '../db/index.ts';

/** With the other headers, below 8 KiB. */
const MAX_LINK_BYTES = 5 * 1024;

function pageUrl(
  { url, protocol, host }: FastifyRequest,
  publicUrl: string | undefined,
  known: object,
  offset: number,
): string {
  // A request line may contain an absolute URL, with any host.
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  // Encoding can triple what a client sent: only the parameters of the list are repeated.
  const query = new URLSearchParams([...searchParams].filter(([name]) => Object.hasOwn(known, name)));
  query.set('offset', String(offset));
  return `${publicUrl ?? (host ? `${protocol}://${host}` : '')}${pathname}?${query}`;
}

/**
 * Adds `Link: <…>; rel="next"` (RFC 8288) to every page but the last, if its URL is not too long for a header; and `Date` by
 * the database's clock, which `updatedSince` is compared with. Call it before the routes are registered.
 * @param publicUrl default: the host of the request
 */
export function linkPages(app: FastifyInstance, publicUrl?: string): void {
  app.addHook('onRoute', (route) => {
    const query = route.schema?.querystring;
    if (!(query instanceof z.ZodObject) || !('offset' in query.shape)) return;
    const { shape } = query;
    const link: onSendHookHandler = (request, reply, payload, done) => {
      const { total = 0, readAt } = (payload ?? {}) as Partial<PageJson<unknown>>;
      const { limit, offset } = request.query as { limit: number; offset: number };
      const next = offset + limit;
      if (readAt) reply.header('date', new Date(1_000 * readAt).toUTCString());
      if (reply.statusCode === 200 && next < total) {
        const header = `<${pageUrl(request, publicUrl, shape, next)}>; rel="next"`;
        if (header.length <= MAX_LINK_BYTES) reply.header('link', header);
      }
      done(null, payload);
    };
    // First, because Fastify's hook for HEAD drops the body.
    route.onSend = [link, route.onSend ?? []].flat();
  });
}
