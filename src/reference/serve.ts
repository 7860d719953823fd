import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { entityTag } from '../../rules/entity-tag.ts';
import { once } from '../http/once.ts';

const compress = promisify(gzip);

/** `unsafe-inline` is for the styles that Scalar writes. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
  "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Builds and compresses the text at the first request. */
export function serveText(
  app: FastifyInstance,
  url: string,
  type: string,
  build: () => string | Promise<string>,
): void {
  const packed = once(async () => {
    const bytes = await compress(await build());
    // Weak, because the compressed and the plain form share it.
    return { bytes, tag: `W/${entityTag(bytes)}` };
  });
  app.get(url, { schema: { hide: true } }, async (_request, reply) => {
    const { bytes, tag } = await packed();
    reply.headers({
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'content-type': `${type}; charset=utf-8`,
      etag: tag,
      vary: 'accept-encoding',
    });
    return bytes;
  });
}
