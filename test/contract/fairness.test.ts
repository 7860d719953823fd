import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { sql } from 'drizzle-orm';
import { expect, onTestFinished, test } from 'vitest';
import { generateKey } from '../../src/api-keys/api-key.ts';
import { openKeyCache } from '../../src/api-keys/cache.ts';
import { checkDatabase, type DatabaseOptions, unprepared } from '../../src/db/index.ts';
import { createLogger } from '../../src/http/logging.ts';
import { hold } from '../support/databases.ts';
import { type Asked, ownInstance } from '../support/instance.ts';
import { startProxy } from '../support/proxy.ts';
import { customer } from '../support/records.ts';
import { type Agency, type Reply, useService } from '../support/service.ts';
import { listen, requestBytes } from '../support/socket.ts';

/** The load of one organization does not affect the others. Rejections are counted, and logged in sums. */

const service = useService();

const DEALLOCATE = unprepared('test.deallocate', () => sql<object>`deallocate all`);
/** An instance that listens on a port. */
async function instance(options: Partial<DatabaseOptions> = {}) {
  const own = await ownInstance(service, options);
  const statusOf = async (...request: Parameters<typeof own.send>) => (await own.send(...request)).status;
  return { ...own, statusOf, port: (await listen(own)).port };
}

const toolCall = (name: string, given: object = {}): Asked => ({
  method: 'POST',
  url: '/mcp',
  body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } },
});

const bytesOf = ({ key }: Agency, { method, url, body }: Asked): Buffer => {
  const headers = { 'x-api-key': key, ...(body && { 'Content-Type': 'application/json' }) };
  return requestBytes(method, url, headers, body && JSON.stringify(body));
};

/** The code of an error of `/v1`, or of a tool's result. */
const codeOf = ({ error, result }: Reply['body']): string | undefined =>
  result ? codeOf(JSON.parse(result.content[0].text)) : error?.code;

const lockCustomer = (path: string) =>
  hold(service.url, 'select from customers where id = $1 for update', [path.split('/').at(-1)]);
const lockTeam = () => hold(service.url, 'lock table team_members in access exclusive mode');

test.each([
  ['/v1', { method: 'GET', url: '/v1/team' }],
  ['/mcp', toolCall('listTeamMembers')],
] as const)(
  'an organization that sends too much over %s gets half of the connections and of the queue, and 503 for the rest, which is counted; others are served',
  async (_api, read) => {
    const [busy, other] = [await service.agency(), await service.agency()];
    const { app, ask, statusOf, db, lines, metrics } = await instance({ maxWaiting: 16 });
    const release = await lockTeam();
    const reads = Promise.all(Array.from({ length: 30 }, () => ask(busy, read)));
    await expect.poll(() => db.stats()).toMatchObject({ running: 2, waiting: 8 });
    expect(await statusOf(other, 'GET', '/v1/customers')).toBe(200);
    expect(await statusOf(other, 'POST', '/v1/catalog/products', { title: 'Lima' })).toBe(201);
    expect((await ask(other, toolCall('listCustomers'))).status).toBe(200);
    await release();
    const responses = await reads;
    const rejected = responses.filter(({ body }) => codeOf(body) === 'SERVICE_UNAVAILABLE');
    expect(rejected).toHaveLength(20);
    if (read.method === 'GET')
      for (const { status, retryAfter } of rejected) expect([status, retryAfter]).toEqual([503, '1']);
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
  const url = `/v1/customers/${(await customer(agency)).id}`;
  const { app, port, db, lines } = await instance();
  const releases = [await lockCustomer(url), await lockTeam()];
  const requests = [
    { method: 'PATCH', url, body: { city: 'Begun' } },
    { method: 'PATCH', url, body: { lastName: 'Waiting' } },
    ...Array.from({ length: 4 }, () => ({ method: 'GET', url: '/v1/team' }) as const),
  ] as const;
  const sockets: Socket[] = [];
  for (const request of requests) {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(bytesOf(agency, request));
    sockets.push(socket);
    await expect.poll(() => db.stats().running + db.stats().waiting).toBe(sockets.length);
  }
  expect(db.stats()).toMatchObject({ running: 2, waiting: 4 });
  await Promise.all(sockets.map((socket) => once(socket.destroy(), 'close')));
  for (const release of releases) await release();
  await expect.poll(() => db.stats()).toMatchObject({ running: 0, waiting: 0 });
  expect((await agency.get(url)).body).toMatchObject({ city: 'Begun', lastName: null });
  await app.close();
  expect(lines).toContainEqual(
    expect.objectContaining({ organizationId: agency.id, reason: 'gone', count: 4 }),
  );
});

test('while PostgreSQL is frozen, running and waiting requests get 503; afterwards all connections are new', async () => {
  const agency = await service.agency();
  const proxy = await startProxy(service.url);
  const { statusOf, db, lines } = await instance({ url: proxy.url, statementTimeout: 400 });
  onTestFinished(proxy.close);
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
  const { db, statusOf } = await instance({ poolSize: 1 });
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
  const { statusOf } = await instance();
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
