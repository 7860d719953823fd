import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { entityTag } from '../../rules/entity-tag.ts';
import { CHAPTERS } from '../../src/reference/guide.ts';
import { buildDashboard, useDashboard } from '../support/dashboard.ts';
import { BELOW, OPERATIONS, operationsBy, populate, requestOf, send } from '../support/operations.ts';
import { customer } from '../support/records.ts';
import { routesOf } from '../support/router.ts';
import type { Agency } from '../support/service.ts';

/** Which responses may be cached, and how a client revalidates them, for every GET of the routers. */

const { service, dashboard } = useDashboard();

/** Every GET whose response has an ETag. */
const DATA = operationsBy('GET').filter((name) => OPERATIONS[name]?.change);

/** Their responses have signed links to files. */
const LINKS = [
  'GET /v1/quotes/{quoteId}/attachments',
  `GET ${BELOW}/customers/{customerId}/export`,
  `GET ${BELOW}/quotes/{quoteId}/attachments`,
];
const FILES = ['GET /files/{token}'];
/** Returns 405: there is no stream. */
const NO_READ = ['GET /mcp', 'GET /mcp/'];
const STATE = ['GET /livez', 'GET /readyz', 'GET /metrics'];
/** To a document. */
const REDIRECTS = [
  'GET /',
  'GET /docs',
  'GET /docs/guide/',
  ...CHAPTERS.map((chapter) => `GET /docs/guide/${chapter}`),
];
const DOCUMENTS = ['openapi.json', 'docs/', 'docs/js/scalar.js', 'llms.txt', 'favicon.ico'].map(
  (name) => `GET /${name}`,
);
const GUIDE = ['GET /docs/guide', 'GET /docs/guide.md'];

let agency: Agency;
beforeAll(async () => {
  agency = await service.agency();
});

test('the walk has every GET of both routers, and no other', async () => {
  const health = {
    ready: async () => undefined,
    metrics: { text: async () => '', contentType: 'text/plain', answered: () => undefined } as never,
  };
  const whole = await buildDashboard(service, { health });
  onTestFinished(() => whole.app.close());
  const routes = [...routesOf(service.app), ...routesOf(whole.app)].filter((route) =>
    route.startsWith('GET '),
  );
  expect([...new Set(routes)].sort()).toEqual(
    [...DATA, ...LINKS, ...FILES, ...STATE, ...NO_READ, ...REDIRECTS, ...DOCUMENTS, ...GUIDE].sort(),
  );
});

test('two bodies have the same ETag exactly if their bytes are equal, as text or as a Buffer', () => {
  const body = fc.string({ unit: fc.nat(0x10ffff).map((code) => String.fromCodePoint(code)), maxLength: 20 });
  fc.assert(
    fc.property(body, body, (one, other) => {
      expect(entityTag(one)).toMatch(/^"[\w-]{43}"$/);
      expect(entityTag(Buffer.from(one))).toBe(entityTag(one));
      expect(entityTag(one) === entityTag(other)).toBe(Buffer.from(one).equals(Buffer.from(other)));
    }),
    { numRuns: 30 },
  );
});

describe('If-None-Match', () => {
  const TEAM = '/v1/team';
  const tagOf = async () => String((await agency.get(TEAM)).headers.etag);
  const revalidate = (ifNoneMatch: string) => agency.get(TEAM, { headers: { 'if-none-match': ifNoneMatch } });

  test.each<[string, (tag: string) => string]>([
    ['several ETags, one of them weakened, without spaces', (tag) => `"one",W/${tag},"other,"`],
    ['an ETag with the suffix of a proxy', (tag) => `"one", ${tag.slice(0, -1)}-gzip"`],
    ['any ETag', () => '*'],
  ])('of %s returns 304', async (_name, form) => {
    const tag = await tagOf();
    const { status, headers } = await revalidate(form(tag));
    expect(status).toBe(304);
    expect(headers.etag).toBe(tag);
  });

  test.each<[string, (tag: string) => string]>([
    ['another ETag', () => '"another"'],
    ['a longer ETag that contains it', (tag) => `"x${tag.slice(1)}`],
    ['nothing', () => ''],
  ])('of %s returns the whole response', async (_name, form) => {
    const { status, body } = await revalidate(form(await tagOf()));
    expect(status).toBe(200);
    expect(body.data).toEqual([]);
  });

  test('has an effect only on a read that succeeds', async () => {
    const any = { headers: { 'if-none-match': '*' } };
    const { id } = await customer(agency);
    expect((await agency.get('/v1/team', { key: null, ...any })).status).toBe(401);
    expect((await agency.get('/v1/team?limit=0', any)).status).toBe(400);
    expect((await agency.get(`/v1/customers/${randomUUID()}`, any)).status).toBe(404);
    expect((await agency.patch(`/v1/customers/${id}`, { city: 'Lima' }, any)).status).toBe(200);
    expect((await agency.post('/v1/catalog/products', { title: 'x' }, any)).status).toBe(201);
    expect((await agency.delete(`/v1/customers/${id}`, any)).status).toBe(200);
  });
});

/** Their responses have a key, or a signed link to a file. */
const SECRET = [
  ...LINKS,
  `POST ${BELOW}/api-keys`,
  `POST ${BELOW}/api-keys/{apiKeyId}/rotate`,
  `POST ${BELOW}/quotes/{quoteId}/attachments`,
];

test.each(SECRET)('the response of %s must not be cached and has no ETag', async (name) => {
  const world = { service, dashboard, agency: await service.agency() };
  const { status, headers, text } = await send(world, await requestOf(name, await populate(world)), {
    'if-none-match': '*',
  });
  expect(status).toBe(name.startsWith('GET') ? 200 : 201);
  expect(text).toMatch(/"tcrm_\w{43}_|\/files\//);
  expect(headers['cache-control']).toBe('no-store');
  expect(headers).not.toHaveProperty('etag');
});

describe('the document, the reference page and the guide may be cached by anybody, and are revalidated', () => {
  test.each([...DOCUMENTS, ...GUIDE])('%s', async (route) => {
    const url = route.slice('GET '.length);
    for (const app of GUIDE.includes(route) ? [service.app] : [service.app, dashboard.app]) {
      const { statusCode, headers } = await app.inject(url);
      expect(statusCode).toBe(200);
      expect(headers).toMatchObject({
        'cache-control': 'public, no-cache',
        etag: expect.stringMatching(/^W\/"[\w-]{43}"$/),
        'x-content-type-options': 'nosniff',
      });
      const again = await app.inject({ url, headers: { 'if-none-match': String(headers.etag) } });
      expect([again.statusCode, again.body]).toEqual([304, '']);
    }
  });
});
