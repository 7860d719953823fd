import type { FastifyInstance } from 'fastify';
import { entityTag } from '../../rules/entity-tag.ts';
import { shared } from '../shared.ts';

/** `unsafe-inline` is for the styles that Scalar writes. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
  "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Builds the text once, at the first request. The proxy compresses it. */
export function serveText(
  app: FastifyInstance,
  url: string,
  type: string,
  build: () => string | Promise<string>,
): void {
  const built = shared(async () => {
    const body = Buffer.from(await build());
    return { body, etag: entityTag(body) };
  });
  app.get(url, { schema: { hide: true } }, async (_request, reply) => {
    const { body, etag } = await built();
    reply.header('content-security-policy', CONTENT_SECURITY_POLICY);
    reply.headers({ 'content-type': `${type}; charset=utf-8`, etag });
    return body;
  });
}
