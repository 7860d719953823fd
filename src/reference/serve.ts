import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { entityTag } from '../../rules/entity-tag.ts';

/** Texts for readers: whole and compressed, each with its tag, so that no request but the first pays for either. */

export type Text = { type: string; body: string; headers?: Record<string, string> };

type Form = { body: Buffer; tag: string };
type Kept = { plain: Form; packed: Form; headers: Record<string, string> };

const compressed = promisify(gzip);

async function keep({ type, body, headers }: Text): Promise<Kept> {
  const form = (bytes: Buffer): Form => ({ body: bytes, tag: entityTag(bytes) });
  return {
    plain: form(Buffer.from(body)),
    packed: form(await compressed(body)),
    headers: { ...headers, 'content-type': `${type}; charset=utf-8`, vary: 'Accept-Encoding' },
  };
}

/** The compressed or the plain form, as the client can read it. */
function send(request: FastifyRequest, reply: FastifyReply, { plain, packed, headers }: Kept): Buffer {
  const isPacked = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
  const { body, tag } = isPacked ? packed : plain;
  reply.headers({ ...headers, etag: tag, ...(isPacked && { 'content-encoding': 'gzip' }) });
  return body;
}

/** Serves a text that is made at the first request. */
export function serveText(app: FastifyInstance, url: string, make: () => Text | Promise<Text>): void {
  let kept: Kept | undefined;
  app.get(url, { schema: { hide: true } }, async (request, reply) => {
    kept ??= await keep(await make());
    return send(request, reply, kept);
  });
}

/** Where examples find the service. Readers get the address that they read them from. */
export const EXAMPLE_ADDRESS = 'http://localhost:3000';

/**
 * Serves a text that names the address of the service. It is kept for one address: few services have a second one.
 * @param publicUrl the address, where it is known; else the request says it
 */
export function serveAddressed(
  app: FastifyInstance,
  url: string,
  publicUrl: string | undefined,
  make: (address: string) => Promise<Text>,
): void {
  let last: { address: string; kept: Kept } | undefined;
  app.get(url, { schema: { hide: true } }, async (request, reply) => {
    const { protocol, host } = request;
    const address = publicUrl ?? (host ? `${protocol}://${host}` : EXAMPLE_ADDRESS);
    const known = last?.address === address ? last : { address, kept: await keep(await make(address)) };
    last = known;
    return send(request, reply, known.kept);
  });
}
