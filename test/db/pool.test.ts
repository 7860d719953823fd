import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { type Database, type Params, prepared, type Queries } from '../../src/db/index.ts';
import { shareConnections } from '../../src/db/pool/shared.ts';
import { createSlots, type Kind } from '../../src/db/pool/slots.ts';
import { hold } from '../support/databases.ts';
import { ownPool } from '../support/instance.ts';
import { customer, product } from '../support/records.ts';
import { useService } from '../support/service.ts';

/** Short reads share connections; other statements have a slot each, which their organization may have. */

const service = await useService();

const SHORT = prepared(
  'test.shared_short',
  ($: Params<{ n: number; seconds: number }>) =>
    sql<{ n: number; pid: number }>`
      select 12 / ${$.n}::integer as n, pg_backend_pid() as pid from pg_sleep(${$.seconds}::double precision)`,
  { isShort: true },
);

let db: Database;
let queries: Queries;
beforeEach(async () => {
  db = ownPool(service, { poolSize: 100 });
  queries = db.for((await service.agency()).id);
});

const short = async (n: number, seconds = 0) => (await queries.read(SHORT, { n, seconds }))[0];

test('simultaneous reads share two connections; each gets its own rows or error, and the connections are released', async () => {
  // On a busy machine, a connection can make no progress for long.
  vi.spyOn(performance, 'now').mockReturnValue(0);
  onTestFinished(() => void vi.restoreAllMocks());
  const divisors = [1, 2, 0, 3, 4, 0, 6, 12];
  const results = await Promise.allSettled(divisors.map((n) => short(n)));
  expect(
    results.map((result) => (result.status === 'fulfilled' ? result.value?.n : result.reason.code)),
  ).toEqual(divisors.map((n) => (n === 0 ? '22012' : 12 / n)));
  const pids = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value?.pid] : []));
  expect(new Set(pids).size).toBe(2);
  expect(db.stats()).toMatchObject({ total: 2, idle: 2, running: 0 });
});

test('a connection that breaks under one of its reads takes no other one, and is closed after its last', async () => {
  vi.spyOn(performance, 'now').mockReturnValue(0);
  onTestFinished(() => void vi.restoreAllMocks());
  const closed: boolean[] = [];
  const release = (isBroken: boolean) => closed.push(isBroken);
  const connect = async () => ({ connection: { stream: { writableCorked: 1 } }, release }) as never;
  const withShared = shareConnections(connect, () => true);
  const end = Promise.withResolvers<void>();
  const running = [1, 2].map(() => withShared(() => end.promise));
  const broken = await withShared((client) => Promise.reject(client)).catch((client) => client);
  expect(await withShared(async (client) => client)).not.toBe(broken);
  end.resolve();
  await Promise.all(running);
  await nextTurn();
  expect(closed).toEqual([false, true, false]);
});

test('a table that stays locked delays no read of another table', async () => {
  const [agency, other] = [await service.agency(), await service.agency()];
  const [{ id: customerId }, { id: productId }] = [await customer(agency), await product(other)];
  const unlock = await hold(service.ownerUrl, 'lock table customers in access exclusive mode');
  const blocked = [1, 2, 3].map(() => agency.get(`/v1/customers/${customerId}`));
  // A read joins a shared connection that has been blocked for less than 50 ms.
  await pause(100);
  for (let round = 0; round < 20; round += 1)
    expect((await other.get(`/v1/catalog/products/${productId}`)).status).toBe(200);
  await unlock();
  for (const { status } of await Promise.all(blocked)) expect(status).toBe(200);
});

test('keys and jobs wait for no connection of an organization', async () => {
  const small = ownPool(service, { poolSize: 1, statementTimeout: 2_000 });
  await small.for('a').transaction(async () => {
    expect(await small.read(SHORT, { n: 12, seconds: 0 })).toMatchObject([{ n: 1 }]);
  });
});

/** Enters tasks that end when the test says so. */
function slotsOf(options: { slots: number; places: number }) {
  const slots = createSlots(options);
  const started: string[] = [];
  const entered = new Map<string, () => void>();
  return {
    ...slots,
    started,
    enter: async (owner: string, count: number, kind: Kind = 'read') => {
      for (let n = 1; n <= count; n += 1) {
        const name = `${owner}${n} ${kind}`;
        slots.enter(owner, kind).then(
          (leave) => {
            started.push(name);
            entered.set(name, leave);
          },
          () => undefined,
        );
      }
      await nextTurn();
    },
    end: async (name: string) => {
      entered.get(name)?.();
      await nextTurn();
    },
  };
}

test('a slot that is left goes to the task that waited longest and whose organization may have it', async () => {
  const { enter, end, started, stats } = slotsOf({ slots: 8, places: 16 });
  await enter('a', 4);
  await enter('b', 2);
  await enter('c', 2);
  expect(started).toEqual(['a1 read', 'a2 read', 'b1 read', 'c1 read']);
  const order = ['a1 read', 'b1 read', 'a2 read', 'c1 read', 'a3 read', 'a4 read', 'b2 read', 'c2 read'];
  for (const name of order) await end(name);
  expect(started.slice(4)).toEqual(['a3 read', 'b2 read', 'a4 read', 'c2 read']);
  expect(stats()).toMatchObject({ running: 0, waiting: 0 });
});

test('while all writes of an organization hang, its reads find a slot and a place', async () => {
  const { enter, end, started, stats } = slotsOf({ slots: 8, places: 32 });
  await enter('a', 40, 'write');
  expect(stats()).toMatchObject({ running: 3, waiting: 14 });
  await enter('a', 3);
  expect(started.slice(3)).toEqual(['a1 read']);
  expect(stats()).toMatchObject({ running: 4, waiting: 16 });
  await end('a1 read');
  expect(started.slice(4)).toEqual(['a2 read']);
});

test.each([1, 2])('with %i slots, everything gets one in the end', async (slots) => {
  const { enter, end, started } = slotsOf({ slots, places: 8 });
  await enter('a', 1);
  await enter('a', 1, 'write');
  await enter('b', 1);
  await enter('b', 1, 'write');
  for (let n = 0; n < 4; n += 1) await end(started[n] ?? '');
  expect(started).toHaveLength(4);
});
