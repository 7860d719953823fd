import { expect, test } from 'vitest';
import { createMetrics } from '../../src/http/metrics.ts';
import { DOCUMENTED } from '../support/contract.ts';
import { ownDashboard, useDashboard } from '../support/dashboard.ts';
import { populate, requestOf, send } from '../support/operations.ts';
import { routesOf } from '../support/router.ts';

/** Headers of responses that no document describes. The test client compares those of operations with their documents. */

const { service, dashboard } = await useDashboard();

const COMMON = { 'x-content-type-options': 'nosniff', 'x-request-id': expect.any(String) };

/** Every GET of the routers without an operation: its status, and who may cache it. */
const KINDS: Record<string, [status: number, caching?: string]> = {
  '/docs': [301, 'public, no-cache'],
  '/docs/': [200, 'public, no-cache'],
  '/docs/js/scalar.js': [200, 'public, no-cache'],
  '/docs/guide': [200, 'public, no-cache'],
  '/docs/guide.md': [200, 'public, no-cache'],
  '/docs/guide/': [301, 'public, no-cache'],
  '/openapi.json': [200, 'public, no-cache'],
  '/llms.txt': [200, 'public, no-cache'],
  '/files/:token': [403, 'no-store'],
  '/livez': [200],
  '/readyz': [200],
  '/metrics': [200],
  '/mcp': [401, 'private, no-cache'],
};

test('every other response has nosniff and a request id; a document may be cached by anybody, and is revalidated', async () => {
  const metrics = createMetrics(service.db);
  const { app } = await ownDashboard(service, { health: { ready: async () => undefined, metrics } });
  const routes = [...routesOf(service.app), ...routesOf(app)]
    .filter((route) => route.startsWith('GET ') && !/\/v1\/|guide\/\w/.test(route))
    .map((route) => route.slice('GET '.length).replace('{token}', ':token').replace('mcp/', 'mcp'));
  expect([...new Set(routes)].sort()).toEqual(Object.keys(KINDS).sort());
  for (const [url, [status, caching]] of Object.entries(KINDS)) {
    const at = /^.(livez|readyz|metrics)/.test(url) ? app : service.app;
    const { statusCode, headers } = await at.inject(url);
    expect([statusCode, headers['cache-control']], url).toEqual([status, caching]);
    expect(headers, url).toMatchObject(COMMON);
    if (status !== 200 || caching === undefined) continue;
    expect(headers['content-security-policy'], url).toMatch(/^default-src 'none';.* frame-ancestors 'none'$/);
    const again = await at.inject({ url, headers: { 'if-none-match': String(headers.etag) } });
    expect([again.statusCode, again.body], url).toEqual([304, '']);
  }
});

/** With 16 kB, a proxy takes the instance for broken. The test client compares the size of every response. */
test('no read repeats more of its request than fits into 8 KiB of headers', async () => {
  const agency = await service.agency();
  const world = { service, dashboard, agency };
  await populate(world, 'Oaxaca', 0);
  const has = await populate(world, 'Oaxaca', 1);
  const names = Array.from({ length: 30 }, (_, index) => `${'ñ('.repeat(80)}${index}=1`).join('&');
  const longHost = `${'x'.repeat(6_000)}.test`;
  const links: string[] = [];
  for (const { name, operation } of DOCUMENTED.filter(({ method }) => method === 'GET')) {
    const isPaged = operation.parameters?.some((parameter) => parameter.name === 'limit');
    for (const [large, host] of [
      [`x=${'('.repeat(5_600)}`, 'localhost'],
      [`${'0'.repeat(5_000)}=1`, longHost],
      [names, longHost],
    ]) {
      const sent = await requestOf(name, has);
      const path = `${sent.path}${sent.path.includes('?') ? '&' : '?'}${isPaged ? 'limit=1&' : ''}${large}`;
      const response = await send(world, { ...sent, path }, { host: String(host) });
      expect(response.status, name).toBe(200);
      if (host === 'localhost') links.push(response.headers.link ?? '');
    }
  }
  expect(links.filter((link) => link !== '').length).toBeGreaterThan(10);
  for (const link of links)
    expect(link).toMatch(/^$|^<http:\/\/localhost[^?]*\?(\w+=[\w%-]*&?)*offset=1>; rel="next"$/);
});
