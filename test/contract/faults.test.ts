import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { openKeyCache } from '../../src/api-keys/cache.ts';
import { createLogger } from '../../src/http/logging.ts';
import { countAtWork, hold } from '../support/databases.ts';
import { ownApp, ownInstance, ownPool } from '../support/instance.ts';
import { startProxy } from '../support/proxy.ts';
import { customer, product } from '../support/records.ts';
import { useService } from '../support/service.ts';

/** The database fails, and the service recovers without a restart. test/topologies tests that no acknowledged write is lost. */

const service = useService();

const unavailable = (message: string) => ({ error: { code: 'SERVICE_UNAVAILABLE', message } });
const [NOW, RETRY] = [
  'The service cannot handle the request right now.',
  'Wait the seconds in Retry-After, then retry.',
];
const UNAVAILABLE = unavailable(`${NOW} ${RETRY}`);
const UNDONE = unavailable(`${NOW} Nothing was written. ${RETRY}`);
const UNKNOWN = unavailable(
  'The request may have been applied. Retry with the same Idempotency-Key, or read before you retry.',
);

type Instance = Awaited<ReturnType<typeof ownInstance>>;

function expectUnavailable({ status, retryAfter, body }: Awaited<ReturnType<Instance['send']>>): void {
  expect([UNAVAILABLE, UNDONE, UNKNOWN]).toContainEqual(body);
  expect([status, retryAfter]).toEqual([503, expect.stringMatching(/^[1-9]\d*$/)]);
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

/** Blocks reads and writes of the table. */
const lock = (table: string) => hold(service.ownerUrl, `lock table ${table} in access exclusive mode`);

test('while connections are killed, every read succeeds', async () => {
  const agency = await service.agency();
  const existing = await customer(agency);
  const { send } = await ownInstance(service);
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
  const { send, db } = await ownInstance(service, { statementTimeout: 150 });
  const locks = [await lock('products'), await lock('customers')];
  const contacts = [{ identifierType: 'web', identifierValue: 'late' }];
  for (const { status, body } of await Promise.all([
    send(agency, 'GET', '/v1/catalog/products'),
    send(agency, 'GET', `/v1/catalog/products/${sold.id}`),
    send(agency, 'POST', '/v1/catalog/products', { title: 'Late' }),
    send(agency, 'PATCH', `/v1/catalog/products/${sold.id}`, { title: 'Late' }),
    send(agency, 'POST', '/v1/customers', { contacts }),
    send(agency, 'PATCH', `/v1/customers/${existing.id}`, { contacts }),
    send(agency, 'DELETE', `/v1/customers/${existing.id}`),
  ])) {
    expect(status).toBe(503);
    expect([UNAVAILABLE, UNDONE]).toContainEqual(body);
  }
  expect(db.stats().running).toBe(0);
  expect(await countAtWork(service.ownerUrl, 'Lock')).toBe(0);
  for (const release of locks) await release();
  const unchanged = (record: object) => ({ data: [record], pagination: { total: 1 } });
  expect((await agency.get('/v1/catalog/products')).body).toMatchObject(unchanged(sold));
  expect((await agency.get('/v1/customers')).body).toMatchObject(unchanged(existing));
});

test.each([
  ['deadlock', '40P01'],
  ['serialization failure', '40001'],
  ['lock timeout', '55P03'],
])('a write that ends in a %s, even after its retries, is 503: nothing was written', async (name, code) => {
  const agency = await service.agency();
  await service.query(
    `create function fail_${code}() returns trigger language plpgsql as
       $$ begin raise exception 'failed' using errcode = '${code}'; end $$;
     create trigger products_fail_${code} before insert on products
       for each row when (new.title = '${name}') execute function fail_${code}()`,
  );
  const written = await agency.post('/v1/catalog/products', { title: name });
  expect([written.status, written.body]).toEqual([503, UNDONE]);
});

test('a key that cannot be looked up is 503 without an unknown outcome, whatever the method', async () => {
  const agency = await service.agency();
  const db = ownPool(service, { statementTimeout: 150 });
  const keys = openKeyCache({ db, logger: createLogger('silent') });
  const app = await ownApp(service, { db, keys });
  const release = await lock('api_keys');
  for (const url of ['/v1/customers', '/mcp']) {
    const response = await app.inject({ method: 'POST', url, headers: { 'x-api-key': agency.key } });
    expect([response.statusCode, response.json()]).toEqual([503, UNAVAILABLE]);
  }
  await release();
});

test('a timeout is logged with the organization and the statement, and counted', async () => {
  const agency = await service.agency();
  const { id } = await customer(agency);
  const { send, lines, metrics } = await ownInstance(service, { statementTimeout: 250 });
  const locks = [await lock('team_members'), await lock('customers')];
  expectUnavailable(await send(agency, 'GET', '/v1/team'));
  const write = await send(agency, 'PATCH', `/v1/customers/${id}`, { city: 'Lima' });
  // PostgreSQL says that it has ended the statement.
  expect(write.body).toEqual(UNDONE);
  for (const release of locks) await release();
  const line = (method: string, route: string, statement: string) => ({
    level: 50,
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

/** An instance whose database is behind a proxy. */
async function behindProxy() {
  const proxy = await startProxy(service.url);
  const { send } = await ownInstance(service, { url: proxy.url });
  onTestFinished(proxy.close);
  return { proxy, send };
}

describe('when the database cannot be reached', () => {
  test('writes are 503 and reads wait; when it is back, both succeed', async () => {
    const agency = await service.agency();
    const { proxy, send } = await behindProxy();
    expect((await send(agency, 'POST', '/v1/catalog/products', { title: 'Antes' })).status).toBe(201);
    proxy.cut();
    const read = send(agency, 'GET', '/v1/catalog/products');
    const rejected = await send(agency, 'POST', '/v1/catalog/products', { title: 'Durante' });
    expectUnavailable(rejected);
    // Without a connection it was certainly not applied.
    expect(rejected.body).toEqual(UNDONE);
    proxy.mend();
    expect(await read).toMatchObject({ status: 200, body: { pagination: { total: 1 } } });
    expect((await send(agency, 'POST', '/v1/catalog/products', { title: 'Después' })).status).toBe(201);
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
    expectUnavailable(await lost);
    expect((await lost).body).toEqual(UNKNOWN);
    await release();
    await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(0);
    await expect.poll(async () => (await agency.get(`/v1/catalog/products/${id}`)).body.title).toBe('Oaxaca');
  });
});
