import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHAPTERS } from '../src/reference/guide.ts';
import { describedApp } from '../tools/generated-documents.ts';
import { README } from './support/documents.ts';

/** What people and programs read of the API: the guide as pages and as one text, and the reference page. */

let app: FastifyInstance;
beforeAll(async () => {
  app = await describedApp();
});
afterAll(() => app?.close());

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });

const HOST = { host: 'crm.agency.test:8080' };
const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, group]) => String(group));

/** As the browser shows it: what stands between tags, with its entities resolved. */
const shown = (html: string): string =>
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

describe('the way in', () => {
  test('leads browsers to the guide, and tells programs that there is no such operation', async () => {
    const browser = await get('/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
    expect([browser.statusCode, browser.headers.location]).toEqual([302, 'docs/guide/start']);
    expect(browser.headers.vary).toBe('Accept');
    const program = await get('/', { accept: '*/*' });
    expect([program.statusCode, program.json().error.code]).toEqual([404, 'ROUTE_NOT_FOUND']);
  });

  test.each([
    ['/docs', 'docs/'],
    ['/docs/guide', 'guide/start'],
    ['/docs/guide/', 'start'],
  ])('%s leads to %s, from wherever it is reached', async (url, location) => {
    const { statusCode, headers } = await get(url);
    expect([statusCode, headers.location]).toEqual([301, location]);
  });
});

describe('the guide', () => {
  const pages = new Map<string, string>();
  beforeAll(async () => {
    for (const chapter of CHAPTERS) {
      const answer = await get(`/docs/guide/${chapter}`, HOST);
      expect(answer.statusCode).toBe(200);
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
      pages.set(chapter, answer.body);
    }
  });

  test('has a page for each chapter, in the order of README, and each leads to all of them and to the reference', () => {
    expect(all(README, /\[(\w+)\]\(docs\/guide\//g).map((title) => title.toLowerCase())).toEqual(CHAPTERS);
    expect(readdirSync(new URL('../docs/guide/', import.meta.url)).sort()).toEqual(
      CHAPTERS.map((chapter) => `${chapter}.md`).sort(),
    );
    for (const [chapter, html] of pages) {
      const [nav = ''] = all(html, /<nav class="chapters"([\s\S]*?)<\/nav>/g);
      expect(all(nav, /href="([a-z]+)"/g)).toEqual(CHAPTERS);
      expect(all(nav, /href="([a-z]+)" aria-current="page"/g)).toEqual([chapter]);
      expect(all(html, /<a href="(\.\.[^"]*)"/g)).toEqual(['../', '../../openapi.json', '../guide.md']);
    }
  });

  test('says all that its Markdown says, without the marks of tests and programs', () => {
    for (const [chapter, html] of pages) {
      const text = readFileSync(new URL(`../docs/guide/${chapter}.md`, import.meta.url), 'utf8');
      const [main = ''] = all(html, /<main[^>]*>([\s\S]*)<\/main>/g);
      const words = (said: string) => said.match(/[\p{L}\p{N}]+/gu) ?? [];
      const written = text
        .replace(/^```(\w+).*$/gm, '')
        .replace(/^<!-- .* -->$/gm, '')
        .replace(/\]\([^)]*\)/g, ']')
        .replaceAll('localhost:3000', HOST.host);
      expect(words(shown(main.replace(/<p class="next">.*<\/p>/, '')))).toEqual(
        words(written.replace(/^\d+\. /gm, '')),
      );
    }
  });

  test('links lead to pages and headings that are there, and each error code has its own', () => {
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
    expect(anchors('errors')).toEqual(expect.arrayContaining(['validation_failed', 'rate_limit_exceeded']));
  });

  test('names the address that it was read from, or the public one, and no other', async () => {
    for (const html of pages.values()) expect(html).not.toContain('localhost:3000');
    expect(shown(pages.get('start') ?? '')).toContain("curl -s 'http://crm.agency.test:8080/v1/");
    const publicUrl = 'https://api.agency.example/crm';
    const published = await describedApp({ publicUrl });
    const { body } = await published.inject({ url: '/docs/guide/start', headers: HOST });
    await published.close();
    expect(shown(body)).toContain(`curl -s '${publicUrl}/v1/`);
  });

  test('takes no markup from the name that a reader calls the service by', async () => {
    for (const host of [`"'><script>alert(1)</script>`, `$'.test`]) {
      const { body, headers } = await get('/docs/guide/start', { host });
      expect(body).not.toContain('<script>alert');
      expect(headers['content-security-policy']).toContain("script-src 'self';");
      expect(shown(body.replaceAll(/<script type="module".*?<\/script>/g, ''))).toContain(
        `http://${host}/v1/`,
      );
    }
  });

  test('needs no script, and asks nobody but the service for its style and its buttons', async () => {
    for (const html of pages.values()) {
      expect(all(html, /(?:src|<link[^>]*href)="([^"]+)"/g)).toEqual([
        '../../favicon.ico',
        'guide.css',
        'guide.js',
      ]);
      expect(html).not.toMatch(/\son\w+=|style=/);
    }
    const { body: css } = await get('/docs/guide/guide.css');
    expect(css.length).toBeLessThanOrEqual(8_192);
    expect(css).not.toMatch(/url\(|@import/);
  });

  test('is one text for programs, too, and llms.txt names it and the document', async () => {
    const { body: text } = await get('/docs/guide.md', HOST);
    const headings = all(text, /^#+ (.+)$/gm);
    expect(headings).toEqual(expect.arrayContaining(['Start', 'RATE_LIMIT_EXCEEDED', 'Agents']));
    expect(text).toContain("curl -s 'http://crm.agency.test:8080/v1/");
    expect(text).not.toMatch(/localhost:3000|^```\w+ /m);
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

    const { body, headers } = await get('/llms.txt', { host: "$'.test" });
    expect(headers['content-type']).toBe('text/plain; charset=utf-8');
    for (const path of ['docs/guide.md', 'openapi.json', 'docs/'])
      expect(body).toContain(`](http://$'.test/${path}): `);
  });
});

describe('the reference page', () => {
  test('loads its own script and no more, and lets the browser load nothing else', async () => {
    const page = await get('/docs/');
    expect(page.statusCode).toBe(200);
    expect(all(page.body, /<(?:script|link|img)[^>]*(?:src|href)="([^"]+)"/g)).toEqual(['js/scalar.js']);
    const hashes = all(page.body, /<script type="text\/javascript">([\s\S]*?)<\/script>/g).map(
      (script) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`,
    );
    expect(hashes).toHaveLength(1);
    expect(page.headers['content-security-policy']).toBe(
      [
        "default-src 'none'",
        `script-src 'self' ${hashes.join(' ')}`,
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

  test('is told to ask nobody else, and to keep no key', async () => {
    const { body } = await get('/docs/');
    const [configuration = ''] = all(body, /createApiReference\('#app', ([\s\S]*)\)\s*<\/script>/g);
    expect(JSON.parse(configuration)).toMatchObject({
      url: '../openapi.json',
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

  test('goes compressed to those who can read it', async () => {
    const packed = await get('/docs/js/scalar.js', { 'accept-encoding': 'gzip, deflate' });
    expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    expect(packed.rawPayload.length).toBeLessThan(1_500_000);
    const plain = await get('/docs/js/scalar.js');
    expect(plain.headers).not.toHaveProperty('content-encoding');
    expect(gunzipSync(packed.rawPayload).equals(plain.rawPayload)).toBe(true);
    expect(packed.headers.etag).not.toBe(plain.headers.etag);
  });
});
