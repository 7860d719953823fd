import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { entityTag } from '../http/conditional.ts';
import { EXAMPLE_ADDRESS, guideForPage, guideText } from './guide.ts';
import { clientSample } from './samples.ts';

/**
 * The reference page at /docs/: the document, the guide and samples, shown by Scalar without the outside world. Its HTML
 * and Scalar itself are files that `npm run docs` makes (tools/reference-page.ts).
 */

export type PageOptions = {
  title: string;
  /** The document as it is served. */
  document: () => string;
  /** Whether the page has the guide and samples of the client, which are about /v1. */
  hasGuide: boolean;
  /** Where clients reach the service. Without it: where they read from. */
  publicUrl: string | undefined;
};

type Operation = {
  operationId: string;
  parameters?: { in: string; example?: unknown }[];
  requestBody?: { content: Record<string, { example: unknown }> };
};

type OpenApi = {
  info: { title: string; description: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
};

const DOCUMENT_LINK = 'The [OpenAPI document](../openapi.json) is what clients are made of.';
const GUIDE_LINK = 'The [guide as one text](guide.md) is for programs and agents.';

/** The document as the page shows it. For the example address, the page puts the one that it was read from. */
function pageDocument({ document, hasGuide }: PageOptions): string {
  const shown = JSON.parse(document()) as OpenApi;
  shown.servers = [{ url: EXAMPLE_ADDRESS }];
  const operations = Object.values(shown.paths).flatMap((path) => Object.values(path));
  // The page fills its form with examples, and sends what is there: an If-Match of no record, or always one Idempotency-Key.
  for (const parameter of operations.flatMap(({ parameters = [] }) => parameters))
    if (parameter.in === 'header') delete parameter.example;
  if (!hasGuide) {
    shown.info.description += `\n\n${DOCUMENT_LINK}`;
    return JSON.stringify(shown);
  }
  // Behind the first heading: Scalar shows each chapter in the sidebar by itself only when the text starts with one.
  shown.info.description = guideForPage().replace('\n', `\n\n${DOCUMENT_LINK} ${GUIDE_LINK}\n`);
  for (const operation of operations) {
    const { example } = operation.requestBody?.content['application/json'] ?? {};
    const source = clientSample(operation.operationId, example);
    Object.assign(operation, { 'x-codeSamples': [{ lang: 'JavaScript', label: 'JavaScript', source }] });
  }
  return JSON.stringify(shown);
}

/** The text of /llms.txt: agents look there for what they can read. */
const llmsText = ({ title, hasGuide }: PageOptions, address: string): string =>
  [
    `# ${title}`,
    '',
    ...(hasGuide
      ? [`- [Guide](${address}/docs/guide.md): how to use the API, all chapters as one text`]
      : []),
    `- [OpenAPI document](${address}/openapi.json): every operation with its fields, limits and errors`,
    `- [Reference page](${address}/docs/): the same for people`,
    '',
  ].join('\n');

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

export function referencePage(app: FastifyInstance, options: PageOptions): void {
  const page = lazily(async () => {
    const html = await fileOf('page.html');
    return { html: await keep(html), policy: policyOf(html.toString()) };
  });
  const script = lazily(async () => keep(await fileOf('scalar.js')));
  const document = lazily(() => keep(pageDocument(options)));
  const addressOf = ({ protocol, host }: FastifyRequest): string =>
    options.publicUrl ?? (host ? `${protocol}://${host}` : EXAMPLE_ADDRESS);
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
  app.get('/llms.txt', { schema }, (request, reply) =>
    reply.type('text/plain; charset=utf-8').send(llmsText(options, addressOf(request))),
  );
  if (options.hasGuide)
    app.get('/docs/guide.md', { schema }, (request, reply) =>
      reply.type('text/markdown; charset=utf-8').send(guideText(addressOf(request))),
    );
}
