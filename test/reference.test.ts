import { afterAll, expect, test } from 'vitest';
import { CHAPTERS } from '../src/reference/guide.ts';
import { describedApp } from '../tools/generated-documents.ts';
import { documentAt, groupsOf, README } from './support/documents.ts';

/** The documentation that the service serves: the guide as a page and as a text, and the reference page. */

const app = await describedApp();
afterAll(() => app.close());

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });

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

test('short addresses of the documents are redirected', async () => {
  for (const [url, location] of [
    ['/docs', 'docs/'],
    ['/docs/guide/', '../guide'],
    ['/docs/guide/errors', '../guide#errors'],
  ] as const)
    expect(await get(url)).toMatchObject({ statusCode: 301, headers: { location } });
});

test('the guide has all words of all chapters, and links to headings that exist and to no other site', async () => {
  const html = (await get('/docs/guide')).body;
  expect(groupsOf(README, /\[(\w+)\]\(docs\/guide\//g).map((title) => title.toLowerCase())).toEqual(CHAPTERS);
  const [header = '', main = ''] = html.split('<main>');
  expect(groupsOf(header, /class="level-1"><a href="#([\w-]+)"/g)).toEqual(CHAPTERS);
  const words = (text: string) => text.match(/[\p{L}\p{N}]+/gu) ?? [];
  const markdown = CHAPTERS.map((chapter) =>
    documentAt(`docs/guide/${chapter}.md`)
      .replace(/^```(\w+).*$/gm, '')
      .replace(/^<!-- .* -->$/gm, '')
      .replace(/\]\([^)]*\)/g, ']')
      .replace(/^\d+\. /gm, ''),
  );
  expect(words(textOf(main))).toEqual(words(markdown.join('\n')));
  const ids = groupsOf(html, / id="([^"]+)"/g);
  expect(ids).toEqual([...new Set(ids)]);
  for (const link of groupsOf(html, /<a [^>]*href="([^"]+)"/g))
    expect([...ids.map((id) => `#${id}`), './', '../openapi.json', 'guide.md']).toContain(link);
  expect(groupsOf(html, /(?:src|<link[^>]*href)="([^"]+)"/g)).toEqual(['data:,']);
});

test('the guide has the public address, or the port that the service listens on, whatever Host a client sends', async () => {
  const headers = { host: 'crm.agency.test:8080' };
  const listening = await describedApp();
  const { port } = new URL(await listening.listen({ host: '127.0.0.1', port: 0 }));
  for (const url of ['/docs/guide', '/docs/guide.md', '/llms.txt']) {
    const text = textOf((await listening.inject({ url, headers })).body);
    expect(text).toContain(`http://localhost:${port}/`);
    expect(text).not.toMatch(/localhost:3000|agency\.test/);
  }
  await listening.close();
  const publicUrl = "https://api.agency.example/$'";
  const published = await describedApp(publicUrl);
  const { body } = await published.inject({ url: '/docs/guide', headers });
  await published.close();
  expect(textOf(body)).toContain(`curl -s '${publicUrl}/v1/`);
  expect(body).not.toContain('localhost:3000');
});

test('the reference page loads only its own script, sends nothing to other servers and stores no key', async () => {
  const { body, headers } = await get('/docs/');
  const loaded = groupsOf(body, /<(?:script|link|img)[^>]*(?:src|href)="([^"]+)"/g);
  expect(loaded).toEqual(['data:,', 'js/scalar.js']);
  expect(body).not.toMatch(/https?:\/\//);
  const policy = String(headers['content-security-policy']);
  expect(policy).toMatch(/^default-src 'none'; script-src 'self'; /);
  expect(policy).toContain("connect-src 'self'");
  expect((await get('/docs/js/scalar.js')).body).toContain('createApiReference');
  const [configuration = ''] = groupsOf(body, /data-configuration="([^"]*)"/g);
  expect(JSON.parse(textOf(configuration))).toMatchObject({
    ...{ url: '../openapi.json', servers: [{ url: '/' }], proxyUrl: '' },
    ...{ telemetry: false, withDefaultFonts: false, persistAuth: false },
    ...{ agent: { disabled: true }, mcp: { disabled: true } },
  });
});
