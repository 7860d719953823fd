import { hash } from 'node:crypto';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { gunzip, gzip } from 'node:zlib';
import type { FastifyApiReferenceOptions } from '@scalar/fastify-api-reference';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { guideText } from './guide.ts';
import { clientSample } from './samples.ts';

/** The reference page at /docs/: the document, the guide and samples, shown by Scalar without the outside world. */

export type ScalarConfiguration = NonNullable<FastifyApiReferenceOptions['configuration']>;

/** What the thread hands back. The script is compressed. */
export type RenderedPage = { html: string; script: Uint8Array };

export type PageOptions = {
  title: string;
  /** The document as it is served. */
  document: () => string;
  /** Whether the page has the guide and samples of the client, which are about /v1. */
  hasGuide: boolean;
  /** Where clients reach the service, for what the page tells them to type. */
  publicUrl: string | undefined;
};

const OTHER_LANGUAGES =
  'c clojure csharp dart fsharp go http java js julia kotlin node objc ocaml php powershell r ruby rust swift'.split(
    ' ',
  );

/** Scalar knows thirty ways to send a request; these two are shown beside our own client. */
const HIDDEN_CLIENTS: ScalarConfiguration['hiddenClients'] = {
  shell: ['wget', 'httpie'],
  python: ['python3', 'httpx_sync', 'httpx_async', 'aiohttp'],
  ...Object.fromEntries(OTHER_LANGUAGES.map((language) => [language, true])),
};

/** An arrow: Scalar would ask for /favicon.ico otherwise. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%230f766e' d='M1 8l14-6-5 13-2-5z'/%3E%3C/svg%3E";

/** The name of Scalar's maker is in its licence, which is in the image; readers look for the agency's. */
const CSS = '.darklight-reference a[href^="https://www.scalar.com"] { display: none; }';

/** Nothing is asked of other hosts, and the key is in no storage of the browser: it is gone with the page. */
const configuration = (pageTitle: string): ScalarConfiguration => ({
  pageTitle,
  url: 'document.json',
  cdn: 'scalar.js',
  customCss: CSS,
  favicon: ICON,
  hiddenClients: HIDDEN_CLIENTS,
  orderSchemaPropertiesBy: 'preserve',
  documentDownloadType: 'none',
  showDeveloperTools: 'never',
  hideClientButton: true,
  withDefaultFonts: false,
  persistAuth: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
});

async function render(pageTitle: string): Promise<RenderedPage> {
  const worker = new Worker(new URL('scalar-worker.ts', import.meta.url), {
    workerData: configuration(pageTitle),
  });
  const [rendered] = (await once(worker, 'message')) as [RenderedPage];
  return rendered;
}

type Operation = { operationId: string; requestBody?: { content: Record<string, { example: unknown }> } };

type OpenApi = {
  info: { title: string; description: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
};

/** The document as the page shows it. It calls the host it was read from: another one would refuse the browser. */
function pageDocument({ document, hasGuide, publicUrl }: PageOptions): string {
  const shown = JSON.parse(document()) as OpenApi;
  const { pathname } = new URL(publicUrl ?? 'http://localhost');
  shown.servers = [{ url: pathname }];
  if (!hasGuide) return JSON.stringify(shown);
  shown.info.description = guideText(publicUrl);
  for (const operation of Object.values(shown.paths).flatMap((path) => Object.values(path))) {
    const { example } = operation.requestBody?.content['application/json'] ?? {};
    const source = clientSample(operation.operationId, example, publicUrl);
    Object.assign(operation, { 'x-codeSamples': [{ lang: 'JavaScript', label: 'JavaScript', source }] });
  }
  return JSON.stringify(shown);
}

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
const plain = promisify(gunzip);

/** Sends what is kept compressed, as the client can read it. */
async function send(request: FastifyRequest, reply: FastifyReply, type: string, body: Uint8Array) {
  reply.type(`${type}; charset=utf-8`).header('vary', 'Accept-Encoding');
  if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return plain(body);
  reply.header('content-encoding', 'gzip');
  return Buffer.from(body);
}

/** Made by the first who asks. A fault is not kept: the next one tries again. */
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

export function referencePage(app: FastifyInstance, options: PageOptions): void {
  const page = lazily(async () => {
    const { html, script } = await render(options.title);
    return { html: await compressed(html), script, policy: policyOf(html) };
  });
  const document = lazily(() => compressed(pageDocument(options)));
  const schema = { hide: true };
  app.get('/docs', { schema }, (_request, reply) => reply.redirect('docs/', 301));
  app.get('/docs/', { schema }, async (request, reply) => {
    const { html, policy } = await page();
    reply.header('content-security-policy', policy);
    return send(request, reply, 'text/html', html);
  });
  app.get('/docs/scalar.js', { schema }, async (request, reply) =>
    send(request, reply, 'text/javascript', (await page()).script),
  );
  app.get('/docs/document.json', { schema }, async (request, reply) =>
    send(request, reply, 'application/json', await document()),
  );
}
