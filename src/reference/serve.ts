import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { entityTag } from '../../rules/entity-tag.ts';

const compress = promisify(gzip);

/** Scalar writes styles into its page. Nothing else is inline, and everything comes from the service itself. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
  "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Builds a value at the first call. Simultaneous calls share the promise; after an error the next call builds again. */
export function once<Value>(build: () => Promise<Value>): () => Promise<Value> {
  let pending: Promise<Value> | undefined;
  return () => {
    pending ??= build().catch((error) => {
      pending = undefined;
      throw error;
    });
    return pending;
  };
}

/** Serves a text that is built and compressed at the first request. @fastify/compress says so, or inflates it. */
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
