import { sql } from 'drizzle-orm';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { type Database, openDatabase } from '../../src/db/pool/client.ts';
import { DatabaseTimeout } from '../../src/db/pool/faults.ts';
import type { Queries } from '../../src/db/pool/scope.ts';
import { type Params, prepared } from '../../src/db/sql/statement.ts';
import { useService } from '../support/service.ts';

/** Short reads that come at once share connections. */

const service = useService();

const SHORT = prepared(
  'test.lanes_short',
  ($: Params<{ n: number; seconds: number }>) =>
    sql<{ n: number; pid: number }>`
      select 12 / ${$.n}::integer as n, pg_backend_pid() as pid from pg_sleep(${$.seconds}::double precision)`,
  { isShort: true },
);

let db: Database;
let queries: Queries;
beforeEach(async () => {
  db = openDatabase({ url: service.url, poolSize: 100, maxWaiting: 100, statementTimeout: 2_000 });
  onTestFinished(db.close);
  queries = db.for((await service.agency()).id);
});

const short = async (n: number, seconds = 0) => (await queries.read(SHORT, { n, seconds }))[0];

test('two connections carry them, each has its own answer or error, and the connections are given back', async () => {
  const divisors = [1, 2, 0, 3, 4, 0, 6, 12];
  const answers = await Promise.allSettled(divisors.map((n) => short(n)));
  expect(
    answers.map((answer) => (answer.status === 'fulfilled' ? answer.value?.n : answer.reason.code)),
  ).toEqual(divisors.map((n) => (n === 0 ? '22012' : 12 / n)));
  const pids = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value?.pid] : []));
  expect(new Set(pids).size).toBe(2);
  expect(db.stats()).toMatchObject({ total: 2, idle: 2, running: 0 });
});

test('one that takes too long is ended in PostgreSQL too, and those behind it are asked again', async () => {
  const slow = [short(1, 60), short(2, 60)];
  const ended = expect(Promise.allSettled(slow)).resolves.toMatchObject([
    { reason: expect.any(DatabaseTimeout) },
    { reason: expect.any(DatabaseTimeout) },
  ]);
  await expect.poll(async () => (await sleeping()).length).toBe(2);
  await new Promise((done) => setTimeout(done, 1_000));
  const behind = [short(3), short(4), short(6)];
  await ended;
  expect((await Promise.all(behind)).map((row) => row?.n)).toEqual([4, 3, 2]);
  await expect.poll(sleeping).toEqual([]);
});

const sleeping = () =>
  service.query(
    `select pid from pg_stat_activity where datname = current_database() and state = 'active' and query like '%pg_sleep%'
     and pid <> pg_backend_pid()`,
  );
