import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeApi } from '../src/openapi/document.ts';
import { CHAPTERS } from '../src/reference/guide.ts';
import { describedApp } from '../tools/generated-documents.ts';
import { README } from './support/documents.ts';

/** The documentation that the service serves: the guide as a page and as a text, and the reference page. */

let app: FastifyInstance;
beforeAll(async () => {
  app = await describedApp();
});
afterAll(() => app?.close());

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });

const HOST = { host: 'crm.agency.test:8080' };
const GZIP = { 'accept-encoding': 'gzip, deflate, br' };
const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, group]) => String(group));

/** The text that a browser displays: without tags, with entities resolved. */
const textOf = (html: string): string =>
  html
    .replace(/<\/t[hd]>/g, ' ')
    .replace(/<[^>]+>/g, '')
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

test('the root redirects browsers to the guide, and is no operation for programs', async () => {
  const browser = await get('/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
  expect(browser).toMatchObject({
    statusCode: 302,
    headers: { location: 'docs/guide', vary: 'Accept' },
  });
  const program = await get('/', { accept: '*/*' });
  expect([program.statusCode, program.json().error.code]).toEqual([404, 'ROUTE_NOT_FOUND']);
});

test.each([
  ['/docs', 'docs/'],
  ['/docs/guide/', '../guide'],
  ['/docs/guide/errors', '../guide#errors'],
])('%s redirects to the relative address %s', async (url, location) => {
  expect(await get(url)).toMatchObject({ statusCode: 301, headers: { location } });
});

describe('the guide', () => {
  let html = '';
  beforeAll(async () => {
    html = (await get('/docs/guide')).body;
  });

  test('has all chapters in the order of README, all words of their Markdown, and says first what the service is', () => {
    expect(all(README, /\[(\w+)\]\(docs\/guide\//g).map((title) => title.toLowerCase())).toEqual(CHAPTERS);
    const [header = '', main = ''] = html.split('<main>');
    expect(all(header, /class="level-1"><a href="#([\w-]+)"/g)).toEqual(CHAPTERS);
    expect(textOf(header)).toContain('Programs and AI agents read and write the data of one travel agency');
    const words = (text: string) => text.match(/[\p{L}\p{N}]+/gu) ?? [];
    const markdown = CHAPTERS.map((chapter) =>
      readFileSync(new URL(`../docs/guide/${chapter}.md`, import.meta.url), 'utf8')
        .replace(/^```(\w+).*$/gm, '')
        .replace(/^<!-- .* -->$/gm, '')
        .replace(/\]\([^)]*\)/g, ']')
        .replace(/^\d+\. /gm, ''),
    );
    expect(words(textOf(main))).toEqual(words(markdown.join('\n')));
  });

  test('has links to headings that exist, each once, and to no other site', () => {
    const ids = all(html, / id="([^"]+)"/g);
    expect(ids).toEqual([...new Set(ids)]);
    const links = all(html, /<a [^>]*href="([^"]+)"/g);
    expect(links.length).toBeGreaterThan(100);
    for (const link of links)
      if (link.startsWith('#')) expect(ids, link).toContain(link.slice(1));
      else expect(['./', '../openapi.json', 'guide.md']).toContain(link);
    expect(all(html, /(?:src|<link[^>]*href)="([^"]+)"/g)).toEqual(['../favicon.ico']);
    expect(html).not.toMatch(/\son\w+=|style=/);
  });

  test('has the public address, or the port that the service listens on, whatever Host a client sends', async () => {
    const listening = await describedApp();
    const { port } = new URL(await listening.listen({ host: '127.0.0.1', port: 0 }));
    for (const path of ['/docs/guide', '/docs/guide.md', '/llms.txt']) {
      const text = textOf((await listening.inject({ url: path, headers: HOST })).body);
      expect(text).toContain(`http://localhost:${port}/`);
      expect(text).not.toMatch(/localhost:3000|agency\.test/);
    }
    await listening.close();
    const publicUrl = "https://api.agency.example/$'";
    const published = await describedApp({ publicUrl });
    const { body } = await published.inject({ url: '/docs/guide', headers: HOST });
    await published.close();
    expect(textOf(body)).toContain(`curl -s '${publicUrl}/v1/`);
    expect(body).not.toContain('localhost:3000');
  });

  test('is also one text for programs, to which llms.txt links', async () => {
    const { body: text } = await get('/docs/guide.md');
    expect(all(text, /^#+ (.+)$/gm)).toEqual(expect.arrayContaining(['Start', 'The codes', 'Agents']));
    expect(text).not.toMatch(/^```\w+ /m);
    const { body, headers } = await get('/llms.txt', HOST);
    expect(headers['content-type']).toBe('text/plain; charset=utf-8');
    for (const path of ['docs/guide.md', 'docs/guide/changes', 'mcp', 'openapi.json', 'docs/'])
      expect(body).toContain(`](http://localhost:3000/${path}): `);
  });
});

describe('the reference page', () => {
  test('loads only its own script, and forbids the browser to load anything else', async () => {
    const { statusCode, body, headers } = await get('/docs/');
    expect(statusCode).toBe(200);
    expect(all(body, /<(?:script|link|img)[^>]*(?:src|href)="([^"]+)"/g)).toEqual([
      '../favicon.ico',
      'js/scalar.js',
    ]);
    expect(body).not.toMatch(/https?:\/\//);
    const policy = String(headers['content-security-policy']);
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; /);
    expect(policy).toContain("connect-src 'self'");
    expect(all(textOf(body), /(guide|OpenAPI document)/g)).toEqual(['guide', 'OpenAPI document']);
  });

  test('has the script of Scalar', async () => {
    expect((await get('/docs/js/scalar.js')).body).toContain('createApiReference');
  });

  test('is configured to send no request to other servers, and to store no key', async () => {
    const [configuration = ''] = all((await get('/docs/')).body, /data-configuration="([^"]*)"/g);
    expect(JSON.parse(textOf(configuration))).toMatchObject({
      url: '../openapi.json',
      servers: [{ url: '/' }],
      telemetry: false,
      withDefaultFonts: false,
      persistAuth: false,
      proxyUrl: '',
      agent: { disabled: true },
      mcp: { disabled: true },
    });
  });
});

test.each(['/docs/js/scalar.js', '/docs/', '/docs/guide', '/openapi.json', '/favicon.ico'])(
  '%s has the same content with and without compression',
  async (url) => {
    const packed = await get(url, GZIP);
    expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
    expect(packed.rawPayload.length).toBeLessThan(1_500_000);
    for (const accept of ['identity', 'gzip;q=0']) {
      const plain = await get(url, { 'accept-encoding': accept });
      expect(plain.headers).not.toHaveProperty('content-encoding');
      expect(gunzipSync(packed.rawPayload).equals(plain.rawPayload)).toBe(true);
    }
    const head = await app.inject({ method: 'HEAD', url, headers: GZIP });
    expect([head.statusCode, head.body]).toEqual([200, '']);
  },
);

test('the tools are built after the start, not within a request', async () => {
  let built = 0;
  const other = await describedApp({}, (...api) => {
    const document = describeApi(...api);
    return () => {
      built += 1;
      return document();
    };
  });
  expect(built).toBe(0);
  await other.listen();
  await expect.poll(() => built).toBe(1);
  await other.close();
});
