import { sql } from 'drizzle-orm';
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { type Database, openDatabase } from '../../src/db/run/client.ts';
import type { Caller, Queries } from '../../src/db/run/scope.ts';
import { type Params, prepared } from '../../src/db/sql/statement.ts';
import { notFound, REFUSALS } from '../../src/errors.ts';
import { useService } from '../support/service.ts';

/** Statements that are all or nothing. */

const service = useService();

const INSERT = prepared(
  'test.transaction_insert',
  ($: Params<{ id: number }>) => sql`insert into noted (id) values (${$.id})`,
);
const CONNECTION = prepared(
  'test.transaction_connection',
  (_: Params<Record<never, never>>) => sql<{ pid: number }>`select pg_backend_pid() as pid`,
);
const LARGE = prepared(
  'test.transaction_large',
  (_: Params<Record<never, never>>) =>
    sql<{ text: string }>`select repeat('x', 100000) as text from generate_series(1, 5)`,
);

let db: Database;
let queries: Queries;
beforeAll(() => service.query('create table noted (id integer constraint noted_pkey primary key)'));
beforeEach(async () => {
  await service.query('delete from noted');
  // One connection: what one request leaves behind, the next one finds.
  db = openDatabase({ url: service.url, poolSize: 1, maxWaiting: 10, statementTimeout: 60_000 });
  onTestFinished(db.close);
  queries = db.for((await service.agency()).id);
});

const insert = (...ids: readonly number[]) =>
  queries.transaction(async ({ write }) => {
    for (const id of ids) await write(INSERT, { id });
  });
const noted = async (): Promise<number[]> =>
  (await service.query<{ id: number }>('select id from noted order by id')).map(({ id }) => id);

test('are all written, the first time on a connection and later', async () => {
  await insert(1, 2);
  await insert(3, 4);
  expect(await noted()).toEqual([1, 2, 3, 4]);
});

test('are none of them written when one fails, and the connection serves the next request', async () => {
  for (let round = 0; round < 2; round += 1) {
    await expect(insert(1, 1)).rejects.toMatchObject({ code: '23505', constraint: 'noted_pkey' });
    expect(await noted()).toEqual([]);
    await insert(1, 2);
    await service.query('delete from noted');
  }
});

test('are none of them written when several are asked at once and one fails', async () => {
  const atOnce = (...ids: readonly number[]) =>
    queries.transaction(({ write }) => Promise.all(ids.map((id) => write(INSERT, { id }))));
  await expect(atOnce(1, 2, 1, 3)).rejects.toMatchObject({ code: '23505' });
  expect(await noted()).toEqual([]);
  await atOnce(1, 2, 3);
  expect(await noted()).toEqual([1, 2, 3]);
});

test('are undone when the work throws, also inside of another transaction', async () => {
  const failed = queries.transaction((outer) =>
    outer.transaction(async ({ write }) => {
      await write(INSERT, { id: 1 });
      throw new Error('given up');
    }),
  );
  await expect(failed).rejects.toThrow('given up');
  expect(await noted()).toEqual([]);
});

test('an answer of ours leaves the connection as it was, whatever it says', async () => {
  const before = await queries.read(CONNECTION, {});
  const missing = notFound('CUSTOMER_NOT_FOUND', 'customer', 'terminated');
  await expect(queries.transaction(() => Promise.reject(missing))).rejects.toBe(missing);
  expect(await queries.read(CONNECTION, {})).toEqual(before);
  const caller: Caller = {
    signal: new AbortController().signal,
    refusal: (bytes) => (bytes === undefined ? undefined : REFUSALS.unsent),
    ran: () => undefined,
  };
  await expect(db.for('other', caller).read(LARGE, {})).rejects.toBe(REFUSALS.unsent);
  expect(await queries.read(CONNECTION, {})).toEqual(before);
});
