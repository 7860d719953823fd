import { readFile } from 'node:fs/promises';
import type { FastifyPluginCallback } from 'fastify';
import { setCacheControl } from '../http/headers.ts';
import { chapterPage } from './chapter.ts';
import { CHAPTERS, guideText } from './guide.ts';
import { scalarPage } from './scalar.ts';
import { serveAddressed, serveText } from './serve.ts';

/** What people and programs read of an API: its OpenAPI document, the reference page, and the guide. */

export type ReferenceOptions = {
  title: string;
  /** The OpenAPI document, as it is published. */
  document: () => string;
  /** The address of the service, where it is known. */
  publicUrl?: string | undefined;
  /** The guide is about /v1. */
  hasGuide: boolean;
};

/** An arrow. Browsers ask for it by this name. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#0f766e" d="M1 8l14-6-5 13-2-5z"/></svg>';

/** The text of /llms.txt: agents look there for what they can read. */
const llmsText = (title: string, address: string, hasGuide: boolean): string =>
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

const fileOf = (name: string): Promise<string> => readFile(new URL(name, import.meta.url), 'utf8');

export const referenceRoutes: FastifyPluginCallback<ReferenceOptions> = (app, options, done) => {
  const { title, document, publicUrl, hasGuide } = options;
  setCacheControl(app, 'document');
  const redirect = (from: string, to: string): void => {
    app.get(from, { schema: { hide: true } }, (_request, reply) => reply.redirect(to, 301));
  };

  // Programs that ask for no page learn that there is none.
  app.get('/', { schema: { hide: true } }, (request, reply) =>
    request.headers.accept?.includes('text/html')
      ? reply.header('vary', 'Accept').redirect(hasGuide ? 'docs/guide/start' : 'docs/')
      : reply.callNotFound(),
  );
  serveText(app, '/favicon.ico', () => ({ type: 'image/svg+xml', body: ICON }));
  serveText(app, '/openapi.json', () => ({ type: 'application/json', body: document() }));
  serveAddressed(app, '/llms.txt', publicUrl, async (address) => ({
    type: 'text/plain',
    body: llmsText(title, address, hasGuide),
  }));

  let loading: ReturnType<typeof scalarPage> | undefined;
  const scalar = () => {
    loading ??= scalarPage(title);
    return loading;
  };
  redirect('/docs', 'docs/');
  serveText(app, '/docs/', async () => (await scalar()).page);
  serveText(app, '/docs/js/scalar.js', async () => (await scalar()).script);

  if (hasGuide) {
    serveAddressed(app, '/docs/guide.md', publicUrl, async (address) => ({
      type: 'text/markdown',
      body: await guideText(address),
    }));
    redirect('/docs/guide', 'guide/start');
    redirect('/docs/guide/', 'start');
    serveText(app, '/docs/guide/guide.css', async () => ({
      type: 'text/css',
      body: await fileOf('guide.css'),
    }));
    serveText(app, '/docs/guide/guide.js', async () => ({
      type: 'text/javascript',
      body: await fileOf('guide.js'),
    }));
    for (const chapter of CHAPTERS)
      serveAddressed(app, `/docs/guide/${chapter}`, publicUrl, (address) =>
        chapterPage(chapter, title, address),
      );
  }
  done();
};
