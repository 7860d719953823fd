import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { buildDashboard, type Dashboard, useDashboard } from '../support/dashboard.ts';
import { ownApp, ownPool } from '../support/instance.ts';
import { freePort, startProcess } from '../support/process.ts';
import { startProxy } from '../support/proxy.ts';
import { customer, quote } from '../support/records.ts';
import { type Agency, clientOf, type Reply, type Service, startService } from '../support/service.ts';
import { listen, requestBytes } from '../support/socket.ts';

/** Idempotency-Key: a POST that is sent again is answered with its first answer, and does nothing. */

const { service, dashboard } = useDashboard();

const PRODUCTS = '/v1/catalog/products';
const CUSTOMERS = '/v1/customers';
const INERT = 'x-ignored-parameters';

const keyed = (key: string, headers: Record<string, string> = {}) => ({
  headers: { 'idempotency-key': key, ...headers },
});

const isReplay = ({ headers }: Pick<Reply, 'headers'>): boolean => headers['idempotency-replayed'] === 'true';

function expectFirst(answer: Reply, status = 201): void {
  expect([answer.status, answer.headers['idempotency-replayed']]).toEqual([status, undefined]);
}

function expectReplay(answer: Reply, first: Reply): void {
  expect([answer.status, answer.text, answer.headers['idempotency-replayed']]).toEqual([
    first.status,
    first.text,
    'true',
  ]);
}

/** @param how what of the request is not as it was */
function expectReused(answer: Reply, how = 'body'): void {
  expect([answer.status, answer.body.error]).toEqual([
    409,
    {
      code: 'IDEMPOTENCY_KEY_REUSED',
      message: `This idempotency key came with another ${how} before.`,
    },
  ]);
  expect(isReplay(answer)).toBe(false);
}

function expectInProgress({ status, body, headers }: Reply): void {
  expect([status, body.error.code, headers['retry-after']]).toEqual([409, 'IDEMPOTENCY_IN_PROGRESS', '1']);
}

const visitor = (name: string) => ({ contacts: [{ identifierType: 'web', identifierValue: name }] });

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
  test('is answered with the first answer, whatever became of the record', async () => {
    const agency = await service.agency();
    const create = () => agency.post(PRODUCTS, { title: 'Oaxaca', nonsense: 1 }, keyed('k'));
    const first = await create();
    expectFirst(first);
    expectReplay(await create(), first);
    const url = `${PRODUCTS}/${first.body.id}`;
    await agency.patch(url, { title: 'Mérida' });
    expectReplay(await create(), first);
    await agency.delete(url);
    const again = await create();
    expectReplay(again, first);
    expect([first.headers[INERT], again.headers[INERT]]).toEqual(['body.nonsense', 'body.nonsense']);
    expect(again.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
    // The tag of what is answered: the record has another one by now.
    expect(again.headers.etag).toBe(first.headers.etag);
    expect(await countOf('products', agency)).toBe(1);
  });

  test('sent a hundred times at once to two instances makes one record, and tells every sender of it or to wait', async () => {
    const agency = await service.agency();
    const clients = [agency, other.client(agency.key)];
    const create = (index: number) =>
      (clients[index % 2] as typeof agency).post(CUSTOMERS, visitor('ana'), keyed('k'));
    const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => create(index)));

    const [created, refused] = [201, 409].map((status) => answers.filter((one) => one.status === status));
    expect(created?.length).toBeGreaterThan(0);
    expect([...(created ?? []), ...(refused ?? [])]).toHaveLength(100);
    expect(new Set(created?.map(({ text }) => text)).size).toBe(1);
    expect(created?.filter((answer) => !isReplay(answer))).toHaveLength(1);
    for (const answer of refused ?? []) expectInProgress(answer);
    expect(await countOf('customers', agency)).toBe(1);
    for (const index of [0, 1]) expectReplay(await create(index), created?.[0] as Reply);
  });
});

describe('the same key with another body', () => {
  const BODY = { title: 'Oaxaca', durationDays: 3, nonsense: { a: 1, b: [2] } };

  test.each<[string, object]>([
    ['another value', { ...BODY, durationDays: 4 }],
    ['one name less', { title: 'Oaxaca', nonsense: BODY.nonsense }],
    ['a default that was not written', { ...BODY, type: 'package' }],
    ['null for what was left out', { ...BODY, operator: null }],
    ['one name more that has no effect', { ...BODY, typo: 1 }],
    ['another value of a name that has no effect', { ...BODY, nonsense: { a: 1, b: [2, 3] } }],
  ])('%s: 409, and nothing is written', async (_name, body) => {
    const agency = await service.agency();
    const first = await agency.post(PRODUCTS, BODY, keyed('k'));
    const before = await dashboard.stored(agency);
    expectReused(await agency.post(PRODUCTS, body, keyed('k')));
    expect(await dashboard.stored(agency)).toEqual(before);
    expectReplay(await agency.post(PRODUCTS, BODY, keyed('k')), first);
  });

  test.each<[string, string]>([
    ['names in another order', '{"nonsense":{"b":[2],"a":1},"durationDays":3,"title":"Oaxaca"}'],
    ['white space', '{ "title" : "Oaxaca",\n"durationDays":3, "nonsense": {"a":1, "b":[ 2 ]} }'],
    [
      'another way to write a character or number',
      '{"title":"O\\u0061xaca","durationDays":3.0,"nonsense":{"a":1e0,"b":[2]}}',
    ],
  ])('is not meant by %s', async (_name, body) => {
    const agency = await service.agency();
    const first = await agency.post(PRODUCTS, BODY, keyed('k'));
    const again = await agency.post(PRODUCTS, body, keyed('k', { 'content-type': 'application/json' }));
    expectReplay(again, first);
  });

  test('is told apart however deep the difference is', async () => {
    const agency = await service.agency();
    const nested = (depth: number) =>
      agency.post(
        PRODUCTS,
        `{"title":"Oaxaca","nonsense":${'['.repeat(depth)}${']'.repeat(depth)}}`,
        keyed('k', { 'content-type': 'application/json' }),
      );
    const first = await nested(30);
    expectFirst(first);
    expectReplay(await nested(30), first);
    expectReused(await nested(29));
  });
});

describe('a key is not used up by', () => {
  test('a request that is not valid', async () => {
    const agency = await service.agency();
    expect((await agency.post(PRODUCTS, { title: '' }, keyed('k'))).status).toBe(400);
    const strict = await agency.post(
      PRODUCTS,
      { title: 'x', y: 1 },
      keyed('k', { prefer: 'handling=strict' }),
    );
    expect(strict.status).toBe(400);
    expectFirst(await agency.post(PRODUCTS, { title: 'Oaxaca' }, keyed('k')));
  });

  test('a conflict', async () => {
    const agency = await service.agency();
    const { id } = await customer(agency, visitor('ana'));
    const create = () => agency.post(CUSTOMERS, visitor('ana'), keyed('k'));
    const refused = await create();
    expect([refused.status, refused.body.error.code]).toEqual([409, 'CUSTOMER_CONTACT_CONFLICT']);
    await agency.delete(`${CUSTOMERS}/${id}`);
    const first = await create();
    expectFirst(first);
    expectReplay(await create(), first);
  });

  test('a database that is out of reach', async () => {
    const agency = await service.agency();
    const { proxy, create } = await behindProxy(agency);
    proxy.cut();
    const refused = await create();
    expect([refused.status, refused.body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    proxy.mend();
    const first = await agency.post(CUSTOMERS, visitor('ana'), keyed('k'));
    expectFirst(first);
    expectReplay(await create(), first);
  });
});

/** An instance whose way to the database can be cut, and a POST with a key to it. */
async function behindProxy(agency: Agency) {
  const proxy = await startProxy(service.url);
  onTestFinished(proxy.close);
  const app = await ownApp(service, { db: ownPool(service, { url: proxy.url }) });
  const create = () => clientOf(app)(agency.key).post(CUSTOMERS, visitor('ana'), keyed('k'));
  // The key of the agency is in memory now.
  await agency.get('/v1/team');
  return { app, proxy, create };
}

/** The one customer that there is, as its own GET shows it. */
async function onlyCustomer(agency: Agency): Promise<unknown> {
  const { body } = await agency.get(CUSTOMERS);
  expect(body.pagination.total).toBe(1);
  return body.data[0];
}

describe('when the answer is lost after the commit, the same again is a replay', () => {
  test('because the connection to the database broke: the sender heard 503', async () => {
    const agency = await service.agency();
    const { proxy, create } = await behindProxy(agency);
    const { committed } = proxy.holdCommit();
    const cutOff = create();
    await committed;
    proxy.cut();
    const answer = await cutOff;
    expect([answer.status, answer.body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(isReplay(answer)).toBe(false);
    proxy.mend();
    const again = await create();
    expect([again.status, again.body]).toEqual([201, await onlyCustomer(agency)]);
    expectReplay(await agency.post(CUSTOMERS, visitor('ana'), keyed('k')), again);
  });

  test('because the sender was cut off', async () => {
    const agency = await service.agency();
    const { app, proxy, create } = await behindProxy(agency);
    const { port } = await listen({ app });
    const { committed, letThrough } = proxy.holdCommit();
    const socket = connect(port, '127.0.0.1');
    const headers = {
      Authorization: `Bearer ${agency.key}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': 'k',
    };
    socket.write(requestBytes('POST', CUSTOMERS, headers, JSON.stringify(visitor('ana'))));
    await committed;
    socket.destroy();
    letThrough();
    const again = await create();
    expect([again.status, again.body]).toEqual([201, await onlyCustomer(agency)]);
    expect(isReplay(again)).toBe(true);
  });

  test('because the instance was killed: another one replays it', async () => {
    const agency = await service.agency();
    const proxy = await startProxy(service.url);
    const common = { DATABASE_DIRECT_URL: service.ownerUrl, DATA_DIR: service.dataDir, HOST: '127.0.0.1' };
    const processes = await Promise.all(
      [proxy.url, service.url].map(async (url) => {
        const ports = { PORT: await freePort(), DASHBOARD_PORT: await freePort() };
        const started = startProcess({ ...common, ...ports, DATABASE_URL: url });
        onTestFinished(() => void started.child.kill('SIGKILL'));
        await started.until('Try it:');
        return { ...started, origin: `http://127.0.0.1:${ports.PORT}` };
      }),
    );
    onTestFinished(proxy.close);
    const [killed, left] = processes as [(typeof processes)[0], (typeof processes)[0]];
    const create = ({ origin }: { origin: string }) =>
      fetch(origin + CUSTOMERS, {
        method: 'POST',
        headers: {
          'x-api-key': agency.key,
          'content-type': 'application/json',
          'idempotency-key': 'k',
        },
        body: JSON.stringify(visitor('ana')),
      });
    const { committed } = proxy.holdCommit();
    const unheard = expect(create(killed)).rejects.toThrow('fetch failed');
    await committed;
    killed.child.kill('SIGKILL');
    await unheard;

    const again = await create(left);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(await again.json()).toEqual(await onlyCustomer(agency));
  });
});

describe('a key belongs to its organization and its path', () => {
  test('so that it is free on another path, and means nothing to another method', async () => {
    const agency = await service.agency();
    const call = dashboard.of(agency);
    const product = await agency.post(PRODUCTS, { title: 'Oaxaca' }, keyed('k'));
    expectFirst(product);
    expectFirst(await agency.post(CUSTOMERS, visitor('ana'), keyed('k')));
    expectFirst(await call.post('/api-keys', { name: 'x' }, keyed('k')));
    const published = () => quote(agency, { status: 'published' });
    for (const { id } of [await published(), await published()])
      expectFirst(await call.post(`/quotes/${id}/opens`, {}, keyed('k')), 200);
    expectFirst(await dashboard.post('/organizations', { name: 'x' }, keyed(agency.id)));
    const url = `${PRODUCTS}/${product.body.id}`;
    for (const title of ['Mérida', 'Puebla']) {
      const patched = await agency.request('PATCH', url, { body: { title }, ...keyed('k') });
      expectFirst(patched, 200);
      expect(patched.body.title).toBe(title);
    }
    expectFirst(await agency.get(url, keyed('k')), 200);
  });

  test('so that one request is one record, however its path is spelled', async () => {
    const agency = await service.agency();
    const create = async (url: string) => {
      const headers = { 'x-api-key': agency.key, 'idempotency-key': 'k' };
      const { statusCode, body } = await service.app.inject({
        method: 'POST',
        url,
        headers,
        payload: { title: 'x' },
      });
      return [statusCode, body];
    };
    const first = await create(PRODUCTS);
    expect(await create('/v1/catalog/%70roducts')).toEqual(first);
    expect(await create('/%76%31/catalog/products?x=1')).toEqual(first);
    expect(await countOf('products', agency)).toBe(1);

    const { id } = await quote(agency, { status: 'published' });
    const opened = await dashboard.of(agency).post(`/quotes/${id}/opens`, {}, keyed('k'));
    const again = await dashboard
      .of({ id: agency.id.toUpperCase() })
      .post(`/quotes/${id.toUpperCase()}/opens`, {}, keyed('k'));
    expectReplay(again, opened);
    expect((await agency.get('/v1/quotes')).body.data[0].openCount).toBe(1);
  });

  test('so that what has no organization is kept apart from all that have one', async () => {
    const create = () => dashboard.post('/organizations', { name: 'Nueva' }, keyed('of the service'));
    const first = await create();
    expectFirst(first);
    expectReplay(await create(), first);
    expectReused(await dashboard.post('/organizations', { name: 'Otra' }, keyed('of the service')));
  });
});

describe('a key has 1 to 255 characters', () => {
  test.each([1, 255])('%i are taken', async (length) => {
    const agency = await service.agency();
    const create = () => agency.post(PRODUCTS, { title: 'x' }, keyed('k'.repeat(length)));
    const first = await create();
    expectFirst(first);
    expectReplay(await create(), first);
  });

  test.each([0, 256])('%i are refused, and nothing is written', async (length) => {
    const agency = await service.agency();
    const before = await dashboard.stored(agency);
    const { status, body } = await agency.post(PRODUCTS, { title: 'x' }, keyed('k'.repeat(length)));
    expect(status).toBe(400);
    expect(body.error.details).toEqual([
      { path: 'header.idempotency-key', message: 'must have 1 to 255 characters' },
    ]);
    expect(await dashboard.stored(agency)).toEqual(before);
  });
});

describe('a key is kept for 24 hours', () => {
  const age = ({ id }: Agency, age: string) =>
    service.query(
      'update idempotency_keys set created_at = now() - $2::interval where organization_id = $1',
      [id, age],
    );
  const create = (agency: Agency, title = 'Oaxaca') => agency.post(PRODUCTS, { title }, keyed('k'));

  test('until then it is a replay', async () => {
    const agency = await service.agency();
    const first = await create(agency);
    await age(agency, '23 hours');
    expectReplay(await create(agency), first);
  });

  test('then it is free, swept or not, also for another body', async () => {
    const agency = await service.agency();
    const first = await create(agency);
    await age(agency, '24 hours 1 second');
    const second = await create(agency, 'Mérida');
    expectFirst(second);
    expect(second.body.id).not.toBe(first.body.id);
    expectReplay(await create(agency, 'Mérida'), second);
    expectReused(await create(agency));
    expect(await countOf('idempotency_keys', agency)).toBe(1);
  });
});

describe('an upload', () => {
  type Parts = { kind?: string; name?: string; content?: string };

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
    const attach = async (
      { kind = 'itinerary', name = 'a.txt', content = 'the bytes' }: Parts = {},
      key = 'k',
    ) => {
      const form = new FormData();
      form.append('kind', kind);
      form.append('file', new Blob([content]), name);
      const upload = new Response(form);
      const type = upload.headers.get('content-type') ?? '';
      const body = Buffer.from(await upload.arrayBuffer());
      return call.post(path, body, keyed(key, { 'content-type': type }));
    };
    const files = () => readdir(join(service.dataDir, agency.id)).catch(() => []);
    return { agency, call, id, path, attach, files };
  }

  test('that is sent again gets the first answer, and leaves no second file', async () => {
    const { agency, call, id, path, attach, files } = await furnished();
    const first = await attach();
    expectFirst(first);
    expectReplayed(await attach(), first);
    expect(await files()).toEqual([first.body.id]);
    const { pathname } = new URL(first.body.url);
    expect((await service.app.inject(pathname)).body).toBe('the bytes');
    await call.delete(`${path}/${first.body.id}`);
    expectReplayed(await attach(), first);
    await call.delete(`/quotes/${id}`);
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

  test.each<[string, Parts]>([
    ['other bytes', { content: 'the bites' }],
    ['another kind', { kind: 'voucher' }],
    ['another name', { name: 'b.txt' }],
  ])('with %s under the same key is refused, and its file does not stay', async (_name, parts) => {
    const { agency, attach, files } = await furnished();
    const first = await attach();
    const before = await dashboard.stored(agency);
    expectReused(await attach(parts));
    expect(await files()).toEqual([first.body.id]);
    expect(await dashboard.stored(agency)).toEqual(before);
  });

  test('to a quote that is not there leaves no file and does not use the key up', async () => {
    const { call, id, attach, files, agency } = await furnished();
    await call.delete(`/quotes/${id}`);
    expect((await attach()).status).toBe(404);
    expect(await files()).toEqual([]);
    expect(await countOf('idempotency_keys', agency)).toBe(0);
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
  /** Every row of every table as text; bytes are shown in hexadecimal digits and as the text that they are. */
  async function everything(): Promise<string> {
    const tables = await service.query<{ name: string }>(
      "select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public'",
    );
    const rows = await Promise.all(
      tables.map(({ name }) =>
        service.query<{ row: string }>(`select to_jsonb(t)::text as row from ${name} t`),
      ),
    );
    const kept = await service.query<{ body: Buffer }>('select body from idempotency_keys');
    return [...rows.flat().map(({ row }) => row), ...kept.map(({ body }) => body.toString('latin1'))].join(
      '\n',
    );
  }

  const isIn = (stored: string, text: string): boolean =>
    [text, Buffer.from(text).toString('hex'), Buffer.from(text).toString('base64').slice(0, -4)].some(
      (form) => stored.includes(form),
    );

  test('does not tell the key', async () => {
    const agency = await service.agency();
    await agency.post(PRODUCTS, { title: 'a title that is stored' }, keyed('a key that is not stored'));
    const stored = await everything();
    expect(isIn(stored, 'a title that is stored')).toBe(true);
    expect(isIn(stored, 'a key that is not stored')).toBe(false);
  });

  const issue = (at: Dashboard, agency: Agency, headers = {}) =>
    at.of(agency).post('/api-keys', { name: 'sync' }, keyed('k', headers));

  test('of an issued and a rotated API key cannot be read, and is still replayed', async () => {
    const agency = await service.agency();
    const issued = await issue(dashboard, agency);
    const rotate = () =>
      dashboard.of(agency).post(`/api-keys/${issued.body.id}/rotate`, { overlapSeconds: 60 }, keyed('k'));
    const rotated = await rotate();
    const stored = await everything();
    for (const { body } of [issued, rotated]) {
      expect(body.key).toMatch(/^tcrm_/);
      expect(isIn(stored, body.key)).toBe(false);
      expect(isIn(stored, body.start)).toBe(true);
    }
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

  test('of a signed link cannot be read either', async () => {
    const agency = await service.agency();
    const { id } = await quote(agency, { status: 'published' });
    const form = new FormData();
    form.append('kind', 'itinerary');
    form.append('file', new Blob(['x']), 'x.txt');
    const upload = new Response(form);
    const type = upload.headers.get('content-type') ?? '';
    const { status, body } = await dashboard
      .of(agency)
      .post(
        `/quotes/${id}/attachments`,
        Buffer.from(await upload.arrayBuffer()),
        keyed('k', { 'content-type': type }),
      );
    expect(status).toBe(201);
    expect(isIn(await everything(), new URL(body.url).pathname.slice('/files/'.length))).toBe(false);
  });
});
