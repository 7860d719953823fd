import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { buildDashboard, type Caller, type Dashboard, useDashboard } from '../support/dashboard.ts';
import { ownApp, ownPool } from '../support/instance.ts';
import { startProxy } from '../support/proxy.ts';
import { customer, quote } from '../support/records.ts';
import { type Agency, clientOf, type Reply, type Service, startService } from '../support/service.ts';
import { hasWord, inDatabase } from '../support/words.ts';

/** Idempotency-Key: a POST that is sent again is answered with its first answer, and does nothing. */

const { service, dashboard } = useDashboard();

const PRODUCTS = '/v1/catalog/products';
const CUSTOMERS = '/v1/customers';

const keyed = (key: string, headers: Record<string, string> = {}) => ({
  headers: { 'idempotency-key': key, ...headers },
});

const isReplay = ({ headers }: Reply): boolean => headers['idempotency-replayed'] === 'true';

function expectFirst(answer: Reply, status = 201): void {
  expect([answer.status, answer.headers['idempotency-replayed']]).toEqual([status, undefined]);
}

function expectReplay(answer: Reply, first: Reply): void {
  expect([answer.status, answer.text, isReplay(answer)]).toEqual([first.status, first.text, true]);
}

/** @param how what of the request is not as it was */
function expectReused(answer: Reply, how = 'body'): void {
  const message = `This Idempotency-Key was already used with a different ${how}. Use a new key for a new request.`;
  expect([answer.status, answer.body.error]).toEqual([409, { code: 'IDEMPOTENCY_KEY_REUSED', message }]);
  expect(isReplay(answer)).toBe(false);
}

function expectInProgress({ status, body, headers }: Reply): void {
  expect([status, body.error.code, headers['retry-after']]).toEqual([409, 'IDEMPOTENCY_IN_PROGRESS', '1']);
}

const visitor = (name: string) => ({ contacts: [{ identifierType: 'web', identifierValue: name }] });

type Parts = { kind?: string; name?: string; content?: string };

/** An upload with the key `k`. */
async function upload(call: Caller, path: string, parts: Parts = {}): Promise<Reply> {
  const { kind = 'itinerary', name = 'a.txt', content = 'the bytes' } = parts;
  const form = new FormData();
  form.append('kind', kind);
  form.append('file', new Blob([content]), name);
  const sent = new Response(form);
  const type = sent.headers.get('content-type') ?? '';
  return call.post(path, Buffer.from(await sent.arrayBuffer()), keyed('k', { 'content-type': type }));
}

const countOf = async (table: string, { id }: Agency): Promise<number> => {
  const [row] = await service.query<{ count: number }>(
    `select count(*)::int as count from ${table} where organization_id = $1`,
    [id],
  );
  return row?.count ?? Number.NaN;
};

let other: Service;
beforeAll(async () => {
  other = await startService({ beside: service });
});
afterAll(() => other?.close());

describe('the same POST with the same key', () => {
  test('sent a hundred times at once to two instances makes one record, and tells every sender of it or to wait', async () => {
    const agency = await service.agency();
    const clients = [agency, other.client(agency.key)];
    const create = (index: number) =>
      (clients[index % 2] as typeof agency).post(CUSTOMERS, visitor('ana'), keyed('k'));
    const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => create(index)));

    const [first, ...more] = answers.filter(({ status }) => status === 201);
    if (!first) throw new Error('None was created.');
    for (const { text } of more) expect(text).toBe(first.text);
    expect([first, ...more].filter((answer) => !isReplay(answer))).toHaveLength(1);
    for (const answer of answers) if (answer.status !== 201) expectInProgress(answer);
    expect(await countOf('customers', agency)).toBe(1);
    for (const index of [0, 1]) expectReplay(await create(index), first);
  });
});

const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth));
const NONSENSE = { a: 1, b: [2], deep: nested(29) };
const BODY = { title: 'Oaxaca', durationDays: 3, nonsense: NONSENSE };
const DEEP = JSON.stringify(NONSENSE.deep);

test.each<[string, 'another' | 'the same', object | string]>([
  ['another value', 'another', { ...BODY, durationDays: 4 }],
  ['one name less', 'another', { title: 'Oaxaca', nonsense: NONSENSE }],
  ['a default that was not written', 'another', { ...BODY, type: 'package' }],
  ['null for what was left out', 'another', { ...BODY, operator: null }],
  ['one name more that has no effect', 'another', { ...BODY, typo: 1 }],
  ['another value of a name that has no effect', 'another', { ...BODY, nonsense: { ...NONSENSE, b: [3] } }],
  ['another value however deep', 'another', { ...BODY, nonsense: { ...NONSENSE, deep: nested(28) } }],
  [
    'names in another order',
    'the same',
    `{"nonsense":{"b":[2],"deep":${DEEP},"a":1},"durationDays":3,"title":"Oaxaca"}`,
  ],
  [
    'white space, and another way to write a character or number',
    'the same',
    `{ "title" : "O\\u0061xaca",\n"durationDays":3.0, "nonsense": {"a":1e0, "b":[ 2 ], "deep":${DEEP}} }`,
  ],
])('%s makes a body %s', async (_name, which, other) => {
  const agency = await service.agency();
  const create = (body: object | string) =>
    agency.post(PRODUCTS, body, keyed('k', { 'content-type': 'application/json' }));
  const first = await create(BODY);
  const before = await dashboard.stored(agency);
  const second = await create(other);
  if (which === 'another') expectReused(second);
  else expectReplay(second, first);
  expect(await dashboard.stored(agency)).toEqual(before);
  expectReplay(await create(BODY), first);
});

test('a key is not used up by a request that is not valid, by a conflict, or by a database that is out of reach', async () => {
  const agency = await service.agency();
  const { proxy, create } = await behindProxy(agency);
  const { id } = await customer(agency, visitor('ana'));
  expect((await agency.post(CUSTOMERS, { contacts: [] }, keyed('k'))).status).toBe(400);
  const strict = keyed('k', { prefer: 'handling=strict' });
  expect((await agency.post(CUSTOMERS, { ...visitor('ana'), y: 1 }, strict)).status).toBe(400);
  expect((await create()).body.error.code).toBe('CUSTOMER_CONTACT_CONFLICT');
  await agency.delete(`${CUSTOMERS}/${id}`);
  proxy.cut();
  expect((await create()).body.error.code).toBe('SERVICE_UNAVAILABLE');
  proxy.mend();
  const first = await agency.post(CUSTOMERS, visitor('ana'), keyed('k'));
  expectFirst(first);
  expectReplay(await create(), first);
});

// Citus has no constraint triggers.
test.skipIf(inject('workerUrls').length > 0)('a key is not used up by a commit that fails', async () => {
  const agency = await service.agency();
  const create = () => agency.post(CUSTOMERS, visitor('ana'), keyed('k'));
  await service.query(`create function full_disk() returns trigger language plpgsql as $$
    begin raise exception 'full' using errcode = 'disk_full'; end $$`);
  await service.query(`create constraint trigger full_disk after insert on customers
    deferrable initially deferred for each row execute function full_disk()`);
  expect((await create()).body.error.code).toBe('SERVICE_UNAVAILABLE');
  await service.query('drop function full_disk cascade');
  expectFirst(await create());
});

/** An instance whose way to the database can be cut, and a POST with a key to it. */
async function behindProxy(agency: Agency) {
  const proxy = await startProxy(service.url);
  onTestFinished(proxy.close);
  const app = await ownApp(service, { db: ownPool(service, { url: proxy.url }) });
  const create = () => clientOf(app)(agency.key).post(CUSTOMERS, visitor('ana'), keyed('k'));
  // The key of the agency is in memory now.
  await agency.get('/v1/team');
  return { proxy, create };
}

test('when the answer is lost after the commit the sender hears 503, and any instance replays it', async () => {
  const agency = await service.agency();
  const { proxy, create } = await behindProxy(agency);
  const { committed } = proxy.holdCommit();
  const cutOff = create();
  await committed;
  proxy.cut();
  expect((await cutOff).body.error.code).toBe('SERVICE_UNAVAILABLE');
  const [stored, ...others] = (await agency.get(CUSTOMERS)).body.data;
  expect(others).toEqual([]);
  const again = await agency.post(CUSTOMERS, visitor('ana'), keyed('k'));
  expect([again.status, isReplay(again), again.body]).toEqual([201, true, stored]);
  proxy.mend();
  expectReplay(await create(), again);
});

test('one request with a key is one record, however its path is spelled', async () => {
  const agency = await service.agency();
  const first = await agency.post(PRODUCTS, { title: 'x' }, keyed('k'));
  for (const path of ['/v1/catalog/%70roducts', '/%76%31/catalog/products?x=1']) {
    const headers = { 'x-api-key': agency.key, 'idempotency-key': 'k' };
    const again = await service.app.inject({ method: 'POST', url: path, headers, payload: { title: 'x' } });
    expect([again.statusCode, again.body]).toEqual([201, first.text]);
  }
  expect(await countOf('products', agency)).toBe(1);

  const { id } = await quote(agency, { status: 'published' });
  const open = (agencyId: string, quoteId: string) =>
    dashboard.of({ id: agencyId }).post(`/quotes/${quoteId}/opens`, {}, keyed('k'));
  const opened = await open(agency.id, id);
  expectReplay(await open(agency.id.toUpperCase(), id.toUpperCase()), opened);
  expect((await agency.get('/v1/quotes')).body.data[0].openCount).toBe(1);
});

test('one key serves requests to different records: each has its own effect, and its own replay', async () => {
  const agency = await service.agency();
  const quotes = [await quote(agency, { status: 'published' }), await quote(agency, { status: 'published' })];
  const open = (id: string) => dashboard.of(agency).post(`/quotes/${id}/opens`, {}, keyed('opened'));
  for (const { id } of quotes) {
    const first = await open(id);
    expectFirst(first, 200);
    expect(first.body).toMatchObject({ id, openCount: 1 });
    expectReplay(await open(id), first);
  }
});

test('a key has 1 to 255 characters: others are refused, and nothing is written', async () => {
  const agency = await service.agency();
  const create = (length: number) => agency.post(PRODUCTS, { title: 'x' }, keyed('k'.repeat(length)));
  for (const length of [1, 255]) {
    const first = await create(length);
    expectFirst(first);
    expectReplay(await create(length), first);
  }
  const before = await dashboard.stored(agency);
  for (const length of [0, 256]) {
    const { status, body } = await create(length);
    const fault = { path: 'header.idempotency-key', message: 'must have 1 to 255 characters' };
    expect([status, body.error.details]).toEqual([400, [fault]]);
  }
  expect(await dashboard.stored(agency)).toEqual(before);
});

test('a key is kept for 24 hours; then it is free, swept or not, also for another body', async () => {
  const agency = await service.agency();
  const age = (age: string) =>
    service.query(
      'update idempotency_keys set created_at = now() - $2::interval where organization_id = $1',
      [agency.id, age],
    );
  const create = (title: string) => agency.post(PRODUCTS, { title }, keyed('k'));
  const first = await create('Oaxaca');
  await age('23 hours');
  expectReplay(await create('Oaxaca'), first);
  await age('24 hours 1 second');
  const second = await create('Mérida');
  expectFirst(second);
  expect(second.body.id).not.toBe(first.body.id);
  expectReplay(await create('Mérida'), second);
  expectReused(await create('Oaxaca'));
  expect(await countOf('idempotency_keys', agency)).toBe(1);
});

describe('an upload', () => {
  /** A replay but for its link, which is signed anew. */
  function expectReplayed(answer: Reply, first: Reply): void {
    expect([answer.status, { ...answer.body, url: first.body.url }, isReplay(answer)]).toEqual([
      first.status,
      first.body,
      true,
    ]);
  }

  async function furnished(at = dashboard) {
    const agency = await service.agency();
    const { id } = await quote(agency, { status: 'published' });
    const call = at.of(agency);
    const path = `/quotes/${id}/attachments`;
    const attach = (parts?: Parts) => upload(call, path, parts);
    const files = () => readdir(join(service.dataDir, agency.id)).catch(() => []);
    return { agency, call, path, attach, files };
  }

  test('that is sent again gets the first answer, and leaves no second file', async () => {
    const { agency, call, path, attach, files } = await furnished();
    const first = await attach();
    expectFirst(first);
    expectReplayed(await attach(), first);
    expect(await files()).toEqual([first.body.id]);
    const { pathname } = new URL(first.body.url);
    expect((await service.app.inject(pathname)).body).toBe('the bytes');
    await call.delete(`${path}/${first.body.id}`);
    expectReplayed(await attach(), first);
    expect(await files()).toEqual([]);
    expect(await countOf('quote_attachments', agency)).toBe(0);
  });

  test('that is sent again an hour later gets a link that works', async () => {
    const clock = { now: Date.now() - 3_600_000 };
    const earlier = await buildDashboard(service, { now: () => clock.now });
    onTestFinished(() => earlier.app.close());
    const { attach } = await furnished(earlier);
    const download = ({ body }: Reply) => service.app.inject(new URL(body.url).pathname);
    const first = await attach();
    expect((await download(first)).statusCode).toBe(403);
    clock.now = Date.now();
    const again = await attach();
    expectReplayed(again, first);
    expect((await download(again)).body).toBe('the bytes');
  });

  test('with another part under the same key is refused, and its file does not stay', async () => {
    const { agency, attach, files } = await furnished();
    const first = await attach();
    const before = await dashboard.stored(agency);
    for (const part of [{ content: 'the bites' }, { kind: 'voucher' }, { name: 'b.txt' }])
      expectReused(await attach(part));
    expect(await files()).toEqual([first.body.id]);
    expect(await dashboard.stored(agency)).toEqual(before);
  });

  test('sent many times at once makes one attachment with one file', async () => {
    const { agency, attach, files } = await furnished();
    const answers = await Promise.all(Array.from({ length: 12 }, () => attach()));
    const created = answers.filter(({ status }) => status === 201);
    expect(created.filter((answer) => !isReplay(answer))).toHaveLength(1);
    for (const answer of answers) if (answer.status !== 201) expectInProgress(answer);
    expect(await files()).toEqual([created[0]?.body.id]);
    expect(await countOf('quote_attachments', agency)).toBe(1);
  });
});

describe('what is kept', () => {
  /** Where the text stands in the database: as it is, or in other digits. */
  const isKept = async (text: string): Promise<boolean> => {
    const kept = await service.query<{ body: Buffer }>('select body from idempotency_keys');
    const texts = kept.map(({ body }) => body.toString('latin1')).join('\n');
    return hasWord(texts, text) || (await inDatabase(service, text)).size > 0;
  };
  const issue = (at: Dashboard, agency: Agency, headers = {}) =>
    at.of(agency).post('/api-keys', { name: 'sync' }, keyed('k', headers));

  test('does not tell the key, an issued or rotated API key, or a signed link; and is still replayed', async () => {
    const agency = await service.agency();
    await agency.post(PRODUCTS, { title: 'a title that is stored' }, keyed('a key that is not stored'));
    const issued = await issue(dashboard, agency);
    const rotate = () =>
      dashboard.of(agency).post(`/api-keys/${issued.body.id}/rotate`, { overlapSeconds: 60 }, keyed('k'));
    const rotated = await rotate();
    const { id } = await quote(agency, { status: 'published' });
    const attached = await upload(dashboard.of(agency), `/quotes/${id}/attachments`);
    expectFirst(attached);
    const token = new URL(attached.body.url).pathname.slice('/files/'.length);
    for (const text of ['a title that is stored', issued.body.start, rotated.body.start])
      expect(await isKept(text), text).toBe(true);
    for (const secret of ['a key that is not stored', issued.body.key, rotated.body.key, token])
      expect(await isKept(secret)).toBe(false);
    expectReplay(await issue(dashboard, agency), issued);
    expectReplay(await rotate(), rotated);
    expect((await service.client(rotated.body.key).get('/v1/team')).status).toBe(200);
    expect(await countOf('api_keys', agency)).toBe(3);
  });

  test('can be opened by who has the token of the dashboard, and by nobody else', async () => {
    const agency = await service.agency();
    // No part of what the answer is sealed with, whatever it says.
    const first = await issue(dashboard, agency, { 'x-api-key': 'something else' });
    expectFirst(first);
    expectReplay(await issue(dashboard, agency), first);
    const token = 'dashboard-token-of-the-test-service-0002';
    const changed = await buildDashboard(service, { token });
    onTestFinished(() => changed.app.close());
    const refused = await changed.of(agency).post('/api-keys', { name: 'sync' }, { ...keyed('k'), token });
    expectReused(refused, 'token');
    expect(await countOf('api_keys', agency)).toBe(2);
  });
});
