import { hash, randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { type Caller, useDashboard } from '../support/dashboard.ts';
import { countAtWork, hold } from '../support/databases.ts';
import { failed, invalid } from '../support/faults.ts';
import { ownApp, ownPool } from '../support/instance.ts';
import { startProxy } from '../support/proxy.ts';
import { contact, customer, formOf, product, quote, web } from '../support/records.ts';
import { type Agency, clientOf, type Reply, useService } from '../support/service.ts';

/** Races and forms of Idempotency-Key and If-Match. What holds for every operation: test/contract/repeats.test.ts. */

const { service, dashboard } = await useDashboard();

const other = await useService({ beside: service });

const PRODUCTS = '/v1/catalog/products';
const CUSTOMERS = '/v1/customers';

const withKey = (key: string, headers = {}) => ({ headers: { 'idempotency-key': key, ...headers } });

const isReplay = ({ headers }: Reply): boolean => headers['idempotency-replayed'] === 'true';

function expectFirst({ status, headers }: Reply): void {
  expect([status, headers['idempotency-replayed']]).toEqual([201, undefined]);
}

function expectReplay(response: Reply, first: Reply): void {
  expect([response.status, response.text, isReplay(response)]).toEqual([first.status, first.text, true]);
}

const REUSED = {
  body: 'This Idempotency-Key was already used with a different body.',
  record: 'The record that this Idempotency-Key created was archived, merged or deleted since.',
};

function expectReused(response: Reply, reason: keyof typeof REUSED = 'body'): void {
  const message = `${REUSED[reason]} Use a new key for a new request.`;
  expect([response.status, response.body.error]).toEqual([409, { code: 'IDEMPOTENCY_KEY_REUSED', message }]);
  expect(isReplay(response)).toBe(false);
}

const IN_PROGRESS = { ...failed(409, 'IDEMPOTENCY_IN_PROGRESS'), headers: { 'retry-after': '1' } };

const visitor = (name: string) => ({ contacts: [web(name)] });

const countOf = async (table: string, { id }: Agency): Promise<number> =>
  (await service.query(`select from ${table} where organization_id = $1`, [id])).length;

test('of a hundred simultaneous requests to two instances one creates a record; the others get that record, or 409 with Retry-After', async () => {
  const agency = await service.agency();
  const clients = [agency, other.client(agency.key)];
  const create = (index: number) =>
    (clients[index % 2] as typeof agency).post(CUSTOMERS, visitor('ana'), withKey('k'));
  const responses = await Promise.all(Array.from({ length: 100 }, (_, index) => create(index)));
  const created = responses.filter(({ status }) => status === 201);
  const [first, ...others] = created.filter((response) => !isReplay(response)) as [Reply];
  expect(others).toEqual([]);
  for (const response of responses) {
    if (response.status === 201) expect(response.text).toBe(first.text);
    else expect(response).toMatchObject(IN_PROGRESS);
  }
  expect(await countOf('customers', agency)).toBe(1);
  for (const index of [0, 1]) expectReplay(await create(index), first);
});

const UNKNOWN = { a: 1, b: [2, 3] };
const BODY = { title: 'Oaxaca', durationDays: 3, unknown: UNKNOWN };

test.each<[string, 'is rejected' | 'is replayed', object | string]>([
  ['another value', 'is rejected', { ...BODY, durationDays: 4 }],
  ['a default that is now sent', 'is rejected', { ...BODY, type: 'package' }],
  ['null in place of an omitted field', 'is rejected', { ...BODY, operator: null }],
  ['another ignored field', 'is rejected', { ...BODY, typo: 1 }],
  ['another order of a list', 'is rejected', { ...BODY, unknown: { ...UNKNOWN, b: [3, 2] } }],
  [
    'another order of fields, other white space, escapes and forms of numbers',
    'is replayed',
    `{ "unknown": {"b":[ 2,3 ], "a":1e0},\n"durationDays":3.0, "title" : "O\\u0061xaca" }`,
  ],
])('a repeated request with %s %s', async (_what, expected, body) => {
  const agency = await service.agency();
  const create = (sent: object | string) =>
    agency.post(PRODUCTS, sent, withKey('k', { 'content-type': 'application/json' }));
  const first = await create(BODY);
  const before = await dashboard.stored(agency);
  const second = await create(body);
  if (expected === 'is replayed') expectReplay(second, first);
  else expectReused(second);
  expect(await dashboard.stored(agency)).toEqual(before);
  expectReplay(await create(BODY), first);
});

/** Creates the visitor Ana with a key, on an instance with a proxy before its database. */
async function behindProxy(agency: Agency) {
  const proxy = await startProxy(service.url);
  onTestFinished(proxy.close);
  const app = await ownApp(service, { db: ownPool(service, { url: proxy.url }) });
  // Caches the agency's API key, which is looked up over another connection.
  await agency.get('/v1/team');
  return { proxy, create: () => clientOf(app)(agency.key).post(CUSTOMERS, visitor('ana'), withKey('k')) };
}

test('a validation error, a conflict or an unreachable database does not use up the key', async () => {
  const agency = await service.agency();
  const { proxy, create } = await behindProxy(agency);
  const { id } = await customer(agency, visitor('ana'));
  expect((await agency.post(CUSTOMERS, { contacts: [] }, withKey('k'))).status).toBe(400);
  const strict = withKey('k', { prefer: 'handling=strict' });
  expect((await agency.post(CUSTOMERS, { ...visitor('ana'), y: 1 }, strict)).status).toBe(400);
  expect((await create()).body.error.code).toBe('CUSTOMER_CONTACT_CONFLICT');
  await agency.delete(`${CUSTOMERS}/${id}`);
  proxy.cut();
  expect((await create()).body.error.code).toBe('SERVICE_UNAVAILABLE');
  proxy.mend();
  const first = await agency.post(CUSTOMERS, visitor('ana'), withKey('k'));
  expectFirst(first);
  expectReplay(await create(), first);
});

// Citus has no constraint triggers.
test.skipIf(inject('workerUrls').length > 0)('a failed commit does not use up the key', async () => {
  const agency = await service.agency();
  const create = () => agency.post(CUSTOMERS, visitor('ana'), withKey('k'));
  await service.query(`create function full_disk() returns trigger language plpgsql as $$
    begin raise exception 'full' using errcode = 'disk_full'; end $$;
    create constraint trigger full_disk after insert on customers
    deferrable initially deferred for each row execute function full_disk()`);
  expect((await create()).body.error.message).toContain(' Nothing was written. ');
  expect(await countOf('customers', agency)).toBe(0);
  await service.query('drop function full_disk cascade');
  expectFirst(await create());
});

test('if the connection breaks after the commit, the client gets 503, and a retry on any instance returns the record', async () => {
  const agency = await service.agency();
  const { proxy, create } = await behindProxy(agency);
  const { committed } = proxy.holdRow();
  const lost = create();
  await committed;
  proxy.cut();
  expect((await lost).body.error.code).toBe('SERVICE_UNAVAILABLE');
  const [stored, ...others] = (await agency.get(CUSTOMERS)).body.data;
  expect(others).toEqual([]);
  const again = await agency.post(CUSTOMERS, visitor('ana'), withKey('k'));
  expect([again.status, isReplay(again), again.body]).toEqual([201, true, stored]);
  proxy.mend();
  expectReplay(await create(), again);
});

test.each([
  [PRODUCTS, 'written and rolled back', { title: 'Lima' }],
  [CUSTOMERS, 'a conflict', visitor('ana')],
])(
  'a key of %s that is stored after the look at it is replayed; the second record would be %s',
  async (path, _would, body) => {
    const agency = await service.agency();
    const first = await agency.post(path, body, withKey('first'));
    const fingerprint = hash('sha256', `${agency.id} POST ${path}\nk`, 'buffer');
    const unlock = await hold(service.ownerUrl, 'lock table products, customers in access exclusive mode');
    const second = agency.post(path, body, withKey('k'));
    await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
    await service.query(
      `insert into idempotency_keys (organization_id, fingerprint, body_hash, record_id)
      select organization_id, $2, body_hash, record_id from idempotency_keys where organization_id = $1`,
      [agency.id, fingerprint],
    );
    await unlock();
    expectReplay(await second, first);
    expect(await countOf(path.split('/').at(-1) ?? '', agency)).toBe(1);
  },
);

test('one key is a different key for each operation and record, whose id may be in upper case', async () => {
  const agency = await service.agency();
  const call = dashboard.of(agency);
  const quotes = [await quote(agency), await quote(agency)];
  for (const { id } of quotes) expectFirst(await upload(call, `/quotes/${id}/attachments`));
  for (const { id } of quotes)
    expect(isReplay(await upload(call, `/quotes/${id.toUpperCase()}/attachments`))).toBe(true);
  expectFirst(await agency.post(PRODUCTS, { title: 'x' }, withKey('k')));
  expectFirst(await agency.post(CUSTOMERS, visitor('ana'), withKey('k')));
  expectFirst(await call.post('/catalog/products', { title: 'x' }, withKey('k')));
});

test('a repeated request returns the record as it is now', async () => {
  const agency = await service.agency();
  const create = () => agency.post(CUSTOMERS, visitor('ana'), withKey('k'));
  const first = await create();
  const url = `${CUSTOMERS}/${first.body.id}`;
  const changed = await agency.patch(url, { city: 'Lima' });
  const again = await create();
  expectReplay(again, { ...changed, status: 201 });
  expect(again.headers.etag).toBe((await agency.get(url)).headers.etag);
});

test.each<[string, (agency: Agency, id: string, other: string) => Promise<unknown>]>([
  ['archived', (agency, id) => agency.delete(`${CUSTOMERS}/${id}`)],
  ['erased', (agency, id) => dashboard.of(agency).post(`/customers/${id}/erase`)],
  ['merged', (agency, id, other) => dashboard.of(agency).post(`/customers/${other}/merge`, { from: id })],
])('a record that was %s since is 409, and creates no second one', async (_how, remove) => {
  const agency = await service.agency();
  const post = { [CUSTOMERS]: agency.post, '/customers': dashboard.of(agency).post };
  for (const [path, send] of Object.entries(post)) {
    const create = (body: object) => send(path, body, withKey('k'));
    const { body } = await create(visitor(path));
    await remove(agency, body.id, (await customer(agency)).id);
    const before = await dashboard.stored(agency);
    expectReused(await create(visitor(path)), 'record');
    expectReused(await create(visitor('eva')));
    expect(await dashboard.stored(agency)).toEqual(before);
  }
});

test('a key has 1 to 255 characters; another length is 400', async () => {
  const agency = await service.agency();
  const create = (length: number) => agency.post(PRODUCTS, { title: 'x' }, withKey('k'.repeat(length)));
  for (const length of [1, 255]) {
    const first = await create(length);
    expectReplay(await create(length), first);
  }
  const invalidKey = invalid(['header.idempotency-key', 'must have 1 to 255 characters']);
  for (const length of [0, 256])
    expect(await create(length)).toMatchObject({ status: 400, body: invalidKey });
  expect(await countOf('products', agency)).toBe(2);
});

test('a key can be used again after 24 hours, even before the sweep and with another body', async () => {
  const agency = await service.agency();
  const update = 'update idempotency_keys set created_at = now() - $2::interval where organization_id = $1';
  const setAge = (age: string) => service.query(update, [agency.id, age]);
  const create = (title: string) => agency.post(PRODUCTS, { title }, withKey('k'));
  const first = await create('Oaxaca');
  await setAge('23 hours');
  expectReplay(await create('Oaxaca'), first);
  await setAge('24 hours 1 second');
  const second = await create('Mérida');
  expectFirst(second);
  expect(second.body.id).not.toBe(first.body.id);
  expectReplay(await create('Mérida'), second);
  expectReused(await create('Oaxaca'));
  expect(await countOf('idempotency_keys', agency)).toBe(1);
});
async function upload(
  call: Caller,
  path: string,
  { kind = 'itinerary', name = 'a.txt', content = 'the bytes' } = {},
) {
  const { body, headers } = await formOf(['kind', kind], ['file', new File([content], name)]);
  return call.post(path, body, withKey('k', headers));
}

test('a repeated upload stores no second file, and returns a new link that works; with another kind, name or content, or after the attachment was deleted, it is 409', async () => {
  const agency = await service.agency();
  const path = `/quotes/${(await quote(agency)).id}/attachments`;
  const call = dashboard.of(agency);
  const files = () => readdir(join(service.dataDir, agency.id)).catch(() => []);
  const first = await upload(call, path);
  expectFirst(first);
  const again = await upload(call, path);
  expect([again.status, isReplay(again)]).toEqual([201, true]);
  expect(again.body).toEqual({ ...first.body, url: again.body.url });
  expect((await service.app.inject(new URL(again.body.url).pathname)).body).toBe('the bytes');
  const before = await dashboard.stored(agency);
  for (const parts of [{ content: 'the bites' }, { kind: 'voucher' }, { name: 'b.txt' }])
    expectReused(await upload(call, path, parts));
  expect(await dashboard.stored(agency)).toEqual(before);
  expect(await files()).toEqual([first.body.id]);
  const archive = path.replace(/\/attachments$/, '');
  await call.delete(archive);
  expectReused(await upload(call, path), 'record');
  await call.post(`${archive}/restore`);
  await call.delete(`${path}/${first.body.id}`);
  expectReused(await upload(call, path), 'record');
  expect([await files(), await countOf('quote_attachments', agency)]).toEqual([[], 0]);
});

const ifMatch = (tag: unknown) => ({ headers: { 'if-match': String(tag) } });

/** The only response that is not 412. */
function onlySuccess(responses: readonly Reply[]): Reply | undefined {
  const [success, ...others] = responses.filter(({ status }) => status < 300);
  expect(others).toEqual([]);
  for (const response of responses)
    if (response !== success) {
      expect(response).toMatchObject(failed(412, 'PRECONDITION_FAILED'));
      expect(response.headers).not.toHaveProperty('etag');
    }
  return success;
}

test('of ten simultaneous PATCHes with one tag, over two instances, one is applied', async () => {
  const agency = await service.agency();
  const clients = [agency, other.client(agency.key)];
  const url = `/v1/customers/${(await customer(agency)).id}`;
  const tag = ifMatch((await agency.get(url)).headers.etag);
  const contacts = [contact('email', 'ana@example.com')];
  const responses = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      (clients[index % 2] as Agency).patch(url, { city: `by ${index}`, contacts }, tag),
    ),
  );
  const applied = onlySuccess(responses);
  const { text, headers } = await agency.get(url);
  expect([text, headers.etag]).toEqual([applied?.text, applied?.headers.etag]);
});

test('of ten simultaneous PUTs that may only create, or that have one tag, one is applied', async () => {
  const { get, put } = dashboard.of(await service.agency());
  const path = `/pipeline-stages/${randomUUID()}`;
  const putTen = async (options: object) => {
    const bodies = Array.from({ length: 10 }, (_, index) => ({ key: 'new', name: `by ${index}` }));
    return onlySuccess(await Promise.all(bodies.map((body) => put(path, body, options))));
  };
  const created = await putTen({ headers: { 'if-none-match': '*' } });
  expect([created?.status, created?.text]).toEqual([201, (await get(path)).text]);
  // Differs from each of the ten bodies.
  const { headers } = await put(path, { key: 'new', name: 'by one before' });
  const replaced = await putTen(ifMatch(headers.etag));
  expect([replaced?.status, replaced?.text]).toEqual([200, (await get(path)).text]);
  // Only `*` asks for a record that does not exist.
  const another = await put(path, { key: 'new', name: 'another' }, { headers: { 'if-none-match': OTHER } });
  expect(another.status).toBe(200);
});

const NONE = 'No record has this id. To create one, omit If-Match.';

test.each(['*', '"a-tag"'])(
  'a PUT with If-Match %s of an id without a record creates none, and says so',
  async (tag) => {
    const { get, put } = dashboard.of(await service.agency());
    const path = `/opportunities/${randomUUID()}`;
    const { status, body } = await put(path, { salesStage: 'new' }, ifMatch(tag));
    expect([status, body.error.message]).toEqual([412, NONE]);
    expect((await get(path)).status).toBe(404);
  },
);

const OTHER = `"${'A'.repeat(43)}"`;
const CHANGED = 'The record has changed since you read it. Read it again and send its new ETag.';
const NO_TAG = 'If-Match has no entity tag. Send the ETag of the response unchanged, with its quotes.';

test.each<[string, (tag: string) => string, message?: string]>([
  ['a list with the tag', (tag) => `${OTHER},${tag} ,"x"`],
  ['a list of tags that a proxy weakened', (tag) => `W/${OTHER}, W/${tag}`],
  ['the tag with the suffix of a proxy', (tag) => `${tag.slice(0, -1)}-gzip"`],
  ['a list with a star', () => `${OTHER}, *`, CHANGED],
  ['a part of the tag', (tag) => `${tag.slice(0, 20)}"`, CHANGED],
  ['a list of other weak tags', () => `W/${OTHER}, W/"x-gzip"`, CHANGED],
  ['the tag without quotes', (tag) => tag.slice(1, -1), NO_TAG],
])('a PATCH whose If-Match is %s is applied, or its error says why not', async (_what, header, message) => {
  const agency = await service.agency();
  const url = `/v1/catalog/products/${(await product(agency)).id}`;
  const tag = String((await agency.get(url)).headers.etag);
  const { status, body } = await agency.patch(url, { title: 'Mérida' }, ifMatch(header(tag)));
  expect([status, body.error?.message]).toEqual([message ? 412 : 200, message]);
  expect((await agency.get(url)).body.title).toBe(message ? 'Oaxaca' : 'Mérida');
});
