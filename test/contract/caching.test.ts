import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { entityTag } from '../../rules/entity-tag.ts';
import { issueApiKey } from '../../src/api-keys/repository.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import { CHAPTERS } from '../../src/reference/guide.ts';
import { readDocument } from '../support/contract.ts';
import { buildDashboard, TOKEN, useDashboard } from '../support/dashboard.ts';
import {
  BELOW,
  DASHBOARD,
  FILE,
  OPERATIONS,
  operationsBy,
  populate,
  requestOf,
  run,
  send,
} from '../support/operations.ts';
import { customer } from '../support/records.ts';
import { routesOf } from '../support/router.ts';
import type { Agency, Reply } from '../support/service.ts';

/**
 * Which answers may be kept, by whom, and how a client asks whether one is still the same. Every GET that the routers
 * have is in the walk.
 */

const { service, dashboard } = useDashboard();

const PRIVATE = { 'cache-control': 'private, no-cache', vary: 'Authorization, x-api-key' };
const TAG = /^"[\w-]{43}"$/;

/** Every GET whose answer has a tag. */
const DATA = operationsBy('GET').filter((name) => OPERATIONS[name]?.change);

const CREDENTIALS = [
  'GET /v1/quotes/{quoteId}/attachments',
  'GET /files/{token}',
  `GET ${BELOW}/customers/{customerId}/export`,
];
/** Answered with 405: there is no stream. */
const NO_READ = ['GET /mcp'];
const STATE = ['GET /livez', 'GET /readyz', 'GET /metrics'];
/** Where the service shows the way to a document. */
const REDIRECTS = ['GET /', 'GET /docs', 'GET /docs/guide', 'GET /docs/guide/'];
const DOCUMENTS = [
  'GET /openapi.json',
  'GET /docs/',
  'GET /docs/js/scalar.js',
  'GET /llms.txt',
  'GET /favicon.ico',
];
const GUIDE = ['.md', '/guide.css', '/guide.js', ...CHAPTERS.map((chapter) => `/${chapter}`)].map(
  (name) => `GET /docs/guide${name}`,
);

/** Asks either API, by the address. */
const ask = (agency: Agency, url: string, headers: Record<string, string> = {}): Promise<Reply> =>
  url.startsWith(DASHBOARD)
    ? dashboard.get(url.slice(DASHBOARD.length), { headers })
    : agency.get(url, { headers });

const head = async (agency: Agency, url: string, headers: Record<string, string> = {}) => {
  const [app, token] = url.startsWith(DASHBOARD) ? [dashboard.app, TOKEN] : [service.app, agency.key];
  return app.inject({ method: 'HEAD', url, headers: { authorization: `Bearer ${token}`, ...headers } });
};

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
    [...DATA, ...CREDENTIALS, ...STATE, ...NO_READ, ...REDIRECTS, ...DOCUMENTS, ...GUIDE].sort(),
  );
  for (const path of STATE) {
    const { headers, statusCode } = await whole.app.inject(path.slice('GET '.length));
    expect(statusCode).toBe(200);
    expect(headers).not.toHaveProperty('etag');
    expect(headers['x-content-type-options']).toBe('nosniff');
  }
});

describe('an answer with data has a tag of its bytes, for its client alone', () => {
  test.each(DATA)('%s', async (name) => {
    const own = await service.agency();
    const world = { service, dashboard, agency: own };
    const has = await populate(world);
    const { path: url } = await requestOf(name, has);
    const { change = '' } = OPERATIONS[name] ?? {};
    const first = await ask(own, url);
    const tag = first.headers.etag ?? '';
    expect(first.status).toBe(200);
    expect(first.headers).toMatchObject(PRIVATE);
    expect(tag).toMatch(TAG);

    const unchanged = await ask(own, url, { 'if-none-match': tag });
    expect(unchanged.status).toBe(304);
    expect(unchanged.text).toBe('');
    expect(unchanged.headers).toMatchObject({
      ...PRIVATE,
      etag: tag,
      'x-request-id': expect.any(String),
      'x-content-type-options': 'nosniff',
    });
    expect(unchanged.headers).not.toHaveProperty('content-length');
    expect(unchanged.headers).not.toHaveProperty('content-type');

    for (const [headers, status] of [
      [{}, 200],
      [{ 'if-none-match': tag }, 304],
    ] as const) {
      const asked = await head(own, url, headers);
      expect(asked.statusCode).toBe(status);
      expect(asked.body).toBe('');
      expect(asked.headers).toMatchObject({ ...PRIVATE, etag: tag });
      expect(asked.headers['content-length']).toBe(String(Buffer.byteLength(first.text)));
    }

    const again = await ask(own, url);
    expect([again.text, again.headers.etag]).toEqual([first.text, tag]);
    await (typeof change === 'string' ? run(world, change, has) : change(world));
    const changed = await ask(own, url, { 'if-none-match': tag });
    expect(changed.status).toBe(200);
    expect(changed.text).not.toBe(first.text);
    expect(changed.headers.etag).toMatch(TAG);
    expect(changed.headers.etag).not.toBe(tag);
  });

  test('and two bodies have one tag exactly when they are the same bytes, as text or as a Buffer', () => {
    const body = fc.string({ unit: 'binary', maxLength: 20 });
    fc.assert(
      fc.property(body, body, (one, other) => {
        expect(entityTag(one)).toMatch(TAG);
        expect(entityTag(Buffer.from(one))).toBe(entityTag(one));
        expect(entityTag(one) === entityTag(other)).toBe(Buffer.from(one).equals(Buffer.from(other)));
      }),
    );
  });
});

describe('If-None-Match', () => {
  const TEAM = '/v1/team';
  const tagOf = async () => String((await agency.get(TEAM)).headers.etag);
  const asking = async (ifNoneMatch: string) => ask(agency, TEAM, { 'if-none-match': ifNoneMatch });

  test.each<[string, (tag: string) => string]>([
    ['the tag', (tag) => tag],
    ['the tag that a proxy weakened', (tag) => `W/${tag}`],
    ['several with it', (tag) => `"one", W/"other" ,${tag}`],
    ['several with it weakened, and no spaces', (tag) => `"one",W/${tag},"other,"`],
    ['any', () => '*'],
  ])('of %s is answered with 304', async (_name, form) => {
    const tag = await tagOf();
    const { status, headers } = await asking(form(tag));
    expect(status).toBe(304);
    expect(headers.etag).toBe(tag);
  });

  test.each<[string, (tag: string) => string]>([
    ['another', () => '"another"'],
    ['another, weak', () => 'W/"another"'],
    ['the tag without its quotes', (tag) => tag.replaceAll('"', '')],
    ['the tag in another case', (tag) => tag.toUpperCase().replace('_', '-')],
    ['a longer one that has it in', (tag) => `"x${tag.slice(1)}`],
    ['a star between quotes', () => '"*"'],
    ['nothing', () => ''],
  ])('of %s is answered in full', async (_name, form) => {
    const { status, body } = await asking(form(await tagOf()));
    expect(status).toBe(200);
    expect(body.data).toEqual([]);
  });

  test('decides nothing but a read that succeeds', async () => {
    const any = { headers: { 'if-none-match': '*' } };
    const { id } = await customer(agency);
    expect((await agency.get('/v1/team', { key: null, ...any })).status).toBe(401);
    expect((await agency.get('/v1/team?limit=0', any)).status).toBe(400);
    expect((await agency.get(`/v1/customers/${randomUUID()}`, any)).status).toBe(404);
    expect((await agency.patch(`/v1/customers/${id}`, { city: 'Lima' }, any)).status).toBe(200);
    expect((await agency.post('/v1/catalog/products', { title: 'x' }, any)).status).toBe(201);
    expect((await agency.delete(`/v1/customers/${id}`, any)).status).toBe(200);
    expect((await head(agency, `/v1/customers/${id}`, any.headers)).statusCode).toBe(404);
  });
});

describe('a write answers with the tag of the record as it is now', () => {
  /** The tag of this answer, which is that of its bytes. */
  function tagIn({ status, headers, text: body }: Reply): string {
    expect([200, 201]).toContain(status);
    expect(headers).toMatchObject(PRIVATE);
    expect(headers.etag).toBe(entityTag(body));
    return String(headers.etag);
  }

  test('POST that creates: the one that the next GET has, good for If-Match', async () => {
    const own = await service.agency();
    const customer = { contacts: [{ identifierType: 'web', identifierValue: 'visitor' }] };
    for (const [path, body] of [
      ['/v1/catalog/products', { title: 'Oaxaca', variants: [{ label: 'A' }] }],
      ['/v1/customers', customer],
    ] as const) {
      const created = await own.post(path, body);
      const url = `${path}/${created.body.id}`;
      const tag = tagIn(created);
      expect((await own.get(url)).headers.etag).toBe(tag);
      const change = async () =>
        (await own.patch(url, { tags: ['x'], title: 'x' }, { headers: { 'if-match': tag } })).status;
      expect([await change(), await change()]).toEqual([200, 412]);
    }
    const organization = await dashboard.post('/organizations', { name: 'Viajes' });
    expect((await dashboard.get(`/organizations/${organization.body.id}`)).headers.etag).toBe(
      tagIn(organization),
    );
  });
});

/** Answers with a key, or with a signed link to a file. */
const SECRET = [
  'GET /v1/quotes/{quoteId}/attachments',
  `GET ${BELOW}/customers/{customerId}/export`,
  `POST ${BELOW}/api-keys`,
  `POST ${BELOW}/api-keys/{apiKeyId}/rotate`,
  `POST ${BELOW}/quotes/{quoteId}/attachments`,
];

test.each(SECRET)('the answer of %s is kept by nobody and has no tag', async (name) => {
  const world = { service, dashboard, agency: await service.agency() };
  const { status, headers, text } = await send(world, await requestOf(name, await populate(world)), {
    'if-none-match': '*',
  });
  expect(status).toBe(name.startsWith('GET') ? 200 : 201);
  expect(text).toMatch(/"tcrm_\w{43}_|\/files\//);
  expect(headers['cache-control']).toBe('no-store');
  expect(headers).not.toHaveProperty('etag');
});

test('a refusal is kept by nobody else and has no tag', async () => {
  const limited = service.client(
    parseJson(await issueApiKey(agency.scope, { name: 'x', requestsPerMinute: 1 })).key,
  );
  await limited.get('/v1/team');
  for (const [answer, status] of [
    [await agency.get('/v1/team', { key: null }), 401],
    [await agency.get('/v1/team?limit=0'), 400],
    [await agency.get('/v1/customers/x'), 404],
    [await limited.get('/v1/team'), 429],
    [await dashboard.get('/organizations', { token: null }), 401],
  ] as const) {
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject(PRIVATE);
    expect(answer.headers).not.toHaveProperty('etag');
  }
});

describe('the document and the reference page may be kept by anybody, and asked for again', () => {
  test.each([...DOCUMENTS, ...GUIDE])('%s', async (route) => {
    const url = route.slice('GET '.length);
    for (const app of GUIDE.includes(route) ? [service.app] : [service.app, dashboard.app]) {
      const { statusCode, headers } = await app.inject(url);
      expect(statusCode).toBe(200);
      expect(headers).toMatchObject({
        'cache-control': 'public, no-cache',
        etag: expect.stringMatching(TAG),
        'x-content-type-options': 'nosniff',
      });
      const again = await app.inject({ url, headers: { 'if-none-match': String(headers.etag) } });
      expect([again.statusCode, again.body]).toEqual([304, '']);
    }
  });
});

test('the documents say where a tag is, and where a 304 can be', () => {
  for (const { paths } of [readDocument('openapi/openapi.json'), readDocument('openapi/dashboard.json')]) {
    const answerOf = (path: string, method: string, status: number) =>
      paths[path]?.[method]?.responses[status]?.content?.['application/json']?.schema.$ref;
    const isOne = (path: string, other: string) => other.replace(/\/\{\w+\}$/, '') === path && other !== path;
    /** It answers with the record that it made. Other POSTs answer with an act, a key or a link. */
    const makesRecord = (path: string) => {
      const made = answerOf(path, 'post', 201);
      return (
        made !== undefined &&
        Object.keys(paths).some((one) => isOne(path, one) && answerOf(one, 'get', 200) === made)
      );
    };
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, { parameters = [], responses }] of Object.entries(operations)) {
        const name = `${method.toUpperCase()} ${path}`;
        const success = responses[200] ?? responses[201];
        const isData = DATA.includes(name);
        expect(
          '304' in responses,
          isData ? name : `${name}: what changes its answer is \`change\` in ${FILE}`,
        ).toBe(isData);
        expect(
          parameters.some((parameter) => parameter.name === 'If-None-Match'),
          name,
        ).toBe(isData || method === 'put');
        const isTagged =
          isData || method === 'patch' || method === 'put' || (method === 'post' && makesRecord(path));
        expect('ETag' in (success?.headers ?? {}), name).toBe(isTagged);
        if (isData) expect(responses[304]).not.toHaveProperty('content');
      }
    }
  }
});
