import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as nextTick } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { describe, expect, onTestFinished, test } from 'vitest';
import { generateKey } from '../../src/api-keys/api-key.ts';
import { openKeyCache } from '../../src/api-keys/cache.ts';
import { checkDatabase, type DatabaseOptions, prepared, unprepared } from '../../src/db/index.ts';
import { createLogger } from '../../src/http/logging.ts';
import { countAtWork, hold } from '../support/databases.ts';
import { type Asked, ownInstance } from '../support/instance.ts';
import { startProxy } from '../support/proxy.ts';
import { customer } from '../support/records.ts';
import { type Agency, type Reply, useService } from '../support/service.ts';
import { listen, requestBytes } from '../support/socket.ts';

/** The load of one organization does not affect the others. Rejections are counted, and logged in sums. */

const service = useService();

const DEALLOCATE = unprepared('test.deallocate', () => sql<object>`deallocate all`);
const CHANGING_TABLE = prepared('test.changing_table', () => sql<object>`select * from changing`);

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

const bytesOf = ({ key }: Agency, { method, url, body }: Asked): string =>
  String(
    requestBytes(
      method,
      url,
      { 'x-api-key': key, ...(body && { 'Content-Type': 'application/json' }) },
      body && JSON.stringify(body),
    ),
  );

/** The code of an error of `/v1`, or of a tool's result. */
const codeOf = ({ error, result }: Reply['body']): string | undefined =>
  result ? codeOf(JSON.parse(result.content[0].text)) : error?.code;

const lockCustomer = (agency: Agency, path: string) =>
  hold(service.url, 'select from customers where organization_id = $1 and id = $2 for update', [
    agency.id,
    path.split('/').at(-1),
  ]);
const lockTeam = () => hold(service.url, 'lock table team_members in access exclusive mode');

const countLockWaits = (): Promise<number> => countAtWork(service.ownerUrl, 'Lock');

test('while writes of an organization wait for a locked row, its reads and other organizations do not wait', async () => {
  const [waiting, other] = [await service.agency(), await service.agency()];
  const lockedUrl = `/v1/customers/${(await customer(waiting)).id}`;
  const otherUrl = `/v1/customers/${(await customer(other)).id}`;
  const { statusOf, db } = await instance();
  const release = await lockCustomer(waiting, lockedUrl);
  const patches = Array.from({ length: 12 }, (_, n) =>
    statusOf(waiting, 'PATCH', lockedUrl, { city: `${n}` }),
  );
  await expect.poll(countLockWaits).toBe(2);
  expect(await statusOf(other, 'GET', otherUrl)).toBe(200);
  expect(await statusOf(other, 'PATCH', otherUrl, { city: 'Lima' })).toBe(200);
  expect(await statusOf(waiting, 'GET', lockedUrl)).toBe(200);
  expect(await statusOf(waiting, 'GET', '/v1/customers')).toBe(200);
  expect(db.stats()).toMatchObject({ running: 2, waiting: 10 });
  await release();
  expect(await Promise.all(patches)).toEqual(new Array(12).fill(200));
});

test.each([
  ['/v1', { method: 'GET', url: '/v1/team' }, { method: 'GET', url: '/v1/customers?limit=none' }],
  ['/mcp', toolCall('listTeamMembers'), { method: 'POST', url: '/mcp', body: [] }],
] as const)(
  'reads that flood %s are rejected before validation, and counted; writes and other organizations are served',
  async (_api, read, invalid) => {
    const [flooding, other] = [await service.agency(), await service.agency()];
    const { id } = await customer(flooding);
    const { app, ask, statusOf, lines, metrics } = await instance();
    let rejections = 0;
    const counted = async (agency: Agency, request: Asked) => {
      const response = await ask(agency, request);
      const code = codeOf(response.body);
      if (code === 'SERVICE_UNAVAILABLE') rejections += 1;
      return { ...response, code };
    };
    const codeFor = async (agency: Agency, request: Asked) => (await counted(agency, request)).code;
    const release = await lockTeam();
    const reads: Promise<string | undefined>[] = [];
    /** Each call adds to the flood. Without a flood, the invalid request is 400. */
    const flood = async () => {
      reads.push(...Array.from({ length: 200 }, () => codeFor(flooding, read)));
      await nextTick();
      await nextTick();
      return counted(flooding, invalid);
    };
    await expect.poll(flood).toMatchObject({ status: 503, retryAfter: '1' });
    expect(await statusOf(flooding, 'PATCH', `/v1/customers/${id}`, { firstName: 'Eva' })).toBe(200);
    expect(await statusOf(other, 'GET', '/v1/customers')).toBe(200);
    expect(await codeFor(other, toolCall('listCustomers'))).toBe(undefined);
    await release();
    expect(new Set(await Promise.all(reads))).toEqual(new Set([undefined, 'SERVICE_UNAVAILABLE']));
    await expect.poll(() => codeFor(flooding, read)).toBe(undefined);

    await app.close();
    const logged = lines.filter(({ msg }) => msg === 'requests were rejected');
    expect(new Set(logged.map(({ organizationId }) => organizationId))).toEqual(new Set([flooding.id]));
    const sum = (counts: number[]) => counts.reduce((all, count) => all + count, 0);
    expect(sum(logged.flatMap((line) => Object.values(line.rejected ?? {})))).toBe(rejections);
    expect(lines.filter(({ level, status }) => level >= 50 || status === 503)).toEqual([]);
    const metric = (await metrics.text()).matchAll(/^requests_rejected_total\{reason="\w+"\} (\d+)$/gm);
    expect(sum([...metric].map(([, count]) => Number(count)))).toBe(rejections);
  },
);

describe('when a client disconnects', () => {
  /** Sends each request from a client, and disconnects all as soon as two statements wait for a lock. */
  async function disconnectDuring(port: number, ...requests: string[]): Promise<void> {
    const sockets = requests.map(() => connect(port, '127.0.0.1'));
    for (const [index, socket] of sockets.entries()) {
      await once(socket, 'connect');
      socket.write(String(requests[index]));
    }
    await expect.poll(countLockWaits).toBe(2);
    for (const socket of sockets) socket.destroy();
  }

  test.each([
    ['/v1', { method: 'GET', url: '/v1/team' }],
    ['/mcp', toolCall('listTeamMembers')],
  ] as const)('its reads over %s are cancelled, and no others', async (_api, read) => {
    const agency = await service.agency();
    const { port, db, statusOf } = await instance();
    const release = await lockTeam();
    await disconnectDuring(port, ...Array(5).fill(bytesOf(agency, read).repeat(2)));
    await expect.poll(countLockWaits).toBe(0);
    await expect.poll(() => db.stats()).toMatchObject({ running: 0, waiting: 0 });
    const others = [statusOf(agency, 'GET', '/v1/team'), statusOf(agency, 'GET', '/v1/team')];
    await expect.poll(countLockWaits).toBe(2);
    await release();
    expect(await Promise.all(others)).toEqual([200, 200]);
  });

  test('the connections of its reads serve others, after one request to cancel each', async () => {
    const agency = await service.agency();
    const proxy = await startProxy(service.url);
    onTestFinished(proxy.close);
    const { port, db, statusOf } = await instance({ url: proxy.url });
    const reads = () =>
      Promise.all(['team', 'customers'].map((list) => statusOf(agency, 'GET', `/v1/${list}`)));
    expect(await reads()).toEqual([200, 200]);
    expect(db.stats()).toMatchObject({ total: 2, idle: 2 });
    const opened = proxy.opened();
    const rounds = 3;
    const request = bytesOf(agency, { method: 'GET', url: '/v1/team' });
    for (let round = 0; round < rounds; round += 1) {
      const release = await lockTeam();
      await disconnectDuring(port, request, request);
      await expect.poll(() => db.stats()).toMatchObject({ total: 2, idle: 2, running: 0, waiting: 0 });
      await release();
      expect(await reads()).toEqual([200, 200]);
    }
    expect(proxy.opened() - opened).toBe(2 * rounds);
    expect(db.stats()).toMatchObject({ total: 2, idle: 2 });
  });

  test('its write is completed, also where a read is cancelled', async () => {
    const agency = await service.agency();
    const url = `/v1/customers/${(await customer(agency)).id}`;
    const { port } = await instance();
    const releases = [await lockCustomer(agency, url), await lockTeam()];
    const write = bytesOf(agency, { method: 'PATCH', url, body: { city: 'Written' } });
    await disconnectDuring(port, write, bytesOf(agency, { method: 'GET', url: '/v1/team' }));
    await expect.poll(countLockWaits).toBe(1);
    for (const release of releases) await release();
    await expect.poll(async () => (await agency.get(url)).body.city).toBe('Written');
  });
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

describe('a request is repeated on another connection', () => {
  test('if the prepared statements of its connection are gone', async () => {
    const agency = await service.agency();
    const url = `/v1/customers/${(await customer(agency)).id}`;
    const { db, statusOf } = await instance({ poolSize: 1 });
    for (const request of [
      () => statusOf(agency, 'GET', url),
      () => statusOf(agency, 'GET', '/v1/customers'),
      () => statusOf(agency, 'PATCH', url, { firstName: 'Eva' }),
    ]) {
      expect(await request()).toBe(200);
      await db.for(agency.id).transaction(async ({ write }) => {
        await write(DEALLOCATE, {});
      });
      expect(await request()).toBe(200);
      expect(db.stats().total).toBe(1);
    }
  });

  test('if the columns of a table have changed', async () => {
    const agency = await service.agency();
    await service.query('create table changing (old text)');
    const { db } = await instance();
    const organization = db.for(agency.id);
    for (let round = 0; round < 3; round += 1) {
      const [row] = await organization.read(CHANGING_TABLE, {});
      expect(Object.keys(row ?? {})).toHaveLength(0);
      await service.query(`alter table changing add column new${round} text`);
    }
    await service.query('drop table changing');
  });
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
