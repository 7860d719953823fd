import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler, RouteOptions } from 'fastify';
import { z } from 'zod';

/** Read from the end of the JSON text, which the database has generated: `next` is the offset of the next page. */
export type PageEnd = { next: number; total: number };

const PAGINATION = /"limit":(\d+),"offset":(\d+),"total":(\d+)\}\}$/;
const LONGEST_PAGINATION = 90;

function pageEnd(payload: unknown): PageEnd | undefined {
  if (!Buffer.isBuffer(payload)) return undefined;
  const [, limit, offset, total] =
    PAGINATION.exec(payload.subarray(-LONGEST_PAGINATION).toString('latin1')) ?? [];
  return total === undefined ? undefined : { next: Number(offset) + Number(limit), total: Number(total) };
}

export function onPage(
  route: RouteOptions,
  work: (request: FastifyRequest, reply: FastifyReply, page: PageEnd) => Promise<void> | void,
): void {
  const hook: onSendHookHandler = (request, reply, payload, done) => {
    const page = reply.statusCode === 200 ? pageEnd(payload) : undefined;
    const pending = page && work(request, reply, page);
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
    onPage(route, (request, reply, { next, total }) => {
      if (next < total) reply.header('link', `<${pageUrl(request, publicUrl, next)}>; rel="next"`);
    });
  });
}
