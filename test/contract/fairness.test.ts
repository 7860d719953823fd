import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as nextTick } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeKey } from '../../src/api-keys/api-key.ts';
import { openKeyCache } from '../../src/api-keys/cache.ts';
import type { DatabaseOptions } from '../../src/db/run/client.ts';
import { checkDatabase } from '../../src/db/server/readiness.ts';
import { prepared, unprepared } from '../../src/db/sql/statement.ts';
import { createLogger } from '../../src/http/logging.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { openConnection } from '../support/connection.ts';
import { countAtWork, hold } from '../support/databases.ts';
import { ownApp, ownPool } from '../support/instance.ts';
import { startProxy } from '../support/proxy.ts';
import { type Agency, useService } from '../support/service.ts';
import { listen, requestBytes } from '../support/socket.ts';

/** One organization's trouble is nobody else's; what is refused is counted and not logged one by one. */

const service = useService();

const DEALLOCATE = unprepared('test.deallocate', () => sql<object>`deallocate all`);
const FORM = prepared('test.form', () => sql<object>`select * from forms`);

/** An instance that listens, with a pool and a log of its own. */
async function instance(options: Partial<DatabaseOptions> = {}) {
  const lines: { msg: string; level: number; organizationId?: string; refused?: Record<string, number> }[] =
    [];
  const logger = createLogger('info', { write: (line: string) => lines.push(JSON.parse(line)) });
  const db = ownPool(service, options);
  const metrics = createMetrics({ db, keys: service.keys });
  const app = await ownApp(service, { db, logger, metrics, mcp: 'write' });
  const { port } = await listen({ app });
  const ask = (agency: Agency, { method, url, body }: Asked) =>
    app.inject({ method, url, headers: { 'x-api-key': agency.key }, ...(body && { payload: body }) });
  const send = async (agency: Agency, method: Asked['method'], url: string, body?: object) =>
    (await ask(agency, { method, url, body })).statusCode;
  return { app, db, lines, metrics, ask, send, port };
}

type Asked = { method: 'GET' | 'PATCH' | 'POST'; url: string; body?: object | undefined };

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
function codeOf(text: string): string | undefined {
  const { error, result } = JSON.parse(text);
  return result ? codeOf(result.content[0].text) : error?.code;
}

const lockCustomer = (agency: Agency, id: string) =>
  hold(service.url, 'select from customers where organization_id = $1 and id = $2 for update', [
    agency.id,
    id,
  ]);
const lockTeam = () => hold(service.url, 'lock table team_members in access exclusive mode');

const customerOf = async (agency: Agency, name = 'Ana'): Promise<string> =>
  (
    await agency.post('/v1/customers', {
      firstName: name,
      contacts: [{ identifierType: 'web', identifierValue: `${name} ${agency.id}` }],
    })
  ).body.id;

const atWork = (event: string): Promise<number> => countAtWork(service.ownerUrl, event);

describe('while writes of one organization wait for a locked row', () => {
  test('others do not notice, and the organization itself goes on reading', async () => {
    const [locked, other] = [await service.agency(), await service.agency()];
    const id = await customerOf(locked);
    const otherId = await customerOf(other);
    const { send, db } = await instance();
    const letGo = await lockCustomer(locked, id);
    const patches = Array.from({ length: 12 }, (_, index) =>
      send(locked, 'PATCH', `/v1/customers/${id}`, { firstName: `Ana ${index}` }),
    );
    await expect.poll(() => atWork('Lock')).toBe(2);
    for (let round = 0; round < 20; round += 1) {
      expect(await send(other, 'GET', `/v1/customers/${otherId}`)).toBe(200);
      expect(await send(other, 'PATCH', `/v1/customers/${otherId}`, { firstName: `Eva ${round}` })).toBe(200);
      expect(await send(locked, 'GET', `/v1/customers/${id}`)).toBe(200);
      expect(await send(locked, 'GET', '/v1/customers')).toBe(200);
    }
    expect(db.stats()).toMatchObject({ running: 2, waiting: 10 });
    await letGo();
    expect(await Promise.all(patches)).toEqual(new Array(12).fill(200));
  });
});

describe('a flood of one organization', () => {
  test('is refused in part, told and counted; the other organization is answered', async () => {
    const [flooding, other] = [await service.agency(), await service.agency()];
    const { app, port, lines, metrics } = await instance({ maxWaiting: 200 });
    const good = await openConnection(port);
    const flood = await Promise.all(Array.from({ length: 300 }, () => openConnection(port)));
    onTestFinished(() => {
      for (const connection of [...flood, good]) connection.close();
    });
    const request = (agency: Agency) =>
      `GET /v1/customers?query=a HTTP/1.1\r\nHost: x\r\nx-api-key: ${agency.key}\r\n\r\n`;
    // Five of each connection, of which one is under way.
    const flooded = Array.from({ length: 5 }, () => flood.map(({ send }) => send(request(flooding)))).flat();
    for (let count = 0; count < 50; count += 1) expect(await good.send(request(other))).toBe(200);
    const statuses = await Promise.all(flooded);
    const refused = statuses.filter((status) => status === 503).length;
    expect(refused).toBeGreaterThan(100);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1_500 - refused);

    await app.close();
    const told = lines.filter(({ msg }) => msg === 'requests were refused');
    const counted = told.flatMap((line) => Object.values(line.refused ?? {}));
    expect(counted.reduce((sum, count) => sum + count, 0)).toBe(refused);
    expect(new Set(told.map(({ organizationId }) => organizationId))).toEqual(new Set([flooding.id]));
    expect(lines.filter(({ msg }) => msg === 'request')).toHaveLength(1_550 - refused);
    expect(lines.filter(({ level }) => level >= 50)).toEqual([]);
    const metric = (await metrics.text()).matchAll(/^requests_refused_total\{reason="\w+"\} (\d+)$/gm);
    expect([...metric].reduce((sum, [, count]) => sum + Number(count), 0)).toBe(refused);
  });

  test.each([
    ['/v1', { method: 'GET', url: '/v1/team' }, { method: 'GET', url: '/v1/customers?limit=none' }],
    ['/mcp', toolCall('listTeamMembers'), { method: 'POST', url: '/mcp', body: { hello: 1 } }],
  ] as const)(
    'over %s is refused before its requests are read; its writes and the others are answered',
    async (_where, read, invalid) => {
      const [flooding, other] = [await service.agency(), await service.agency()];
      const id = await customerOf(flooding);
      const { ask, send } = await instance();
      const codeFor = async (asked: Asked) => codeOf((await ask(flooding, asked)).body);
      const letGo = await lockTeam();
      const reads: Promise<string | undefined>[] = [];
      // Without the flood, the invalid request is 400. Each look begins a new flood.
      const look = async () => {
        reads.push(...Array.from({ length: 200 }, () => codeFor(read)));
        await nextTick();
        await nextTick();
        const { statusCode, headers } = await ask(flooding, invalid);
        return [statusCode, headers['retry-after']];
      };
      await expect.poll(look).toEqual([503, '1']);
      expect(await send(flooding, 'PATCH', `/v1/customers/${id}`, { firstName: 'Eva' })).toBe(200);
      expect(await send(other, 'GET', '/v1/customers')).toBe(200);
      expect(codeOf((await ask(other, toolCall('listCustomers'))).body)).toBe(undefined);
      await letGo();
      expect(new Set(await Promise.all(reads))).toEqual(new Set([undefined, 'SERVICE_UNAVAILABLE']));
      await expect.poll(() => codeFor(read)).toBe(undefined);
    },
  );
});

describe('memory that requests over /mcp hold, with the requests that they make inside', () => {
  test('has room for 33 bodies of a megabyte of one organization at once, each counted once', async () => {
    const agency = await service.agency();
    const { ask } = await instance();
    // Longer than a description may be.
    const create = toolCall('createCatalogProduct', { title: 'x', description: 'x'.repeat(1_000_000) });
    const codes = await Promise.all(
      Array.from({ length: 40 }, async () => codeOf((await ask(agency, create)).body)),
    );
    expect(codes.filter((code) => code === 'VALIDATION_FAILED')).toHaveLength(33);
    expect(codes.filter((code) => code === 'SERVICE_UNAVAILABLE')).toHaveLength(7);
  });

  test('has room for two answers of 15 MB that one organization does not take', async () => {
    const large = await service.agency();
    const includes = Array.from({ length: 200 }, () => 'x'.repeat(1_000));
    const { body } = await large.post('/v1/catalog/products', { title: 'x', includes });
    await service.query(
      `insert into products select (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid()))).*
        from products p, generate_series(2, 75) where id = $1`,
      [body.id],
    );
    const { port } = await instance();
    const list = bytesOf(large, toolCall('listCatalogProducts', { limit: 75 }));
    const lengths: number[] = [];
    for (let count = 0; count < 4; count += 1) {
      const socket = connect(port, '127.0.0.1');
      onTestFinished(() => {
        socket.destroy();
      });
      socket.write(list);
      const [head] = (await once(socket, 'data')) as [Buffer];
      socket.pause();
      lengths.push(Number(/content-length: (\d+)/i.exec(head.toString('latin1'))?.[1]));
    }
    expect(lengths.map((length) => length > 15_000_000)).toEqual([true, true, false, false]);
    const other = await openConnection(port);
    onTestFinished(other.close);
    expect(await other.send(bytesOf(await service.agency(), toolCall('listTeamMembers')))).toBe(200);
  });
});

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
    const { port, db, send } = await instance();
    const letGo = await lockTeam();
    const request = bytesOf(agency, read);
    await hangUp(port, request.repeat(2), () => expect.poll(() => atWork('Lock')).toBe(2), 5);
    await expect.poll(() => atWork('Lock')).toBe(0);
    await expect.poll(() => db.stats()).toMatchObject({ running: 0, waiting: 0 });
    const others = [send(agency, 'GET', '/v1/team'), send(agency, 'GET', '/v1/team')];
    await expect.poll(() => atWork('Lock')).toBe(2);
    await letGo();
    expect(await Promise.all(others)).toEqual([200, 200]);
  });

  test('costs no connection: those that its reads ran on serve others, after one request to cancel each', async () => {
    const agency = await service.agency();
    const proxy = await startProxy(service.url);
    onTestFinished(proxy.close);
    const { port, db, send } = await instance({ url: proxy.url });
    const reads = () => Promise.all([send(agency, 'GET', '/v1/team'), send(agency, 'GET', '/v1/customers')]);
    expect(await reads()).toEqual([200, 200]);
    expect(db.stats()).toMatchObject({ total: 2, idle: 2 });
    const opened = proxy.opened();
    const rounds = 5;
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
    const id = await customerOf(agency);
    const { port } = await instance();
    const letGo = await lockCustomer(agency, id);
    const write = { method: 'PATCH', url: `/v1/customers/${id}`, body: { firstName: 'Written' } } as const;
    await hangUp(port, bytesOf(agency, write), () => expect.poll(() => atWork('Lock')).toBe(1));
    await letGo();
    await expect.poll(async () => (await agency.get(`/v1/customers/${id}`)).body.firstName).toBe('Written');
  });
});

describe('what takes too long', () => {
  test('a write is cancelled as well when its time is over: what was answered 503 is not written later', async () => {
    const agency = await service.agency();
    const id = await customerOf(agency);
    // As behind a pooler that drops the parameters: the server's own timeouts are not there.
    const separator = service.url.includes('?') ? '&' : '?';
    const unlimited = '-c statement_timeout=0 -c lock_timeout=0';
    const { send, db } = await instance({
      url: `${service.url}${separator}options=${encodeURIComponent(unlimited)}`,
      statementTimeout: 300,
    });
    const letGo = await lockCustomer(agency, id);
    expect(await send(agency, 'PATCH', `/v1/customers/${id}`, { firstName: 'Late' })).toBe(503);
    await expect.poll(() => atWork('Lock')).toBe(0);
    await expect.poll(() => db.stats().running).toBe(0);
    await letGo();
    expect((await agency.get(`/v1/customers/${id}`)).body.firstName).toBe('Ana');
  });

  test('a frozen server: everybody has their 503, those in line too, and the pool is new afterwards', async () => {
    const agency = await service.agency();
    const proxy = await startProxy(service.url);
    const { send, db, lines } = await instance({ url: proxy.url, statementTimeout: 400 });
    onTestFinished(proxy.close);
    // A busy machine can be too slow for the limit, and is not in the end.
    const isWell = () => expect.poll(() => send(agency, 'GET', '/v1/team')).toBe(200);
    await isWell();
    lines.length = 0;
    proxy.freeze();
    const answers = Array.from({ length: 40 }, () => send(agency, 'GET', '/v1/team'));
    expect(await Promise.all(answers)).toEqual(new Array(40).fill(503));
    await expect.poll(() => db.stats()).toMatchObject({ total: 0, idle: 0, running: 0, waiting: 0 });
    // Those that ran say why; those that waited are counted.
    expect(lines.filter(({ level }) => level === 50).length).toBeLessThan(10);
    proxy.mend();
    await isWell();
  });
});

describe('a connection whose memory is of no use any more', () => {
  test('because its prepared statements are gone: the work is repeated on another', async () => {
    const agency = await service.agency();
    const id = await customerOf(agency);
    const { db, send } = await instance({ poolSize: 1 });
    const asked = [
      () => send(agency, 'GET', `/v1/customers/${id}`),
      () => send(agency, 'GET', '/v1/customers'),
      () => send(agency, 'PATCH', `/v1/customers/${id}`, { firstName: 'Eva' }),
    ];
    for (const ask of asked) {
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
    const id = await customerOf(agency);
    const database = (await service.query<{ name: string }>('select current_database() as name'))[0]?.name;
    const { send } = await instance();
    await service.query(`alter database ${database} set default_transaction_read_only = on`);
    onTestFinished(async () => {
      await service.query(`alter database ${database} reset default_transaction_read_only`);
    });
    expect(await send(agency, 'GET', `/v1/customers/${id}`)).toBe(200);
    await expect(checkDatabase(service.url, 60_000)).rejects.toThrow('The database can only be read.');
    expect(await send(agency, 'PATCH', `/v1/customers/${id}`, { firstName: 'Eva' })).toBe(503);
    await service.query(`alter database ${database} reset default_transaction_read_only`);
    await checkDatabase(service.url, 60_000);
    for (const firstName of ['Eva', 'Inés', 'Lola'])
      expect(await send(agency, 'PATCH', `/v1/customers/${id}`, { firstName })).toBe(200);
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
    const made = Array.from({ length: 500 }, makeKey);
    const answers = made.map((key) => keys.find(key));
    expect((await keys.find(agency.key))?.organizationId).toBe(agency.id);
    expect(await Promise.all(answers)).toEqual(new Array(500).fill(undefined));
    expect(queries).toBeLessThanOrEqual(6);

    queries = 0;
    const [again = makeKey()] = made;
    await Promise.all(Array.from({ length: 500 }, () => keys.find(again)));
    expect(queries).toBe(1);
  });

  test('beyond what can be asked for at once are refused, and the rest is answered', async () => {
    const keys = openKeyCache({ db: service.db, logger: createLogger('silent') });
    onTestFinished(keys.close);
    const answers = await Promise.allSettled(Array.from({ length: 1_500 }, () => keys.find(makeKey())));
    const refused = answers.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(500);
    for (const answer of refused) expect(answer).toMatchObject({ reason: { code: 'SERVICE_UNAVAILABLE' } });
  });
});
