import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { expect, inject, onTestFinished, test } from 'vitest';
import { generateKey } from '../../src/api-keys/api-key.ts';
import { openKeyCache } from '../../src/api-keys/cache.ts';
import { checkDatabase, type DatabaseOptions, unprepared } from '../../src/db/index.ts';
import { createLogger } from '../../src/http/logging.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { countAtWork, hold } from '../support/databases.ts';
import { ownApp, ownLog, ownPool } from '../support/instance.ts';
import { startProxy } from '../support/proxy.ts';
import { customer, product, web } from '../support/records.ts';
import { type Agency, clientOf, type Reply, useService } from '../support/service.ts';
import { listen, requestBytes } from '../support/socket.ts';

/**
 * The database fails, and the service recovers without a restart; the load of one organization does not affect the others.
 * test/topologies tests that no acknowledged write is lost.
 */

const service = await useService();

const unavailable = (message: string) => ({ error: { code: 'SERVICE_UNAVAILABLE', message } });
const NOW = 'The service cannot handle the request right now.';
const RETRY = 'Wait the seconds in Retry-After, then retry.';
const UNAVAILABLE = unavailable(`${NOW} ${RETRY}`);
const UNDONE = unavailable(`${NOW} Nothing was written. ${RETRY}`);
const UNKNOWN = unavailable(
  'The request may have been applied. Retry with the same Idempotency-Key, or read before you retry.',
);

type Sent = readonly [method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, body?: object];
type Line = { msg: string; level: number; status?: number };

/** Another instance, with its own pool and log. It shares the service's keys, so that only the pool under test fails. */
async function startInstance(options: Partial<DatabaseOptions> = {}) {
  const { logger, lines } = ownLog<Line>();
  const db = ownPool(service, options);
  const metrics = createMetrics(db);
  const app = await ownApp(service, { db, logger, metrics, mcp: 'write' });
  const send = ({ key }: Agency, ...[method, url, body]: Sent) =>
    clientOf(app)(key).request(method, url, { body });
  const statusOf = async (agency: Agency, ...sent: Sent) => (await send(agency, ...sent)).status;
  return { app, db, lines, metrics, send, statusOf };
}

function expectUnavailable({ status, headers, body }: Reply, ...bodies: object[]): void {
  expect(bodies).toContainEqual(body);
  expect([status, headers['retry-after']]).toEqual([503, expect.stringMatching(/^[1-9]\d*$/)]);
}

/** Ends every connection of the service's pools, and returns their number. */
async function killConnections(): Promise<number> {
  const killed = await service.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'travel-agency-crm-api' and datname = current_database()`,
  );
  // The pool that creates the organizations has noticed it; a pooler keeps its clients.
  if (!inject('poolerUrl')) await expect.poll(() => service.db.stats().total).toBe(0);
  return killed.length;
}

const lock = (table: string) => hold(service.ownerUrl, `lock table ${table} in access exclusive mode`);

test('while connections are killed, every read succeeds', async () => {
  const agency = await service.agency();
  const existing = await customer(agency);
  const { send } = await startInstance();
  let killed = 0;
  for (let round = 0; round < 20 || killed < 20; round += 1) {
    const reads = Array.from({ length: 6 }, async () => [
      await send(agency, 'GET', `/v1/customers/${existing.id}`),
      await send(agency, 'GET', '/v1/customers'),
    ]);
    killed += await killConnections();
    for (const [record, list] of await Promise.all(reads)) {
      expect(record).toMatchObject({ status: 200, body: existing });
      expect(list).toMatchObject({ status: 200, body: { data: [existing] } });
    }
  }
});

test('requests that exceed the timeout are 503, and their statements end: nothing is written later', async () => {
  const agency = await service.agency();
  const [existing, sold] = [await customer(agency), await product(agency)];
  const { send, db } = await startInstance({ statementTimeout: 150 });
  const locks = [await lock('products'), await lock('customers')];
  const contacts = [web('late')];
  for (const reply of await Promise.all([
    send(agency, 'GET', '/v1/catalog/products'),
    send(agency, 'GET', `/v1/catalog/products/${sold.id}`),
    send(agency, 'POST', '/v1/catalog/products', { title: 'Late' }),
    send(agency, 'PATCH', `/v1/catalog/products/${sold.id}`, { title: 'Late' }),
    send(agency, 'POST', '/v1/customers', { contacts }),
    send(agency, 'PATCH', `/v1/customers/${existing.id}`, { contacts }),
    send(agency, 'DELETE', `/v1/customers/${existing.id}`),
  ]))
    expectUnavailable(reply, UNAVAILABLE, UNDONE);
  expect(db.stats().running).toBe(0);
  expect(await countAtWork(service.ownerUrl, 'Lock')).toBe(0);
  for (const release of locks) await release();
  const unchanged = (record: object) => ({ data: [record], pagination: { total: 1 } });
  expect((await agency.get('/v1/catalog/products')).body).toMatchObject(unchanged(sold));
  expect((await agency.get('/v1/customers')).body).toMatchObject(unchanged(existing));
});

test('a key that cannot be looked up is 503 without an unknown outcome, whatever the method', async () => {
  const agency = await service.agency();
  const db = ownPool(service, { statementTimeout: 150 });
  const keys = openKeyCache({ db, logger: createLogger('silent') });
  const app = await ownApp(service, { db, keys });
  await lock('api_keys');
  for (const url of ['/v1/customers', '/mcp']) {
    const response = await app.inject({ method: 'POST', url, headers: { 'x-api-key': agency.key } });
    expect([response.statusCode, response.json()]).toEqual([503, UNAVAILABLE]);
  }
});

test('a timeout is logged with the organization and the statement, and counted', async () => {
  const agency = await service.agency();
  const { id } = await customer(agency);
  const { send, lines, metrics } = await startInstance({ statementTimeout: 250 });
  for (const table of ['team_members', 'customers']) await lock(table);
  expectUnavailable(await send(agency, 'GET', '/v1/team'), UNAVAILABLE);
  // PostgreSQL says that it has ended the statement.
  expectUnavailable(await send(agency, 'PATCH', `/v1/customers/${id}`, { city: 'Lima' }), UNDONE);
  const line = (method: string, route: string, statement: string) => ({
    msg: 'SERVICE_UNAVAILABLE',
    requestId: expect.any(String),
    organizationId: agency.id,
    apiKeyId: expect.any(String),
    method,
    route,
    err: { sqlState: '57014', statement, stack: expect.any(String) },
  });
  expect(lines.filter(({ level }) => level === 50)).toMatchObject([
    line('GET', '/v1/team', 'team_members.list'),
    line('PATCH', '/v1/customers/:customerId', expect.stringContaining('customers.update')),
  ]);
  expect(await metrics.text()).toContain('database_timeouts_total 2\n');
});

async function behindProxy(options: Partial<DatabaseOptions> = {}) {
  const proxy = await startProxy(service.url);
  const instance = await startInstance({ url: proxy.url, ...options });
  onTestFinished(proxy.close);
  return { proxy, ...instance };
}

test('while the database cannot be reached, writes are 503 and reads wait; when it is back, both succeed', async () => {
  const agency = await service.agency();
  const lost: Error[] = [];
  const { proxy, db, send, statusOf } = await behindProxy({ onConnectionError: (error) => lost.push(error) });
  const create = (title: string) => [agency, 'POST', '/v1/catalog/products', { title }] as const;
  expect(await statusOf(...create('Antes'))).toBe(201);
  const opened = proxy.opened();
  proxy.cut();
  await expect.poll(() => db.stats().total).toBe(0);
  // The log has one line for each.
  expect(lost).toHaveLength(opened);
  const read = send(agency, 'GET', '/v1/catalog/products');
  // Without a connection it was certainly not applied.
  expectUnavailable(await send(...create('Durante')), UNDONE);
  proxy.mend();
  expect(await read).toMatchObject({ status: 200, body: { pagination: { total: 1 } } });
  expect(await statusOf(...create('Después'))).toBe(201);
  const { body } = await agency.get('/v1/catalog/products');
  expect(body.data.map(({ title }: { title: string }) => title)).toEqual(['Después', 'Antes']);
});

test('a write whose result is lost is 503 and not repeated: it may have been applied', async () => {
  const agency = await service.agency();
  const { proxy, send } = await behindProxy();
  const { id } = await product(agency);
  const release = await lock('products');
  const lost = send(agency, 'PATCH', `/v1/catalog/products/${id}`, { title: 'Oaxaca' });
  await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
  proxy.cut();
  proxy.mend();
  // A second attempt would wait for the lock like the first.
  await expect.poll(async () => (await Promise.race([lost, pause(1)]))?.status).toBe(503);
  expectUnavailable(await lost, UNKNOWN);
  await release();
  await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(0);
  await expect.poll(async () => (await agency.get(`/v1/catalog/products/${id}`)).body.title).toBe('Oaxaca');
});

const DEALLOCATE = unprepared('test.deallocate', () => sql<object>`deallocate all`);

const toolCall = (name: string): Sent => [
  'POST',
  '/mcp',
  { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } },
];

/** The code of an error of `/v1`, or of a tool's result. */
const codeOf = ({ error, result }: Reply['body']): string | undefined =>
  result ? codeOf(JSON.parse(result.content[0].text)) : error?.code;

test.each<[string, Sent]>([
  ['/v1', ['GET', '/v1/team']],
  ['/mcp', toolCall('listTeamMembers')],
])(
  'an organization that sends too much over %s gets a quarter of the connections and half of the queue, and 503 for the rest, which is counted; others are served',
  async (api, read) => {
    const [busy, other] = [await service.agency(), await service.agency()];
    const options = { poolSize: 8, maxWaiting: 16 };
    const { app, send, statusOf, db, lines, metrics } = await startInstance(options);
    const release = await lock('team_members');
    const reads = Promise.all(Array.from({ length: 30 }, () => send(busy, ...read)));
    await expect.poll(() => db.stats()).toMatchObject({ running: 2, waiting: 8 });
    expect(await statusOf(other, 'GET', '/v1/customers')).toBe(200);
    expect(await statusOf(other, 'POST', '/v1/catalog/products', { title: 'Lima' })).toBe(201);
    expect(await statusOf(other, ...toolCall('listCustomers'))).toBe(200);
    await release();
    const responses = await reads;
    const rejected = responses.filter(({ body }) => codeOf(body) === 'SERVICE_UNAVAILABLE');
    expect(rejected).toHaveLength(20);
    if (api === '/v1')
      for (const { status, headers } of rejected)
        expect([status, headers['retry-after']]).toEqual([503, '1']);
    expect(await statusOf(busy, 'GET', '/v1/team')).toBe(200);

    await app.close();
    const logged = lines.filter(({ msg }) => msg === 'requests were rejected');
    expect(logged).toMatchObject([{ organizationId: busy.id, reason: 'full', count: 20 }]);
    expect(lines.filter(({ level, status }) => level >= 50 || status === 503)).toEqual([]);
    expect(await metrics.text()).toContain('requests_rejected_total{reason="full"} 20\n');
  },
);

test('when a client disconnects, what still waits is not begun, and its write that has begun is completed', async () => {
  const agency = await service.agency();
  const { id } = await customer(agency);
  const url = `/v1/customers/${id}`;
  const { app, db, lines } = await startInstance();
  const { port } = await listen({ app });
  const lockedRow = await hold(service.url, 'select from customers where id = $1 for update', [id]);
  const releases = [lockedRow, await lock('team_members')];
  const requests: Sent[] = [
    ['PATCH', url, { city: 'Begun' }],
    ['PATCH', url, { lastName: 'Waiting' }],
    ...Array<Sent>(4).fill(['GET', '/v1/team']),
  ];
  const sockets: Socket[] = [];
  for (const [method, path, body] of requests) {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    const headers = { 'x-api-key': agency.key, ...(body && { 'Content-Type': 'application/json' }) };
    socket.write(requestBytes(method, path, headers, body && JSON.stringify(body)));
    sockets.push(socket);
    await expect.poll(() => db.stats().running + db.stats().waiting).toBe(sockets.length);
  }
  expect(db.stats()).toMatchObject({ running: 2, waiting: 4 });
  await Promise.all(sockets.map((socket) => once(socket.destroy(), 'close')));
  for (const release of releases) await release();
  await expect.poll(() => db.stats()).toMatchObject({ running: 0, waiting: 0 });
  expect((await agency.get(url)).body).toMatchObject({ city: 'Begun', lastName: null });
  await app.close();
  const gone = { organizationId: agency.id, reason: 'gone', count: 4 };
  expect(lines).toContainEqual(expect.objectContaining(gone));
});

test('while PostgreSQL is frozen, running and waiting requests get 503; afterwards all connections are new', async () => {
  const agency = await service.agency();
  const { proxy, statusOf, db, lines } = await behindProxy({ statementTimeout: 400 });
  // A busy machine can exceed the timeout for a while.
  const expectSuccess = () => expect.poll(() => statusOf(agency, 'GET', '/v1/team')).toBe(200);
  await expectSuccess();
  lines.length = 0;
  proxy.freeze();
  const statuses = Array.from({ length: 40 }, () => statusOf(agency, 'GET', '/v1/team'));
  expect(await Promise.all(statuses)).toEqual(new Array(40).fill(503));
  await expect.poll(() => db.stats()).toMatchObject({ total: 0, idle: 0, running: 0, waiting: 0 });
  // Running requests are logged; waiting ones are counted.
  expect(lines.filter(({ level }) => level === 50).length).toBeLessThan(10);
  proxy.mend();
  await expectSuccess();
});

test('a request is repeated on another connection if the prepared statements of its connection are gone', async () => {
  const agency = await service.agency();
  const url = `/v1/customers/${(await customer(agency)).id}`;
  const { db, statusOf } = await startInstance({ poolSize: 1 });
  for (const [method, path, body] of [
    ['GET', url],
    ['GET', '/v1/customers'],
    ['PATCH', url, { firstName: 'Eva' }],
  ] as const) {
    expect(await statusOf(agency, method, path, body)).toBe(200);
    await db.for(agency.id).transaction(async ({ write }) => {
      await write(DEALLOCATE, {});
    });
    expect(await statusOf(agency, method, path, body)).toBe(200);
    expect(db.stats().total).toBe(1);
  }
});

test('a connection that is read-only after a failover is replaced: one write is 503, and the next ones succeed', async () => {
  const agency = await service.agency();
  const url = `/v1/customers/${(await customer(agency)).id}`;
  const [{ name } = {}] = await service.query<{ name: string }>('select current_database() as name');
  const { statusOf } = await startInstance();
  await service.query(`alter database ${name} set default_transaction_read_only = on`);
  const restore = () => service.query(`alter database ${name} reset default_transaction_read_only`);
  onTestFinished(() => void restore());
  expect(await statusOf(agency, 'GET', url)).toBe(200);
  await expect(checkDatabase(service.url, 60_000)).rejects.toThrow('The database can only be read.');
  expect(await statusOf(agency, 'PATCH', url, { firstName: 'Eva' })).toBe(503);
  await restore();
  await checkDatabase(service.url, 60_000);
  for (const firstName of ['Eva', 'Inés', 'Lola'])
    expect(await statusOf(agency, 'PATCH', url, { firstName })).toBe(200);
});

test('of the lookups of unknown keys, those beyond 1,000 at once are rejected', async () => {
  const keys = openKeyCache({ db: service.db, logger: createLogger('silent') });
  const lookups = await Promise.allSettled(Array.from({ length: 1_500 }, () => keys.find(generateKey())));
  const rejected = lookups.filter(({ status }) => status === 'rejected');
  expect(rejected).toHaveLength(500);
  for (const lookup of rejected) expect(lookup).toMatchObject({ reason: { code: 'SERVICE_UNAVAILABLE' } });
});
