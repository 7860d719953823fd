import { readFileSync } from 'node:fs';
import scalar, { type FastifyApiReferenceOptions } from '@scalar/fastify-api-reference';
import fastify from 'fastify';
import { EXAMPLE_ADDRESS } from '../src/reference/page.ts';
import type { GeneratedDocument } from './generated-documents.ts';

/** The two files of the reference page: Scalar as its package serves it, and the HTML that starts it. */

type ScalarConfiguration = NonNullable<FastifyApiReferenceOptions['configuration']>;

const OTHER_LANGUAGES =
  'c clojure dart fsharp http js julia kotlin node objc ocaml powershell r rust swift'.split(' ');

/** Scalar knows forty ways to send a request. One of each of these languages is shown beside our own client. */
const HIDDEN_CLIENTS: ScalarConfiguration['hiddenClients'] = {
  shell: ['wget', 'httpie'],
  python: ['python3', 'httpx_sync', 'httpx_async', 'aiohttp'],
  php: ['guzzle', 'laravel'],
  csharp: ['restsharp'],
  java: ['asynchttp', 'okhttp', 'unirest'],
  ...Object.fromEntries(OTHER_LANGUAGES.map((language) => [language, true])),
};

/** An arrow: the browser would ask for /favicon.ico otherwise. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%230f766e' d='M1 8l14-6-5 13-2-5z'/%3E%3C/svg%3E";

/**
 * The name of Scalar's maker is in its licence, at the head of its script; readers look for the agency's. Each of these
 * colours has a contrast of 4.5 at least with what it stands on; some of Scalar's have less.
 */
const CSS = `
.darklight-reference a[href^="https://www.scalar.com"] { display: none; }
body.light-mode {
  --scalar-color-2: #5c5c5c; --scalar-color-3: #626262;
  --scalar-color-blue: #0063a8; --scalar-color-green: #00703f; --scalar-color-orange: #b23c00;
  --scalar-color-red: #c20000; --scalar-color-yellow: #7a5c00;
}
body.dark-mode, body .dark-mode { --scalar-color-3: #9a9a9a; --scalar-color-red: #ff6b6b; }
.markdown pre { position: relative; }
.guide-copy {
  position: absolute; top: 6px; right: 6px; padding: 2px 8px; opacity: 0; cursor: pointer; font-size: 12px;
  color: var(--scalar-color-1); background: var(--scalar-background-1);
  border: 1px solid var(--scalar-border-color); border-radius: 4px;
}
.markdown pre:hover .guide-copy, .guide-copy:focus { opacity: 1; }
@media (hover: none) { .guide-copy { opacity: 1; } }
`;

/** Nothing is asked of other hosts, and the key is in no storage of the browser: it is gone with the page. */
const CONFIGURATION: ScalarConfiguration = {
  customCss: CSS,
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
};

const REPAIRS = readFileSync(new URL('./page/repairs.js', import.meta.url), 'utf8').trim();

/** The page calls the host that it was read from, and says so: the browser would refuse another one. */
const HTML = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>API reference</title>
    <link rel="icon" href="${ICON}" />
  </head>
  <body>
    <noscript>This page needs scripts. Without them, read <a href="../llms.txt">llms.txt</a>.</noscript>
    <div id="app"></div>
    <script src="scalar.js"></script>
    <script type="module">
      const address = new URL('..', location.href).href.replace(/\\/$/, '');
      const text = await (await fetch('document.json')).text();
      const content = JSON.parse(text.replaceAll('${EXAMPLE_ADDRESS}', address));
      document.title = content.info.title;
      Scalar.createApiReference('#app', { ...${JSON.stringify(CONFIGURATION)}, content });
    </script>
    <script type="module">
${REPAIRS}
    </script>
  </body>
</html>
`;

export async function referenceFiles(): Promise<GeneratedDocument[]> {
  const app = fastify();
  await app.register(scalar, { routePrefix: '/docs', configuration: { url: 'document.json' } });
  const { body } = await app.inject('/docs/js/scalar.js');
  await app.close();
  const licence = readFileSync(
    new URL('./node_modules/@scalar/fastify-api-reference/LICENSE', import.meta.url),
    'utf8',
  );
  return [
    { path: 'docs/reference/page.html', render: () => HTML },
    { path: 'docs/reference/scalar.js', render: () => `/*!\n${licence.trim()}\n*/\n${body}` },
  ];
}
