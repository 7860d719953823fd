import { sql } from 'drizzle-orm';
import type pg from 'pg';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/db/run/client.ts';
import { newDeadline } from '../../src/db/run/deadline.ts';
import { openPool } from '../../src/db/run/pool.ts';
import { shareTrips } from '../../src/db/run/shared-trips.ts';
import { type Params, prepared, type Statement, step } from '../../src/db/sql/statement.ts';
import { administer } from '../support/databases.ts';
import { startProxy } from '../support/proxy.ts';

/** Short reads, which share round trips. */

const short = <Values>(
  name: string,
  query: ($: Params<Values>) => ReturnType<typeof sql<{ body: string }>>,
): Statement<{ body: string }, Values> => prepared(name, query, { isShort: true });

const ECHO = short(
  'test.echo_text',
  ($: Params<{ n: number }>) => sql<{ body: string }>`select ${$.n}::text as body`,
);

describe('short reads', () => {
  const open = () =>
    openDatabase({ url: inject('serverUrl'), poolSize: 3, maxWaiting: 1_000, statementTimeout: 60_000 });

  test('of one tick are each answered with their own, however many there are', async () => {
    const db = open();
    onTestFinished(db.close);
    const echo = short(
      'test.echo_odd',
      ($: Params<{ n: number }>) =>
        sql<{ body: string }>`select ${$.n}::int::text as body where ${$.n}::int % 2 = 1`,
    );
    const square = short(
      'test.square',
      ($: Params<{ n: number }>) => sql<{ body: string }>`select (${$.n}::int * ${$.n}::int)::text as body`,
    );
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 500 }, (_, n) => db.read(n % 3 === 0 ? square : echo, { n })),
      );
      expect(answers.map((rows) => rows.map(({ body }) => body))).toEqual(
        answers.map((_, n) => (n % 3 === 0 ? [String(n * n)] : n % 2 === 1 ? [String(n)] : [])),
      );
    }
  });

  test('of one flow share round trips, four at most, while they come several at a time', async () => {
    const pool = openPool({ url: inject('serverUrl'), poolSize: 3, statementTimeout: 60_000 });
    onTestFinished(() => pool.close());
    const readShort = shareTrips();
    let trips: string[] = [];
    const ask = async (flow: string, n: number): Promise<string> => {
      const deadline = newDeadline();
      const withClient = <Result>(work: (client: pg.Client) => Promise<Result>) => {
        trips.push(flow);
        return pool.withClient(work, deadline);
      };
      const [row] = await readShort({ flow, deadline, step: step(ECHO, { n }), withClient });
      return (row as { body: string }).body;
    };
    const askMany = async (): Promise<string[]> => {
      trips = [];
      const asked = ['a', 'a', 'b', 'a', 'a', 'b', 'a', 'a', 'a', 'a'].map(ask);
      expect(await Promise.all(asked)).toEqual(asked.map((_, n) => String(n)));
      return trips.toSorted();
    };
    const goesAtOnce = async (): Promise<boolean> => {
      trips = [];
      const answer = ask('a', 1);
      const began = trips.length === 1;
      expect(await answer).toBe('1');
      return began;
    };
    expect(await goesAtOnce()).toBe(true);
    // The first of them comes alone, as far as anybody knows.
    expect(await askMany()).toEqual(['a', 'a', 'a', 'b']);
    expect(await askMany()).toEqual(['a', 'a', 'b']);
    expect(await goesAtOnce()).toBe(false);
    expect(await goesAtOnce()).toBe(true);
  });

  test('fail alone: those that shared their round trip are answered', async () => {
    const db = open();
    onTestFinished(db.close);
    const divide = short(
      'test.divide_by',
      ($: Params<{ n: number }>) => sql<{ body: string }>`select (100 / ${$.n}::int)::text as body`,
    );
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.allSettled([1, 2, 0, 4, 5, 0, 10].map((n) => db.read(divide, { n })));
      expect(
        answers.map((answer) => (answer.status === 'fulfilled' ? answer.value[0]?.body : answer.reason.code)),
      ).toEqual(['100', '50', '22012', '25', '20', '22012', '10']);
    }
  });

  test('are all told of a server that is silent, without asking it again one by one', async () => {
    const proxy = await startProxy(inject('serverUrl'));
    const db = openDatabase({ url: proxy.url, poolSize: 1, maxWaiting: 1_000, statementTimeout: 1_000 });
    onTestFinished(async () => {
      proxy.cut();
      await db.close();
      await proxy.close();
    });
    const echo = short(
      'test.echo',
      ($: Params<{ n: number }>) => sql<{ body: string }>`select ${$.n}::int::text as body`,
    );
    // A busy machine can be too slow for the limit, and is not in the end.
    await expect.poll(() => db.read(echo, { n: 0 }).then(([row]) => row?.body, String)).toBe('0');
    proxy.freeze();
    const answers = await Promise.allSettled([1, 2, 3, 4].map((n) => db.read(echo, { n })));
    // Asked again, they would fail to connect instead.
    expect(answers.map((answer) => answer.status === 'rejected' && answer.reason.message)).toEqual(
      new Array(4).fill('The database took longer than 1000 ms.'),
    );
  });

  test('outlive the end of every connection', async () => {
    const db = open();
    onTestFinished(db.close);
    const wait = short(
      'test.wait',
      ($: Params<{ n: number }>) => sql<{ body: string }>`select pg_sleep(0.05)::text || ${$.n}::int as body`,
    );
    const answers = Promise.all(Array.from({ length: 20 }, (_, n) => db.read(wait, { n })));
    await administer(inject('serverUrl'), (client) =>
      client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where query like '%pg_sleep(0.05)%' and pid <> pg_backend_pid()`,
      ),
    );
    expect((await answers).map(([row]) => row?.body)).toEqual(
      Array.from({ length: 20 }, (_, n) => String(n)),
    );
  });
});
