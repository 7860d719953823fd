import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as nextTick } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { describe, expect, onTestFinished, test } from 'vitest';
import { generateKey } from '../../src/api-keys/api-key.ts';
import { openKeyCache } from '../../src/api-keys/cache.ts';
import type { DatabaseOptions } from '../../src/db/pool/client.ts';
import { checkDatabase } from '../../src/db/server/readiness.ts';
import { prepared, unprepared } from '../../src/db/sql/statement.ts';
import { createLogger } from '../../src/http/logging.ts';
import { countAtWork, hold } from '../support/databases.ts';
import { type Asked, ownInstance } from '../support/instance.ts';
import { startProxy } from '../support/proxy.ts';
import { customer } from '../support/records.ts';
import { type Agency, type Reply, useService } from '../support/service.ts';
import { listen, requestBytes } from '../support/socket.ts';

/** One organization's trouble is nobody else's; what is refused is counted and not logged one by one. */

const service = useService();

const DEALLOCATE = unprepared('test.deallocate', () => sql<object>`deallocate all`);
const FORM = prepared('test.form', () => sql<object>`select * from forms`);

/** An instance that listens too. */
async function instance(options: Partial<DatabaseOptions> = {}) {
  const own = await ownInstance(service, options);
  const statusOf = async (...sent: Parameters<typeof own.send>) => (await own.send(...sent)).status;
  return { ...own, statusOf, port: (await listen(own)).port };
}

/** The call of a tool, as the request that it is. */
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

/** The code of the error in an answer, of whichever of the two; undefined when all went well. */
const codeOf = ({ error, result }: Reply['body']): string | undefined =>
  result ? codeOf(JSON.parse(result.content[0].text)) : error?.code;

const lockCustomer = (agency: Agency, path: string) =>
  hold(service.url, 'select from customers where organization_id = $1 and id = $2 for update', [
    agency.id,
    path.split('/').at(-1),
  ]);
const lockTeam = () => hold(service.url, 'lock table team_members in access exclusive mode');

const atWork = (event: string): Promise<number> => countAtWork(service.ownerUrl, event);

test('while writes of one organization wait for a locked row, others do not notice, and it goes on reading', async () => {
  const [locked, other] = [await service.agency(), await service.agency()];
  const own = `/v1/customers/${(await customer(locked)).id}`;
  const others = `/v1/customers/${(await customer(other)).id}`;
  const { statusOf, db } = await instance();
  const letGo = await lockCustomer(locked, own);
  const patches = Array.from({ length: 12 }, (_, n) => statusOf(locked, 'PATCH', own, { city: `Ana ${n}` }));
  await expect.poll(() => atWork('Lock')).toBe(2);
  for (let round = 0; round < 5; round += 1) {
    expect(await statusOf(other, 'GET', others)).toBe(200);
    expect(await statusOf(other, 'PATCH', others, { city: `Eva ${round}` })).toBe(200);
    expect(await statusOf(locked, 'GET', own)).toBe(200);
    expect(await statusOf(locked, 'GET', '/v1/customers')).toBe(200);
  }
  expect(db.stats()).toMatchObject({ running: 2, waiting: 10 });
  await letGo();
  expect(await Promise.all(patches)).toEqual(new Array(12).fill(200));
});

test.each([
  ['/v1', { method: 'GET', url: '/v1/team' }, { method: 'GET', url: '/v1/customers?limit=none' }],
  ['/mcp', toolCall('listTeamMembers'), { method: 'POST', url: '/mcp', body: { hello: 1 } }],
] as const)(
  'a flood of one organization over %s is refused before its requests are read, told and counted; its writes and the others are answered',
  async (_where, read, invalid) => {
    const [flooding, other] = [await service.agency(), await service.agency()];
    const { id } = await customer(flooding);
    const { app, ask, statusOf, lines, metrics } = await instance();
    let refused = 0;
    const counted = async (agency: Agency, asked: Asked) => {
      const answer = await ask(agency, asked);
      if (codeOf(answer.body) === 'SERVICE_UNAVAILABLE') refused += 1;
      return answer;
    };
    const codeFor = async (agency: Agency, asked: Asked) => codeOf((await counted(agency, asked)).body);
    const letGo = await lockTeam();
    const reads: Promise<string | undefined>[] = [];
    // Without the flood, the invalid request is 400. Each look begins a new flood.
    const look = async () => {
      reads.push(...Array.from({ length: 200 }, () => codeFor(flooding, read)));
      await nextTick();
      await nextTick();
      const { status, retryAfter } = await counted(flooding, invalid);
      return [status, retryAfter];
    };
    await expect.poll(look).toEqual([503, '1']);
    expect(await statusOf(flooding, 'PATCH', `/v1/customers/${id}`, { firstName: 'Eva' })).toBe(200);
    expect(await statusOf(other, 'GET', '/v1/customers')).toBe(200);
    expect(await codeFor(other, toolCall('listCustomers'))).toBe(undefined);
    await letGo();
    expect(new Set(await Promise.all(reads))).toEqual(new Set([undefined, 'SERVICE_UNAVAILABLE']));
    await expect.poll(() => codeFor(flooding, read)).toBe(undefined);

    await app.close();
    const told = lines.filter(({ msg }) => msg === 'requests were rejected');
    expect(new Set(told.map(({ organizationId }) => organizationId))).toEqual(new Set([flooding.id]));
    const sum = (counts: number[]) => counts.reduce((all, count) => all + count, 0);
    expect(sum(told.flatMap((line) => Object.values(line.rejected ?? {})))).toBe(refused);
    expect(lines.filter(({ level }) => level >= 50)).toEqual([]);
    const metric = (await metrics.text()).matchAll(/^requests_rejected_total\{reason="\w+"\} (\d+)$/gm);
    expect(sum([...metric].map(([, count]) => Number(count)))).toBe(refused);
  },
);

describe('a client that goes', () => {
  /** Sends the request and hangs up as soon as it is at work. */
  async function hangUp(
    port: number,
    request: string,
    isAtWork: () => Promise<unknown>,
    clients = 1,
  ): Promise<void> {
    const sockets = Array.from({ length: clients }, () => connect(port, '127.0.0.1'));
    for (const socket of sockets) {
      await once(socket, 'connect');
      socket.write(request);
    }
    await isAtWork();
    for (const socket of sockets) socket.destroy();
  }

  test.each([
    ['/v1', { method: 'GET', url: '/v1/team' }],
    ['/mcp', toolCall('listTeamMembers')],
  ] as const)('has its read over %s cancelled, not the reads of others', async (_where, read) => {
    const agency = await service.agency();
    const { port, db, statusOf } = await instance();
    const letGo = await lockTeam();
    const request = bytesOf(agency, read);
    await hangUp(port, request.repeat(2), () => expect.poll(() => atWork('Lock')).toBe(2), 5);
    await expect.poll(() => atWork('Lock')).toBe(0);
    await expect.poll(() => db.stats()).toMatchObject({ running: 0, waiting: 0 });
    const others = [statusOf(agency, 'GET', '/v1/team'), statusOf(agency, 'GET', '/v1/team')];
    await expect.poll(() => atWork('Lock')).toBe(2);
    await letGo();
    expect(await Promise.all(others)).toEqual([200, 200]);
  });

  test('costs no connection: those that its reads ran on serve others, after one request to cancel each', async () => {
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
      const letGo = await lockTeam();
      await hangUp(port, request, () => expect.poll(() => atWork('Lock')).toBe(2), 2);
      await expect.poll(() => db.stats()).toMatchObject({ total: 2, idle: 2, running: 0, waiting: 0 });
      await letGo();
      expect(await reads()).toEqual([200, 200]);
    }
    expect(proxy.opened() - opened).toBe(2 * rounds);
    expect(db.stats()).toMatchObject({ total: 2, idle: 2 });
  });

  test('has its write finished when it was begun', async () => {
    const agency = await service.agency();
    const url = `/v1/customers/${(await customer(agency)).id}`;
    const { port } = await instance();
    const letGo = await lockCustomer(agency, url);
    const write = bytesOf(agency, { method: 'PATCH', url, body: { city: 'Written' } });
    await hangUp(port, write, () => expect.poll(() => atWork('Lock')).toBe(1));
    await letGo();
    await expect.poll(async () => (await agency.get(url)).body.city).toBe('Written');
  });
});

test('when the server is frozen, everybody has their 503, those in line too, and the pool is new afterwards', async () => {
  const agency = await service.agency();
  const proxy = await startProxy(service.url);
  const { statusOf, db, lines } = await instance({ url: proxy.url, statementTimeout: 400 });
  onTestFinished(proxy.close);
  // A busy machine can be too slow for the limit, and is not in the end.
  const isWell = () => expect.poll(() => statusOf(agency, 'GET', '/v1/team')).toBe(200);
  await isWell();
  lines.length = 0;
  proxy.freeze();
  const answers = Array.from({ length: 40 }, () => statusOf(agency, 'GET', '/v1/team'));
  expect(await Promise.all(answers)).toEqual(new Array(40).fill(503));
  await expect.poll(() => db.stats()).toMatchObject({ total: 0, idle: 0, running: 0, waiting: 0 });
  // Those that ran say why; those that waited are counted.
  expect(lines.filter(({ level }) => level === 50).length).toBeLessThan(10);
  proxy.mend();
  await isWell();
});

describe('a connection whose memory is of no use any more', () => {
  test('because its prepared statements are gone: the work is repeated on another', async () => {
    const agency = await service.agency();
    const url = `/v1/customers/${(await customer(agency)).id}`;
    const { db, statusOf } = await instance({ poolSize: 1 });
    for (const ask of [
      () => statusOf(agency, 'GET', url),
      () => statusOf(agency, 'GET', '/v1/customers'),
      () => statusOf(agency, 'PATCH', url, { firstName: 'Eva' }),
    ]) {
      expect(await ask()).toBe(200);
      await db.for(agency.id).transaction(async ({ write }) => {
        await write(DEALLOCATE, {});
      });
      expect(await ask()).toBe(200);
      expect(db.stats().total).toBe(1);
    }
  });

  test('because a table has changed its form: the work is repeated on another', async () => {
    const agency = await service.agency();
    await service.query('create table forms (old text)');
    const { db } = await instance();
    const organization = db.for(agency.id);
    for (let round = 0; round < 3; round += 1) {
      const [row] = await organization.read(FORM, {});
      expect(Object.keys(row ?? {})).toHaveLength(0);
      await service.query(`alter table forms add column new${round} text`);
    }
    await service.query('drop table forms');
  });

  test('because it can only read, as one that began during a failover: the next write goes over another', async () => {
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
});

describe('keys that do not exist', () => {
  test('in their thousands cost few queries, and do not harm a good one', async () => {
    const agency = await service.agency();
    let queries = 0;
    const keys = openKeyCache({
      db: {
        ...service.db,
        read: (statement, values) => {
          queries += 1;
          return service.db.read(statement, values);
        },
      },
      logger: createLogger('silent'),
      now: () => 0,
    });
    onTestFinished(keys.close);
    const made = Array.from({ length: 500 }, generateKey);
    const answers = made.map((key) => keys.find(key));
    expect((await keys.find(agency.key))?.organizationId).toBe(agency.id);
    expect(await Promise.all(answers)).toEqual(new Array(500).fill(undefined));
    expect(queries).toBeLessThanOrEqual(6);

    queries = 0;
    const [again = generateKey()] = made;
    await Promise.all(Array.from({ length: 500 }, () => keys.find(again)));
    expect(queries).toBe(1);
  });

  test('beyond what can be asked for at once are refused, and the rest is answered', async () => {
    const keys = openKeyCache({ db: service.db, logger: createLogger('silent') });
    onTestFinished(keys.close);
    const answers = await Promise.allSettled(Array.from({ length: 1_500 }, () => keys.find(generateKey())));
    const refused = answers.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(500);
    for (const answer of refused) expect(answer).toMatchObject({ reason: { code: 'SERVICE_UNAVAILABLE' } });
  });
});
