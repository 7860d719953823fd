import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { entityTag } from '../../rules/entity-tag.ts';
import { shared } from '../shared.ts';

const compress = promisify(gzip);

/** `unsafe-inline` is for the styles that Scalar writes. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
  "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** `q=0` rejects the encoding. */
const GZIP = /(?:^|[\s,])(?:gzip|x-gzip|\*)\s*(?=,|$|;)(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

/** Builds and compresses the text once, at the first request. */
export function serveText(
  app: FastifyInstance,
  url: string,
  type: string,
  build: () => string | Promise<string>,
): void {
  const packed = shared(async () => {
    const plain = Buffer.from(await build());
    // Weak, because both forms have it.
    return { plain, gzip: await compress(plain), tag: `W/${entityTag(plain)}` };
  });
  app.get(url, { schema: { hide: true } }, async ({ headers }, reply) => {
    const { plain, gzip, tag } = await packed();
    const isPacked = GZIP.test(headers['accept-encoding']?.toString() ?? '');
    reply.headers({
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'content-type': `${type}; charset=utf-8`,
      ...(isPacked && { 'content-encoding': 'gzip' }),
      etag: tag,
      vary: 'accept-encoding',
    });
    return isPacked ? gzip : plain;
  });
}
