import { randomUUID } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../src/db/index.ts';
import { bodyOf, DOCUMENTED, operationOf } from '../support/contract.ts';
import { TOKEN, useDashboard } from '../support/dashboard.ts';
import { findDrift } from '../support/drift.ts';
import {
  BELOW,
  DASHBOARD,
  type Has,
  OPERATIONS,
  operationsBy,
  pathOf,
  populate,
  requestOf,
  run,
  type Sent,
  send,
  type World,
} from '../support/operations.ts';
import type { Reply } from '../support/service.ts';

/**
 * If-None-Match of every GET, Idempotency-Key of every POST that creates a record, If-Match of every PATCH, PUT and DELETE, and unknown names in each
 * of them. The test client compares each ETag with the bytes of the body, and the headers of caching with each other.
 */

const { service, dashboard } = await useDashboard();

const CREATES = ['/v1', BELOW].flatMap((api) => [`POST ${api}/catalog/products`, `POST ${api}/customers`]);
CREATES.push(`POST ${BELOW}/quotes/{quoteId}/attachments`);
const CHANGES = operationsBy('PATCH', 'PUT', 'DELETE');
let world: World;
let has: Has;
/** A new organization, for what deletes records of it. */
async function beginAnew(): Promise<void> {
  world = { service, dashboard, agency: await service.agency() };
  has = await populate(world);
}
beforeAll(beginAnew);
beforeEach(() => {
  // No other test writes these texts.
  has = { ...has, word: newId() };
});

/** Everything that the agency has, and the names of all organizations. */
const everything = async () => [
  await dashboard.stored(world.agency),
  await service.query('select * from organizations order by id'),
];

/** The operation's request with unknown names. It is first sent with strict handling, which rejects it. */
async function withUnknownNames(name: string): Promise<{ sent: Sent; ignored: string }> {
  const sent = await requestOf(name, has);
  const isJson = name.startsWith('DELETE') || bodyOf(operationOf(name)) !== undefined;
  const request = {
    ...sent,
    path: `${sent.path}${sent.path.includes('?') ? '&' : '?'}organization_id=x`,
    ...(isJson && { body: { ...sent.body, organization_id: 'x' } }),
  };
  const { status, body } = await send(world, request, { prefer: 'handling=strict' });
  const inBody = isJson ? ['body.organization_id'] : [];
  const paths = body.error?.details.map(({ path }: { path: string }) => path);
  expect([status, paths]).toEqual([400, ['query.organization_id', ...inBody]]);
  return { sent: request, ignored: ['organization_id', ...inBody].join(', ') };
}

test.each(operationsBy('GET'))('%s with its ETag, or its HEAD, is 304 until it changes', async (name) => {
  // Totals have no text that a second PUT changes.
  if (name.endsWith('/totals')) await beginAnew();
  const { sent, ignored } = await withUnknownNames(name);
  const first = await send(world, sent);
  expect([first.status, first.headers['x-ignored-parameters']]).toEqual([200, ignored]);
  const { change } = OPERATIONS[name] ?? {};
  if (change === undefined) return;
  const tag = { 'if-none-match': String(first.headers.etag) };
  const unchanged = await send(world, sent, tag);
  expect([unchanged.status, unchanged.text, unchanged.headers.etag]).toEqual([304, '', first.headers.etag]);
  expect(unchanged.headers).not.toHaveProperty('content-length');

  const isOfDashboard = sent.path.startsWith(DASHBOARD);
  const { app } = isOfDashboard ? dashboard : service;
  const authorization = `Bearer ${isOfDashboard ? TOKEN : world.agency.key}`;
  for (const [headers, status] of [
    [{}, 200],
    [tag, 304],
  ] as const) {
    const asked = { url: sent.path, headers: { authorization, ...headers } };
    const head = await app.inject({ method: 'HEAD', ...asked });
    expect([head.statusCode, head.body, head.headers.etag]).toEqual([status, '', first.headers.etag]);
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength(first.text)));
  }

  expect((await send(world, sent)).text).toBe(first.text);
  await run(world, change, has);
  const changed = await send(world, sent, tag);
  expect(changed.status).toBe(200);
  expect(changed.text).not.toBe(first.text);
});

test.each(CREATES)(
  '%s returns its record again for the same Idempotency-Key, and changes nothing',
  async (name) => {
    const before = await everything();
    const { sent, ignored } = await withUnknownNames(name);
    expect(await everything()).toEqual(before);
    const headers = { 'idempotency-key': randomUUID() };
    const first = await send(world, sent, headers);
    expect(first.status).toBe(201);
    expect(first.headers['x-ignored-parameters']).toBe(ignored);
    expect(first.headers).not.toHaveProperty('idempotency-replayed');
    const after = await everything();
    const again = await send(world, sent, headers);
    // Each response has signed links of its own.
    const comparable = ({ status, text }: Reply) => [status, text.replace(/"url":"[^"]+"/, '')];
    expect(comparable(again)).toEqual(comparable(first));
    expect(again.headers['idempotency-replayed']).toBe('true');
    const compared = ['cache-control', 'x-ignored-parameters'];
    for (const header of name.endsWith('attachments') ? compared : [...compared, 'etag'])
      expect(again.headers[header], header).toBe(first.headers[header]);
    expect(again.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
    expect(await everything()).toEqual(after);
  },
);

test('If-None-Match takes several ETags, weakened and suffixed ones and any, and has an effect only on a read that succeeds', async () => {
  const { agency } = world;
  const tag = String((await agency.get('/v1/team')).headers.etag);
  const statusOf = async (header: string, method = 'GET', path = '/v1/team', body?: object) =>
    (await agency.request(method, path, { body, headers: { 'if-none-match': header } })).status;
  for (const header of [`"one",W/${tag},"other,"`, `"one", ${tag.slice(0, -1)}--br"`, '*'])
    expect(await statusOf(header), header).toBe(304);
  for (const header of ['"another"', `"x${tag.slice(1)}`, ''])
    expect(await statusOf(header), header).toBe(200);
  expect(await statusOf('*', 'GET', '/v1/team?limit=0')).toBe(400);
  expect(await statusOf('*', 'PATCH', `/v1/customers/${has.customerId}`, { city: 'Lima' })).toBe(200);
  expect(await statusOf('*', 'POST', '/v1/catalog/products', { title: 'x' })).toBe(201);
});

/** Their responses have a key, or a signed link to a file. */
const SECRET = [
  'GET /v1/quotes/{quoteId}/attachments',
  `GET ${BELOW}/customers/{customerId}/export`,
  `GET ${BELOW}/quotes/{quoteId}/attachments`,
  `POST ${BELOW}/api-keys`,
  `POST ${BELOW}/api-keys/{apiKeyId}/rotate`,
  `POST ${BELOW}/quotes/{quoteId}/attachments`,
];

test('a response with a key or a signed link must not be cached and has no ETag; every other read has one', async () => {
  for (const name of SECRET) {
    const response = await send(world, await requestOf(name, has), { 'if-none-match': '*' });
    expect(response.status, name).toBe(name.startsWith('GET') ? 200 : 201);
    expect(response.text, name).toMatch(/"tcrm_\w{43}_|\/files\//);
    expect(response.headers, name).toMatchObject({ 'cache-control': 'no-store' });
    expect(response.headers, name).not.toHaveProperty('etag');
  }
  const tagged = operationsBy('GET').filter((name) => OPERATIONS[name]?.change);
  expect([...tagged, ...SECRET.slice(0, 3)].sort()).toEqual(operationsBy('GET').sort());
});

/** The last segment of a POST to a record. */
const ACTION = /\/(?:merge|opens|reopen|restore)$/;

describe('a POST that returns a record has the ETag of its next GET:', () => {
  beforeAll(beginAnew);
  const returned = DOCUMENTED.filter(({ method, operation: { responses } }) => {
    const { headers = {} } = responses[201] ?? responses[200] ?? {};
    return method === 'POST' && 'ETag' in headers;
  }).map(({ name }) => name);
  test.each(returned)('%s', async (name) => {
    // Populate has archived products and customers, and no other archived records.
    const archive = name.replace(/^POST (.*)\/restore$/, 'DELETE $1');
    if (archive !== name && !OPERATIONS[name]?.ids) await run(world, archive, has);
    const sent = await requestOf(name, has);
    const { body, headers } = await send(world, sent);
    const path = ACTION.test(sent.path) ? sent.path.replace(ACTION, '') : `${sent.path}/${body.id}`;
    const read = await send(world, { method: 'GET', path });
    expect([read.status, read.body, read.headers.etag]).toEqual([200, body, headers.etag]);
  });
});

test.each(CHANGES)(
  '%s with a stale If-Match changes nothing; with the current ETag it is applied, and returns a new ETag',
  async (name) => {
    if (name.startsWith('DELETE')) await beginAnew();
    const before = await everything();
    const { sent, ignored } = await withUnknownNames(name);
    for (const tag of ['"another"', '', 'W/"another"']) {
      const rejected = await send(world, sent, { 'if-match': tag });
      expect([rejected.status, rejected.body.error?.code]).toEqual([412, 'PRECONDITION_FAILED']);
    }
    expect(await everything()).toEqual(before);

    const read = `GET ${pathOf(name)}`;
    const currentTag = async () => String((await run(world, read, has)).headers.etag);
    const own = read in OPERATIONS ? await currentTag() : '*';
    const done = await send(world, sent, { 'if-match': own });
    // The contact of a sample on WhatsApp is no number, and is named too.
    const named = String(done.headers['x-ignored-parameters']).replace(', body.contact', '');
    expect([done.status, named]).toEqual([200, ignored]);
    expect(await everything()).not.toEqual(before);
    if (name.startsWith('DELETE')) return;
    const tag = String(done.headers.etag);
    expect(tag).not.toBe(own);
    if (own !== '*')
      expect([await currentTag(), (await send(world, sent, { 'if-match': own })).status]).toEqual([tag, 412]);
    expect((await send(world, sent)).headers.etag, 'the same again').toBe(tag);
  },
);

/** Revoking a key or closing an organization a second time returns the first response. */
const ONCE = operationsBy('DELETE').filter((name) => !/\{(apiKeyId|organizationId)\}$/.test(name));

test.each(ONCE)('of 20 simultaneous %s exactly one succeeds and is counted', async (name) => {
  await beginAnew();
  const responses = await Promise.all(Array.from({ length: 20 }, () => run(world, name, has)));
  expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(404)]);
  expect(await findDrift(service, world.agency)).toEqual([]);
});

test('the documents name these headers for the operations that use them, and for no other', () => {
  for (const { name, operation } of DOCUMENTED) {
    const { parameters = [], responses } = operation;
    const named = parameters.filter(({ in: place }) => place === 'header').map((header) => header.name);
    expect(named.includes('Idempotency-Key'), name).toBe(CREATES.includes(name));
    expect(named.includes('If-Match'), name).toBe(CHANGES.includes(name));
    expect(named.includes('If-None-Match'), name).toBe(304 in responses || name.startsWith('PUT'));
  }
});
