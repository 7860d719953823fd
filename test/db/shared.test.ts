import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { type Database, type Params, prepared, type Queries } from '../../src/db/index.ts';
import { hold } from '../support/databases.ts';
import { ownPool } from '../support/instance.ts';
import { customer, product } from '../support/records.ts';
import { useService } from '../support/service.ts';

/** Short reads share connections. */

const service = useService();

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
