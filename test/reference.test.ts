import { readdirSync, readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { gunzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import MiniSearch from 'minisearch';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { once } from '../src/once.ts';
import { CHAPTERS } from '../src/reference/guide.ts';
import { describedApp } from '../tools/generated-documents.ts';
import { README } from './support/documents.ts';

/** The documentation that the service serves: the guide as pages and as one text, and the reference page. */

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
    .replace(/&#(x?)([\da-f]+);/gi, (_, isHex: string, code: string) =>
      String.fromCharCode(Number.parseInt(code, isHex ? 16 : 10)),
    )
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

describe('the root', () => {
  test('redirects browsers to the guide, and is no operation for programs', async () => {
    const browser = await get('/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
    expect(browser).toMatchObject({
      statusCode: 302,
      headers: { location: 'docs/guide/start', vary: 'Accept' },
    });
    const program = await get('/', { accept: '*/*' });
    expect([program.statusCode, program.json().error.code]).toEqual([404, 'ROUTE_NOT_FOUND']);
  });
});

test.each([
  ['/docs', 'docs/'],
  ['/docs/guide', 'guide/start'],
  ['/docs/guide/', 'start'],
])('%s redirects to the relative address %s', async (url, location) => {
  expect(await get(url)).toMatchObject({ statusCode: 301, headers: { location } });
});

describe('the guide', () => {
  const pages = new Map<string, string>();
  beforeAll(async () => {
    for (const chapter of CHAPTERS) {
      const { statusCode, headers, body } = await get(`/docs/guide/${chapter}`);
      expect(statusCode).toBe(200);
      expect(headers['content-type']).toBe('text/html; charset=utf-8');
      pages.set(chapter, body);
    }
  });

  test('has a page for each chapter, in the order of README; each page has links to all chapters and to the reference', () => {
    expect(all(README, /\[(\w+)\]\(docs\/guide\//g).map((title) => title.toLowerCase())).toEqual(CHAPTERS);
    expect(readdirSync(new URL('../docs/guide/', import.meta.url)).sort()).toEqual(
      CHAPTERS.map((chapter) => `${chapter}.md`).sort(),
    );
    for (const [chapter, html] of pages) {
      const [nav = ''] = all(html, /<nav aria-label="Chapters"([\s\S]*?)<\/nav>/g);
      expect(all(nav, /href="([a-z]+)"/g)).toEqual(CHAPTERS);
      expect(all(nav, /href="([a-z]+)" aria-current="page"/g)).toEqual([chapter]);
      expect(all(html, /<a href="(\.\.[^"]*)"/g)).toEqual(['../', '../../openapi.json', '../guide.md']);
    }
  });

  test('has all words of its Markdown, without the marks for tests', () => {
    for (const [chapter, html] of pages) {
      const markdown = readFileSync(new URL(`../docs/guide/${chapter}.md`, import.meta.url), 'utf8');
      const [main = ''] = all(html, /<main[^>]*>([\s\S]*)<\/main>/g);
      const words = (text: string) => text.match(/[\p{L}\p{N}]+/gu) ?? [];
      const expected = markdown
        .replace(/^```(\w+).*$/gm, '')
        .replace(/^<!-- .* -->$/gm, '')
        .replace(/\]\([^)]*\)/g, ']');
      const actual = main.replace(/<p class="next">.*<\/p>|<button.*?<\/button>/g, '');
      expect(words(textOf(actual))).toEqual(words(expected.replace(/^\d+\. /gm, '')));
    }
  });

  test('links lead to pages and headings that exist', () => {
    const anchors = (chapter: string) => all(pages.get(chapter) ?? '', / id="([^"]+)"/g);
    let links = 0;
    for (const [chapter, html] of pages) {
      const ids = anchors(chapter);
      expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
      for (const link of all(html, /<a [^>]*href="(?!\.\.)([^"]+)"/g)) {
        const [page = '', heading] = link.split('#');
        const target = page === '' ? chapter : page;
        expect(pages.has(target), link).toBe(true);
        if (heading !== undefined) expect(anchors(target), `${link} in ${chapter}`).toContain(heading);
        links += 1;
      }
    }
    expect(links).toBeGreaterThan(200);
  });

  test('has the public address, or the port that the service listens on, whatever Host a client sends', async () => {
    const listening = await describedApp();
    const { port } = new URL(await listening.listen({ host: '127.0.0.1', port: 0 }));
    for (const path of ['/docs/guide/start', '/docs/guide.md', '/llms.txt']) {
      const text = textOf((await listening.inject({ url: path, headers: HOST })).body);
      expect(text).toContain(`http://localhost:${port}/`);
      expect(text).not.toMatch(/localhost:3000|agency\.test/);
    }
    await listening.close();
    const publicUrl = "https://api.agency.example/$'";
    const published = await describedApp({ publicUrl });
    const { body } = await published.inject({ url: '/docs/guide/start', headers: HOST });
    await published.close();
    expect(textOf(body)).toContain(`curl -s '${publicUrl}/v1/`);
    expect(body).not.toContain('localhost:3000');
  });

  test('has no inline script or style, and loads style and script from the service only', async () => {
    for (const html of pages.values()) {
      expect(all(html, /(?:src|<link[^>]*href)="([^"]+)"/g)).toEqual([
        '../../favicon.ico',
        'guide.css',
        'guide.js',
      ]);
      expect(html).not.toMatch(/\son\w+=|style=/);
    }
    const css = await get('/docs/guide/guide.css', GZIP);
    expect(css.rawPayload.length).toBeLessThanOrEqual(8_192);
    expect(gunzipSync(css.rawPayload).toString()).not.toMatch(/url\("?(?!data:|"data:)|@import/);
  });

  test('has a section of the search index for each heading, under the address of the heading', async () => {
    const sections: { id: string; title: string; text: string }[] = (
      await get('/docs/guide/search.json')
    ).json();
    const headings = [...pages].flatMap(([chapter, html]) =>
      all(html, /<h[1-6] id="([^"]+)"/g).map((anchor) => `${chapter}#${anchor}`),
    );
    expect(sections.map(({ id }) => id)).toEqual(headings);
    const codes = sections.find(({ id }) => id === 'errors#the-codes');
    expect(codes?.title).toBe('The codes');
    for (const code of ['UNAUTHORIZED', 'RATE_LIMIT_EXCEEDED', 'QUOTE_NOT_FOUND'])
      expect(codes?.text).toContain(code);
  });

  const SEARCHED =
    'webhook duplicate paging pagination sdk n8n cursor upsert bulk oauth throttling sandbox gdpr';
  test.each([...SEARCHED.split(' '), 'how do I get a webhook'])(
    'finds a section for "%s", as its page searches',
    async (words) => {
      const { body: script } = await get('/docs/guide/guide.js');
      const [, options = ''] = /const searchOptions = (.*);/.exec(script) ?? [];
      const searchOptions = runInNewContext(`(${options})`);
      const index = new MiniSearch({ fields: ['title', 'text'], storeFields: ['title'], searchOptions });
      index.addAll((await get('/docs/guide/search.json')).json());
      const found = index.search(words);
      expect(found.length > 0 ? found : index.search(words, { combineWith: 'OR' })).not.toEqual([]);
    },
  );

  test('is also one text for programs, to which llms.txt links', async () => {
    const { body: text } = await get('/docs/guide.md');
    const headings = all(text, /^#+ (.+)$/gm);
    expect(headings).toEqual(expect.arrayContaining(['Start', 'The codes', 'Agents']));
    expect(text).toContain("curl -s 'http://localhost:3000/v1/");
    expect(text).not.toMatch(/^```\w+ /m);
    const anchors = headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
    const links = [...text.matchAll(/\]\((#?)([^)]+)\)/g)];
    expect(links.length).toBeGreaterThan(20);
    for (const [link, hash, target] of links) if (hash) expect(anchors, link).toContain(target);
    expect(links.filter(([, hash, target]) => !hash && !String(target).startsWith('http'))).toEqual([]);

    const { body, headers } = await get('/llms.txt', HOST);
    expect(headers['content-type']).toBe('text/plain; charset=utf-8');
    for (const path of ['docs/guide.md', 'mcp', 'openapi.json', 'docs/'])
      expect(body).toContain(`](http://localhost:3000/${path}): `);
  });
});

describe('the reference page', () => {
  test('loads only its own script, and forbids the browser to load anything else', async () => {
    const page = await get('/docs/');
    expect(page.statusCode).toBe(200);
    expect(all(page.body, /<(?:script|link|img)[^>]*(?:src|href)="([^"]+)"/g)).toEqual([
      '../favicon.ico',
      'js/scalar.js',
    ]);
    expect(page.headers['content-security-policy']).toBe(
      [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ].join('; '),
    );
  });

  test('is configured to send no request to other servers, and to store no key', async () => {
    const { body } = await get('/docs/');
    const [configuration = ''] = all(body, /data-configuration="([^"]*)"/g);
    expect(JSON.parse(textOf(configuration))).toMatchObject({
      url: '../openapi.json',
      servers: [{ url: '/' }],
      telemetry: false,
      withDefaultFonts: false,
      persistAuth: false,
      proxyUrl: '',
      hideClientButton: true,
      showDeveloperTools: 'never',
      agent: { disabled: true },
      mcp: { disabled: true },
    });
    expect(body).not.toMatch(/https?:\/\//);
  });

  test('has links to the guide and the document for browsers without scripts', async () => {
    const { body } = await get('/docs/');
    const [text = ''] = all(body, /<p>(.*)<\/p>/g);
    expect(all(text, /href="([^"]+)"/g)).toEqual(['guide/start', '../openapi.json']);
  });
});

describe('every text', () => {
  test.each(['/docs/js/scalar.js', '/docs/', '/docs/guide/start', '/openapi.json', '/favicon.ico'])(
    '%s has the same content with and without compression',
    async (url) => {
      const packed = await get(url, GZIP);
      expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
      expect(packed.rawPayload.length).toBeLessThan(1_500_000);
      for (const accept of ['identity', 'gzip;q=0']) {
        const plain = await get(url, { 'accept-encoding': accept });
        expect(plain.headers['content-encoding'] ?? 'identity').toBe('identity');
        expect(plain.headers.vary).toBe('accept-encoding');
        expect(gunzipSync(packed.rawPayload).equals(plain.rawPayload)).toBe(true);
      }
      const head = await app.inject({ method: 'HEAD', url, headers: GZIP });
      expect([head.statusCode, head.body]).toEqual([200, '']);
    },
  );

  test('is built once by simultaneous requests, and again after an error', async () => {
    let builds = 0;
    const build = once(async () => {
      builds += 1;
      if (builds === 1) throw new Error('A file could not be read.');
      return builds;
    });
    const first = await Promise.allSettled([build(), build()]);
    expect(first.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await Promise.all([build(), build(), build()])).toEqual([2, 2, 2]);
  });
});
