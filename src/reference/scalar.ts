import { hash } from 'node:crypto';
import type { FastifyApiReferenceOptions } from '@scalar/fastify-api-reference';
import fastify from 'fastify';
import type { Text } from './serve.ts';

/** The reference page: Scalar as its package serves it, told to ask nobody else and to keep no key. */

type Configuration = NonNullable<FastifyApiReferenceOptions['configuration']>;

const OTHER_LANGUAGES = 'c clojure dart fsharp http julia kotlin objc ocaml powershell r rust swift'.split(
  ' ',
);

/** Scalar knows forty ways to send a request. One of each of these languages is shown. */
const HIDDEN_CLIENTS: Configuration['hiddenClients'] = {
  shell: ['wget', 'httpie'],
  js: ['xhr', 'axios', 'jquery', 'ofetch'],
  node: true,
  python: ['python3', 'httpx_sync', 'httpx_async', 'aiohttp'],
  php: ['guzzle', 'laravel'],
  csharp: ['restsharp'],
  java: ['asynchttp', 'okhttp', 'unirest'],
  ...Object.fromEntries(OTHER_LANGUAGES.map((language) => [language, true])),
};

/**
 * Says that something comes before the script is there, and gives each colour a contrast of 4.5 at least. The name of
 * Scalar's maker is in its licence; readers look for the agency's.
 */
const CSS = `
#app:empty::before { content: 'The reference is loading.'; display: block; padding: 2rem; font-family: sans-serif; }
a[href*="scalar.com"], .ascii-art { display: none !important; }
body.light-mode {
  --scalar-color-2: #5c5c5c; --scalar-color-3: #626262;
  --scalar-color-blue: #0063a8; --scalar-color-green: #00703f; --scalar-color-orange: #b23c00;
  --scalar-color-red: #c20000; --scalar-color-yellow: #7a5c00;
}
body.dark-mode, body .dark-mode { --scalar-color-3: #9a9a9a; --scalar-color-red: #ff6b6b; }
`;

const configuration = (title: string): Configuration => ({
  pageTitle: title,
  url: '../openapi.json',
  customCss: CSS,
  hiddenClients: HIDDEN_CLIENTS,
  orderSchemaPropertiesBy: 'preserve',
  documentDownloadType: 'none',
  showDeveloperTools: 'never',
  hideClientButton: true,
  withDefaultFonts: false,
  persistAuth: false,
  proxyUrl: '',
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
});

const INLINE_SCRIPT = /<script(?![^>]*\bsrc=)[^>]*>([\s\S]*?)<\/script>/g;

/** Its own scripts, the ones written in a page by their hashes, styles, and calls to where it came from. */
function policyOf(html: string): string {
  const hashes = [...html.matchAll(INLINE_SCRIPT)].map(
    ([, script = '']) => ` 'sha256-${hash('sha256', script, 'base64')}'`,
  );
  return [
    "default-src 'none'",
    `script-src 'self'${hashes.join('')}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

export const htmlText = (body: string): Text => ({
  type: 'text/html',
  body,
  headers: { 'content-security-policy': policyOf(body) },
});

/**
 * The page and its script. The package is loaded when they are first asked for, and not at the start of the service: that
 * takes 0.2 s of processor time and 50 MB. It sends neither a policy nor anything compressed, so its answers are kept here.
 */
export async function scalarPage(title: string): Promise<{ page: Text; script: Text }> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const app = fastify();
  app.register(scalar, { routePrefix: '/', configuration: configuration(title) });
  const { body: html } = await app.inject('/');
  const { body: script } = await app.inject('/js/scalar.js');
  await app.close();
  return {
    page: htmlText(html.replace('<html>', '<html lang="en">')),
    script: { type: 'text/javascript', body: script },
  };
}
