import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import { entityTag } from '../http/conditional.ts';
import { setCacheControl } from '../http/headers.ts';
import { type Publisher, publishedDocument } from '../http/openapi.ts';

/**
 * The reference page at /docs/: the document, the guide and samples, shown by Scalar without the outside world; and the
 * same as texts for programs. All of it are files of docs/reference/ that `npm run docs` makes (tools/openapi/reference.ts,
 * tools/reference-page.ts).
 */

export type PageOptions = {
  /** The folder of docs/reference/ with the document of the page and its texts. */
  api: 'public' | 'dashboard';
  publisher: Publisher;
};

/** Where examples find the service. The page puts the address that it was read from there. */
export const EXAMPLE_ADDRESS = 'http://localhost:3000';

const INLINE_SCRIPT = /<script(?![^>]*\bsrc=)[^>]*>([\s\S]*?)<\/script>/g;

/** Its own script, the ones written in the page by their hashes, styles, and calls to where it came from. */
function policyOf(html: string): string {
  const hashes = [...html.matchAll(INLINE_SCRIPT)].map(
    ([, script = '']) => `'sha256-${hash('sha256', script, 'base64')}'`,
  );
  return [
    "default-src 'none'",
    `script-src 'self' ${hashes.join(' ')}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

const compressed = promisify(gzip);

type Form = { body: Buffer; tag: string };

/** Whole and compressed, each with its tag: no request pays for either. */
type Kept = { plain: Form; packed: Form };

async function keep(text: string | Buffer): Promise<Kept> {
  const form = (body: Buffer): Form => ({ body, tag: entityTag(body) });
  return { plain: form(Buffer.from(text)), packed: form(await compressed(text, { level: 9 })) };
}

/** Sends the compressed or the plain form, as the client can read it. */
function send(request: FastifyRequest, reply: FastifyReply, type: string, { plain, packed }: Kept): Buffer {
  const isPacked = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
  const { body, tag } = isPacked ? packed : plain;
  reply.type(`${type}; charset=utf-8`).headers({ vary: 'Accept-Encoding', etag: tag });
  if (isPacked) reply.header('content-encoding', 'gzip');
  return body;
}

/** Made at the first request. A fault is not kept: the next request tries again. */
function lazily<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

const fileOf = (name: string): Promise<Buffer> =>
  readFile(new URL(`../../docs/reference/${name}`, import.meta.url));

export const referencePage: FastifyPluginCallback<PageOptions> = (app, { api, publisher }, done) => {
  const { publicUrl, contact } = publisher;
  const page = lazily(async () => {
    const html = await fileOf('page.html');
    return { html: await keep(html), policy: policyOf(html.toString()) };
  });
  const script = lazily(async () => keep(await fileOf('scalar.js')));
  const document = lazily(async () => {
    const text = publishedDocument(`docs/reference/${api}/document.json`, { contact });
    return keep(JSON.stringify(JSON.parse(text)));
  });
  setCacheControl(app, 'document');
  const schema = { hide: true };
  app.get('/docs', { schema }, (_request, reply) => reply.redirect('docs/', 301));
  app.get('/docs/', { schema }, async (request, reply) => {
    const { html, policy } = await page();
    reply.header('content-security-policy', policy);
    return send(request, reply, 'text/html', html);
  });
  app.get('/docs/scalar.js', { schema }, async (request, reply) =>
    send(request, reply, 'text/javascript', await script()),
  );
  app.get('/docs/document.json', { schema }, async (request, reply) =>
    send(request, reply, 'application/json', await document()),
  );
  /** A text with the address of the service in its examples and links. */
  const serveText = (url: string, name: string, type: string): void => {
    const text = lazily(async () => (await fileOf(`${api}/${name}`)).toString());
    app.get(url, { schema }, async ({ protocol, host }, reply) => {
      const address = publicUrl ?? (host ? `${protocol}://${host}` : EXAMPLE_ADDRESS);
      reply.type(`${type}; charset=utf-8`);
      // A function: in a text, `$` would have a meaning.
      return (await text()).replaceAll(EXAMPLE_ADDRESS, () => address);
    });
  };
  serveText('/llms.txt', 'llms.txt', 'text/plain');
  // The guide is about /v1.
  if (api === 'public') serveText('/docs/guide.md', 'guide.txt', 'text/markdown');
  done();
};
