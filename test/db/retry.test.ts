import { sql } from 'drizzle-orm';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Queries } from '../../src/db/run/scope.ts';
import { prepared, unprepared } from '../../src/db/sql/statement.ts';
import { useService } from '../support/service.ts';

/** What PostgreSQL undoes for the sake of another transaction is run again, and its caller sees only the result. */

const service = useService();

const VALUE = prepared(
  'test.value',
  ($: { id: unknown }) => sql<{ value: number }>`select value from counters where id = ${$.id}`,
);
const ADD = prepared(
  'test.add',
  ($: { id: unknown }) =>
    sql<{ value: number }>`update counters set value = value + 1 where id = ${$.id} returning value`,
);
const REPEATABLE_READ = unprepared(
  'test.repeatableRead',
  () => sql<object>`set transaction isolation level repeatable read`,
);
const FAILING_READ = prepared('test.failingRead', () => sql<{ value: number }>`select fail() as value`);
const FAILING_WRITE = prepared(
  'test.failingWrite',
  () => sql<{ value: number }>`update counters set value = value + 1 where id = 1 returning fail() as value`,
);

let queries: Queries;
beforeAll(async () => {
  await service.query('create table counters (id integer primary key, value integer not null)');
  // A sequence keeps its place when its transaction is undone: it counts the attempts.
  await service.query('create sequence attempts');
  await service.query('create table failures (state text not null, times integer not null)');
  await service.query(`create function fail() returns integer language plpgsql security definer as $$
    declare attempt integer := nextval('attempts'); failure failures;
    begin
      select * into failure from failures;
      if attempt <= failure.times then raise exception 'attempt %', attempt using errcode = failure.state; end if;
      return attempt;
    end $$`);
  queries = service.db.for((await service.agency()).id);
});
beforeEach(async () => {
  await service.query('delete from counters');
  await service.query('insert into counters values (1, 0), (2, 0)');
});

const values = async (): Promise<number[]> =>
  (await service.query<{ value: number }>('select value from counters order by id')).map(
    ({ value }) => value,
  );

test('of two transactions that wait for each other, the one that PostgreSQL ends (40P01) runs again from its start', async () => {
  let attempts = 0;
  const locked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const crossing = (first: number, second: number) =>
    queries.transaction(async ({ write }) => {
      attempts += 1;
      await write(ADD, { id: first });
      locked[first - 1]?.resolve();
      // In the first attempts both hold their row before either asks for the other.
      await locked[second - 1]?.promise;
      await write(ADD, { id: second });
    });
  await Promise.all([crossing(1, 2), crossing(2, 1)]);
  expect(attempts).toBe(3);
  expect(await values()).toEqual([2, 2]);
});

test('a transaction whose row another one changed (40001) runs again and sees the change', async () => {
  const seen: (number | undefined)[] = [];
  await queries.transaction(async ({ read, write }) => {
    await write(REPEATABLE_READ, {});
    seen.push((await read(VALUE, { id: 1 }))[0]?.value);
    if (seen.length === 1) await service.query('update counters set value = 10 where id = 1');
    await write(ADD, { id: 1 });
  });
  expect(seen).toEqual([0, 10]);
  expect(await values()).toEqual([11, 0]);
});

describe.each(['40001', '40P01'])('SQLSTATE %s', (state) => {
  const failing = async (times: number): Promise<void> => {
    await service.query('delete from failures');
    await service.query('insert into failures values ($1, $2)', [state, times]);
    await service.query('alter sequence attempts restart');
  };

  test('a read is repeated until it succeeds', async () => {
    // Once more than a write.
    await failing(4);
    expect(await queries.read(FAILING_READ, {})).toEqual([{ value: 5 }]);
  });

  test('a write is repeated three times, and is there once', async () => {
    await failing(3);
    expect(await queries.write(FAILING_WRITE, {})).toEqual([{ value: 4 }]);
    expect(await values()).toEqual([1, 0]);
  });

  test('a write that fails a fourth time gives its error, and nothing is written', async () => {
    await failing(4);
    await expect(queries.write(FAILING_WRITE, {})).rejects.toMatchObject({
      code: state,
      message: 'attempt 4',
    });
    expect(await values()).toEqual([0, 0]);
  });

  test('inside of a transaction nothing is repeated by itself: the whole transaction is', async () => {
    await failing(2);
    let attempts = 0;
    const rows = await queries.transaction(async ({ read, write }) => {
      attempts += 1;
      await write(ADD, { id: 2 });
      return read(FAILING_READ, {});
    });
    expect([rows, attempts]).toEqual([[{ value: 3 }], 3]);
    expect(await values()).toEqual([0, 1]);
  });
});
