import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler, RouteOptions } from 'fastify';
import { z } from 'zod';

/** A page of a list, as its own end says: the offset of the next page, and the total. */
export type PageEnd = { next: number; total: number };

const PAGINATION = /"limit":(\d+),"offset":(\d+),"total":(\d+)\}\}$/;
const LONGEST_PAGINATION = 90;

function pageEnd(payload: unknown): PageEnd | undefined {
  if (!Buffer.isBuffer(payload)) return undefined;
  const [, limit, offset, total] =
    PAGINATION.exec(payload.subarray(-LONGEST_PAGINATION).toString('latin1')) ?? [];
  return total === undefined ? undefined : { next: Number(offset) + Number(limit), total: Number(total) };
}

/** Runs `work` before a page of the route is sent. A 304 is no page. */
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
  // First: the hook of a HEAD drops the body.
  route.onSend = [hook, route.onSend ?? []].flat();
}

/** The request's own address with another offset: absolute, unless neither the service nor the request knows a host. */
function addressOf(
  { url, protocol, host }: FastifyRequest,
  publicUrl: string | undefined,
  offset: number,
): string {
  // The path of a request may be a whole URL, whose host is the client's word.
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  searchParams.set('offset', String(offset));
  return `${publicUrl ?? (host ? `${protocol}://${host}` : '')}${pathname}?${searchParams}`;
}

/**
 * Gives a page that others follow the address of the next one, as `Link: <…>; rel="next"` (RFC 8288): tools that page by
 * themselves take a list without it for one page. It must come before the routes.
 * @param publicUrl where clients reach the service; undefined: where the request came to
 */
export function linkPages(app: FastifyInstance, publicUrl?: string): void {
  app.addHook('onRoute', (route) => {
    const query = route.schema?.querystring;
    if (!(query instanceof z.ZodObject) || !('offset' in query.shape)) return;
    onPage(route, (request, reply, { next, total }) => {
      if (next < total) reply.header('link', `<${addressOf(request, publicUrl, next)}>; rel="next"`);
    });
  });
}
