import { sql } from 'drizzle-orm';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { OutcomeUnknown } from '../../src/contract/errors.ts';
import { type Database, type Params, prepared, type Queries, unprepared } from '../../src/db/index.ts';
import { ownPool } from '../support/instance.ts';
import { useService } from '../support/service.ts';

const service = await useService();

type Id = Params<{ id: number }>;
type Value = { value: number };
const INSERT = prepared('test.insert', ($: Id) => sql`insert into counters values (${$.id}, 0)`);
const ADD = prepared(
  'test.add',
  ($: Id) => sql`update counters set value = value + 1 where id = ${$.id} returning id`,
);
const VALUE = prepared('test.value', ($: Id) => sql<Value>`select value from counters where id = ${$.id}`);
const FAILING_READ = prepared('test.failing_read', () => sql<Value>`select fail() as value`);
const FAILING_WRITE = prepared(
  'test.failing_write',
  () => sql<Value>`update counters set value = value + 1 where id = 1 returning fail() as value`,
);
const SLEEP = unprepared(
  'test.sleep',
  ($: Params<{ seconds: number }>) => sql<object>`select from pg_sleep(${$.seconds}::double precision)`,
);
const SETTINGS = unprepared(
  'test.settings',
  () => sql<Record<string, string>>`
    select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
      current_setting('idle_in_transaction_session_timeout') as idle,
      current_setting('max_parallel_workers_per_gather') as workers, current_setting('search_path') as schema,
      (select source from pg_settings where name = 'synchronous_commit') as commit`,
);

// A rollback does not reset a sequence, so this counts the attempts.
await service.query(
  `create table counters (id integer constraint counters_pkey primary key, value integer not null);
  create sequence attempts;
  create table failures (times integer not null);
  create function fail() returns integer language plpgsql security definer as $$
    declare attempt integer := nextval('attempts');
    begin
      if attempt <= (select times from failures) then
        raise exception 'attempt %', attempt using errcode = '40001';
      end if;
      return attempt;
    end $$`,
);
const queries = service.db.for((await service.agency()).id);
beforeEach(async () => {
  await service.query('delete from counters; insert into counters values (1, 0), (2, 0)');
});

const values = async (): Promise<number[]> =>
  (await service.query('select value from counters order by id')).map(({ value }) => value);

describe('the statements of a transaction', () => {
  let db: Database;
  let own: Queries;
  beforeEach(() => {
    // With one connection, each transaction uses the connection of the one before.
    db = ownPool(service, { poolSize: 1 });
    own = db.for('an organization');
  });
  test.each(['one after another', 'at once', 'awaiting the last', 'without waiting'])(
    'that are sent %s are all applied, or none, for the reason of the first that failed',
    async (how) => {
      const insert = (ids: number[]) =>
        own.transaction(async ({ write }) => {
          if (how === 'at once') await Promise.all(ids.map((id) => write(INSERT, { id })));
          else if (how === 'awaiting the last') await ids.map((id) => write(INSERT, { id })).at(-1);
          else
            for (const id of ids) {
              const written = write(INSERT, { id });
              if (how !== 'without waiting') await written;
            }
        });
      for (const id of [10, 20]) {
        const failed = insert([id, id + 1, id, id + 2]);
        await expect(failed).rejects.toMatchObject({ code: '23505', constraint: 'counters_pkey' });
        expect(await values()).toHaveLength(id / 5);
        await insert([id, id + 1]);
      }
      expect(await values()).toHaveLength(6);
    },
  );

  test('that are sent at once run in the order of the calls, a read after a write too', async () => {
    const [, [row]] = await own.transaction(({ write, read }) =>
      Promise.all([write(ADD, { id: 1 }), read(VALUE, { id: 1 })]),
    );
    expect(row).toEqual({ value: 1 });
  });

  test('are rolled back when the work throws, also inside another transaction', async () => {
    const failed = own.transaction((outer) =>
      outer.transaction(async ({ write }) => {
        await write(INSERT, { id: 3 });
        void write(INSERT, { id: 3 });
        throw new Error('given up');
      }),
    );
    await expect(failed).rejects.toThrow('given up');
    expect(await values()).toHaveLength(2);
  });

  test('are rolled back when the work ends after its timeout', async () => {
    onTestFinished(() => void vi.restoreAllMocks());
    const outcome = own.transaction(async ({ write }) => {
      await write(INSERT, { id: 3 });
      const hours = performance.now() + 3 * 3_600_000;
      vi.spyOn(performance, 'now').mockReturnValue(hours);
    });
    await expect(outcome).rejects.toThrow('The transaction exceeded its time limit.');
    expect(await values()).toHaveLength(2);
  });

  test('have the time limit of the transaction where it has its own, and the next ones on the connection do not', async () => {
    const limited = ownPool(service, { poolSize: 1, statementTimeout: 1_500 });
    const { read, transaction } = limited.for('an organization');
    const limits = await transaction(({ read }) => read(SETTINGS, {}), 60_000);
    expect(limits).toMatchObject([{ statement: '1min', lock: '1500ms' }]);
    expect(await read(SETTINGS, {})).toMatchObject([{ statement: '1500ms' }]);
    const slow = transaction(({ read }) => read(SLEEP, { seconds: 60 }));
    await expect(slow).rejects.toMatchObject({ code: '57014' });
  });
});

test('a read that fails behind a write of its request does not say that nothing was written', async () => {
  const db = ownPool(service, { poolSize: 1, statementTimeout: 300 });
  const slow = async (id: number) => {
    const { write, read } = db.for('a', { isGone: () => false, addDatabaseTime: () => undefined });
    await write(ADD, { id });
    return read(SLEEP, { seconds: 60 });
  };
  await expect(slow(1)).rejects.toMatchObject({ cause: { code: '57014' } });
  await expect(slow(1)).rejects.toBeInstanceOf(OutcomeUnknown);
  // No such row.
  await expect(slow(9)).rejects.toMatchObject({ code: '57014' });
});

test('of two transactions in a deadlock, the one that PostgreSQL ends (40P01) is retried from its start', async () => {
  let attempts = 0;
  const locked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const crossing = (first: number, second: number) =>
    queries.transaction(async ({ write }) => {
      attempts += 1;
      await write(ADD, { id: first });
      locked[first - 1]?.resolve();
      // Each locks its row before either updates the other row.
      await locked[second - 1]?.promise;
      await write(ADD, { id: second });
    });
  await Promise.all([crossing(1, 2), crossing(2, 1)]);
  expect(attempts).toBeGreaterThan(2);
  expect(await values()).toEqual([2, 2]);
});

const failFirst = async (times: number): Promise<void> => {
  await service.query(
    `delete from failures; insert into failures values (${times}); alter sequence attempts restart`,
  );
};

test('a serialization failure is retried: a read until it succeeds, a write up to three times; the write is applied once', async () => {
  await failFirst(4);
  expect(await queries.read(FAILING_READ, {})).toEqual([{ value: 5 }]);
  await failFirst(3);
  expect(await queries.write(FAILING_WRITE, {})).toEqual([{ value: 4 }]);
  expect(await values()).toEqual([1, 0]);
  await failFirst(4);
  const failed = queries.write(FAILING_WRITE, {});
  await expect(failed).rejects.toMatchObject({ code: '40001', message: 'attempt 4' });
  expect(await values()).toEqual([1, 0]);
});

/** With TEST_POSTGRES=pooler the connection goes through one. */
test('a connection has the timeouts of the service, uses one process, sees the tables of public, and commits as the server says', async () => {
  // Where the value comes from: the server of the tests commits in another way than others.
  const source = "select source as commit from pg_settings where name = 'synchronous_commit'";
  const [{ commit } = {}] = await service.query(source);
  expect(await service.db.read(SETTINGS, {})).toEqual([
    { statement: '4min', lock: '4min', idle: '30s', workers: '0', schema: 'public', commit },
  ]);
});
