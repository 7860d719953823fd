import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Database, DatabaseOptions } from '../../src/db/run/client.ts';
import { unprepared } from '../../src/db/sql/statement.ts';
import { createLogger } from '../../src/http/logging.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { countAtWork, hold } from '../support/databases.ts';
import { ownApp, ownPool } from '../support/instance.ts';
import { startProxy } from '../support/proxy.ts';
import { type Agency, useService } from '../support/service.ts';

/** The database fails under the service: nothing acknowledged is lost, and it recovers without a restart. */

const service = useService();

const UNAVAILABLE = {
  error: { code: 'SERVICE_UNAVAILABLE', message: 'The service cannot answer right now; retry shortly.' },
};
const UNKNOWN = {
  error: {
    code: 'SERVICE_UNAVAILABLE',
    message:
      'The outcome is unknown: this may have been written. Send it again with the same Idempotency-Key, or look before you send it again.',
  },
};

/** How many requests the instances of this file have answered. */
let answered = 0;

type Answer = { status: number; retryAfter: unknown; body: unknown };

/** An instance with a pool of its own. Its keys are the service's, so that only the pool under test fails. */
async function instance(agency: Agency, options: Partial<DatabaseOptions> = {}) {
  const db = ownPool(service, options);
  const lines: { level: number; msg: string }[] = [];
  const logger = createLogger('info', { write: (line) => lines.push(JSON.parse(line)) });
  const metrics = createMetrics({ db, keys: service.keys });
  const app = await ownApp(service, { db, logger, metrics });
  const send = async (
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    url: string,
    payload?: object,
  ): Promise<Answer> => {
    const { statusCode, headers, body } = await app.inject({
      method,
      url,
      headers: { 'x-api-key': agency.key },
      ...(payload && { payload }),
    });
    answered += 1;
    return { status: statusCode, retryAfter: headers['retry-after'], body: JSON.parse(body) };
  };
  return { db, send, metrics, faults: () => lines.filter(({ level }) => level === 50) };
}

function expectUnavailable({ status, retryAfter, body }: Answer): void {
  expect([UNAVAILABLE, UNKNOWN]).toContainEqual(body);
  expect(status).toBe(503);
  expect(retryAfter).toMatch(/^[1-9]\d*$/);
}

const idOf = ({ body }: Answer): string => (body as { id: string }).id;

const contacts = (name: string) =>
  [`${name}-a`, `${name}-b`].map((identifierValue) => ({ identifierType: 'web', identifierValue }));

/** Ends every connection of the service's pools; how many there were. */
const killConnections = async (): Promise<number> =>
  (
    await service.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'travel-agency-crm-api' and datname = current_database()`,
    )
  ).length;

/** So many connections are killed at least, however fast the machine is. */
const KILLED = 10;

/**
 * Goes on killing connections while the work runs: so many rounds of it at least, and until enough were killed. It kills
 * the next ones when some requests have been answered: faster, a busy machine would never get to an answer.
 */
async function whileKilling(rounds: number, work: (round: number) => Promise<unknown>): Promise<void> {
  let killed = 0;
  let done = false;
  const killing = (async () => {
    while (!done) {
      const before = answered;
      killed += await killConnections();
      do await pause(60);
      while (!done && answered < before + 4);
    }
  })();
  try {
    for (let round = 0; round < rounds || killed < KILLED; round += 1) await work(round);
  } finally {
    done = true;
    await killing;
  }
}

const ONE = unprepared('test.one', () => sql<object>`select 1`);
const MEMBERS = unprepared('test.members', () => sql<object>`select from team_members`);

/** Nobody reads or writes the table until it is let go. */
const lock = (table: string) => hold(service.ownerUrl, `lock table ${table} in access exclusive mode`);

describe('while connections are killed', () => {
  test('every read succeeds', async () => {
    const agency = await service.agency();
    const { body: customer } = await agency.post('/v1/customers', { contacts: contacts('x') });
    const { send } = await instance(agency);
    await whileKilling(40, async () => {
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          index % 2 ? send('GET', '/v1/customers') : send('GET', `/v1/customers/${customer.id}`),
        ),
      );
      for (const [index, { status, body }] of answers.entries()) {
        expect(status).toBe(200);
        expect(index % 2 ? (body as { data: unknown[] }).data : [body]).toEqual([customer]);
      }
    });
  });

  test('every write succeeds or answers 503; none that was acknowledged is lost, and none is half done', async () => {
    const agency = await service.agency();
    const { send } = await instance(agency);
    const created: string[] = [];
    const patched = new Map<string, string>();
    const refused: Answer[] = [];
    await whileKilling(20, (round) =>
      Promise.all(
        Array.from({ length: 8 }, async (_, index) => {
          const name = `${round}-${index}`;
          const answer = await send('POST', '/v1/customers', { contacts: contacts(name) });
          if (answer.status !== 201) return refused.push(answer);
          created.push(idOf(answer));
          const change = await send('PATCH', `/v1/customers/${idOf(answer)}`, {
            firstName: name,
            contacts: contacts(`new ${name}`),
          });
          if (change.status !== 200) return refused.push(change);
          return patched.set(idOf(answer), name);
        }),
      ),
    );
    expect(created.length).toBeGreaterThan(0);
    for (const answer of refused) expectUnavailable(answer);

    const stored = await service.query<{ id: string; name: string | null; contacts: string[] }>(
      `select id, first_name as name, array(
          select contact ->> 'identifierValue' from json_array_elements(contacts) with ordinality as each(contact, place)
          order by place) as contacts
        from customers where organization_id = $1`,
      [agency.id],
    );
    const byId = new Map(stored.map((row) => [row.id, row]));
    for (const id of created) expect(byId.has(id)).toBe(true);
    for (const [id, name] of patched) {
      expect(byId.get(id)).toEqual({ id, name, contacts: [`new ${name}-a`, `new ${name}-b`] });
    }
    for (const row of stored) expect(row.contacts).toHaveLength(2);
    const { body } = await agency.get('/v1/customers?limit=1');
    expect(body.pagination.total).toBe(stored.length);
  });
});

describe('a statement that takes too long', () => {
  test('is ended and answered with 503, for reads and writes, and leaves nothing behind', async () => {
    const agency = await service.agency();
    const { body: product } = await agency.post('/v1/catalog/products', { title: 'Oaxaca' });
    const { body: customer } = await agency.post('/v1/customers', { contacts: contacts('x') });
    const { send, db } = await instance(agency, { statementTimeout: 150 });
    const letGo = [await lock('products'), await lock('customers')];
    const answers = await Promise.all([
      send('GET', '/v1/catalog/products'),
      send('GET', `/v1/catalog/products/${product.id}`),
      send('POST', '/v1/catalog/products', { title: 'Otro' }),
      send('PATCH', `/v1/catalog/products/${product.id}`, { title: 'Otro' }),
      send('DELETE', `/v1/catalog/products/${product.id}`),
      send('POST', '/v1/customers', { contacts: contacts('y') }),
      send('PATCH', `/v1/customers/${customer.id}`, { contacts: contacts('y') }),
      send('DELETE', `/v1/customers/${customer.id}`),
    ]);
    for (const answer of answers) expectUnavailable(answer);
    for (const { body } of answers.slice(0, 2)) expect(body).toEqual(UNAVAILABLE);
    // The answers do not wait until PostgreSQL has ended them.
    await expect.poll(() => db.stats().running).toBe(0);
    for (const release of letGo) await release();
    // By the service: a busy machine can be too slow for that limit.
    const [products, customers] = [
      await agency.get('/v1/catalog/products'),
      await agency.get('/v1/customers'),
    ];
    expect(products.body).toMatchObject({ data: [product], pagination: { total: 1 } });
    expect(customers.body).toMatchObject({ data: [customer], pagination: { total: 1 } });
  });
});

describe('a time-out', () => {
  const TIMEOUT = 250;
  const spent = (at: string, statements: string) => ({
    at,
    statements,
    line: expect.any(Number),
    connection: expect.any(Number),
    running: expect.any(Number),
    pause: expect.any(Number),
  });
  const line = (agency: Agency, method: string, route: string) => ({
    level: 50,
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    msg: 'SERVICE_UNAVAILABLE',
    requestId: expect.any(String),
    organizationId: agency.id,
    apiKeyId: expect.any(String),
    method,
    route,
  });
  /** Two connections wait for work. A busy machine can be too slow for the limit, and is not in the end. */
  const connected = (db: Database) => {
    const both = () => Promise.all(['a', 'b'].map((name) => db.for(name).read(ONE, {})));
    return expect.poll(() => both().then(() => db.stats().idle, String)).toBe(2);
  };
  const err = {
    type: 'Error',
    message: `The database took longer than ${TIMEOUT} ms.`,
    stack: expect.any(String),
  };

  test('says in one line whose it was, of which statements, and where the time went; and is counted', async () => {
    const agency = await service.agency();
    const { body: customer } = await agency.post('/v1/customers', { contacts: contacts('x') });
    const { send, db, faults, metrics } = await instance(agency, { statementTimeout: TIMEOUT });
    await connected(db);
    const letGo = [await lock('team_members'), await lock('customers')];
    expectUnavailable(await send('GET', '/v1/team'));
    const write = await send('PATCH', `/v1/customers/${customer.id}`, { city: 'Lima' });
    expect(write.body).toEqual(UNKNOWN);
    for (const release of letGo) await release();
    expect(faults()).toEqual([
      {
        ...line(agency, 'GET', '/v1/team'),
        err: { ...err, spent: spent('running', expect.stringContaining('team_members.list')) },
      },
      {
        ...line(agency, 'PATCH', '/v1/customers/:customerId'),
        outcome: 'unknown',
        err: { ...err, spent: spent('running', expect.stringContaining('customers.update')) },
      },
    ]);
    for (const { err } of faults() as unknown as { err: { spent: Record<string, number> } }[]) {
      const { line = 0, connection = 0, running = 0, pause = 0 } = err.spent;
      expect(line + connection + running + pause).toBeGreaterThan(TIMEOUT - 5);
    }
    const shown = await metrics.text();
    expect(shown).toContain('database_timeouts_total{at="running"} 2');
    expect(shown).toContain('http_request_database_seconds_count{method="GET",route="/v1/team"} 1');
  });

  test('of a transaction names the statement that it was at', async () => {
    const agency = await service.agency();
    const { db } = await instance(agency, { statementTimeout: TIMEOUT });
    await connected(db);
    const release = await lock('team_members');
    const work = db.for(agency.id).transaction(async ({ read }) => {
      await read(ONE, {});
      return read(MEMBERS, {});
    });
    await expect(work).rejects.toMatchObject({ spent: spent('running', 'test.members') });
    await release();
  });

  test('of a write that found no connection says so, and its outcome is known', async () => {
    const agency = await service.agency();
    const proxy = await startProxy(service.url);
    onTestFinished(proxy.close);
    const { send, faults } = await instance(agency, { url: proxy.url, statementTimeout: TIMEOUT });
    proxy.freeze();
    expect((await send('POST', '/v1/catalog/products', { title: 'Oaxaca' })).body).toEqual(UNAVAILABLE);
    const at = expect.stringMatching(/^(connection|pause)$/);
    expect(faults()).toEqual([
      {
        ...line(agency, 'POST', '/v1/catalog/products'),
        // Of a transaction no statement was sent yet.
        err: { ...err, spent: spent(at, expect.any(String)) },
      },
    ]);
  });
});

describe('when the database cannot be reached', () => {
  const behindProxy = async (agency: Agency, options: Partial<DatabaseOptions> = {}) => {
    const proxy = await startProxy(service.url);
    const { send, db } = await instance(agency, { url: proxy.url, ...options });
    onTestFinished(proxy.close);
    return { proxy, send, db };
  };

  test('writes are refused with 503; reads wait for it, and all is well when it is back', async () => {
    const agency = await service.agency();
    const { proxy, send } = await behindProxy(agency);
    expect((await send('POST', '/v1/catalog/products', { title: 'Antes' })).status).toBe(201);
    proxy.cut();
    const read = send('GET', '/v1/catalog/products');
    const refused = await send('POST', '/v1/catalog/products', { title: 'Durante' });
    expectUnavailable(refused);
    // What found no connection is known not to be done.
    expect(refused.body).toEqual(UNAVAILABLE);
    proxy.mend();
    expect(await read).toMatchObject({ status: 200, body: { pagination: { total: 1 } } });
    expect((await send('POST', '/v1/catalog/products', { title: 'Después' })).status).toBe(201);
    const { body } = await agency.get('/v1/catalog/products');
    expect(body.data.map(({ title }: { title: string }) => title)).toEqual(['Después', 'Antes']);
  });

  test('a write whose answer is lost is answered with 503 and never sent twice, though it may have been done', async () => {
    const agency = await service.agency();
    const { proxy, send } = await behindProxy(agency);
    const { body: product } = await agency.post('/v1/catalog/products', { title: 'Antes' });
    const release = await lock('products');
    const lost = send('PATCH', `/v1/catalog/products/${product.id}`, { title: 'Oaxaca' });
    await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
    proxy.cut();
    proxy.mend();
    // A second attempt would wait for the lock like the first.
    await expect.poll(async () => (await Promise.race([lost, pause(1)]))?.status).toBe(503);
    expectUnavailable(await lost);
    expect((await lost).body).toEqual(UNKNOWN);
    await release();
    await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(0);
    await expect
      .poll(async () => (await agency.get(`/v1/catalog/products/${product.id}`)).body.title)
      .toBe('Oaxaca');
  });
});

test('connections that died while nobody used them harm no request', async () => {
  const agency = await service.agency();
  const { send, db } = await instance(agency);
  await Promise.all(Array.from({ length: 4 }, () => send('GET', '/v1/team')));
  await killConnections();
  await expect.poll(() => db.stats().total).toBe(0);
  expect((await send('POST', '/v1/catalog/products', { title: 'Oaxaca' })).status).toBe(201);
  expect((await send('GET', '/v1/team')).status).toBe(200);
});
