import { sql } from 'drizzle-orm';
import pg from 'pg';
import { afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { type Database, openDatabase } from '../../src/db/run/client.ts';
import type { Caller, Queries } from '../../src/db/run/scope.ts';
import { type Params, prepared, step } from '../../src/db/sql/statement.ts';
import { notFound, REFUSALS } from '../../src/errors.ts';
import { useService } from '../support/service.ts';

/** Steps that are written together. */

const service = useService();

const INSERT = prepared(
  'test.together_insert',
  ($: Params<{ id: number }>) => sql`insert into noted (id) values (${$.id})`,
);
const ALL = prepared(
  'test.together_all',
  (_: Params<Record<never, never>>) =>
    sql<{ ids: number[] }>`select array_agg(id order by id) as ids from noted`,
);
const steps = (...ids: readonly number[]) =>
  [...ids.map((id) => step(INSERT, { id })), step(ALL, {})] as const;

const CONNECTION = prepared(
  'test.together_connection',
  (_: Params<Record<never, never>>) => sql<{ pid: number }>`select pg_backend_pid() as pid`,
);
const LARGE = prepared(
  'test.together_large',
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
afterEach(() => {
  vi.restoreAllMocks();
});

const write = async (...ids: readonly number[]) => (await queries.writeTogether(steps(...ids))).at(-1);
const noted = async (): Promise<number[]> =>
  (await service.query<{ id: number }>('select id from noted order by id')).map(({ id }) => id);

test('are all written, and the last one sees it, the first time on a connection and later', async () => {
  expect(await write(1, 2)).toEqual([{ ids: [1, 2] }]);
  expect(await write(3, 4)).toEqual([{ ids: [1, 2, 3, 4] }]);
  expect(await noted()).toEqual([1, 2, 3, 4]);
});

test('make one round trip', async () => {
  await write(1);
  const query = vi.spyOn(pg.Client.prototype, 'query');
  await write(2, 3);
  // The service beside it has queries of its own, of another kind.
  expect(query.mock.calls.filter(([asked]) => asked?.constructor.name === 'Trip')).toHaveLength(1);
  expect(query.mock.calls.filter(([asked]) => String(asked) === 'begin')).toEqual([]);
});

test('are none of them written when one fails, and the connection serves the next request', async () => {
  for (let round = 0; round < 2; round += 1) {
    await expect(write(1, 1)).rejects.toMatchObject({ code: '23505', constraint: 'noted_pkey' });
    expect(await noted()).toEqual([]);
    expect(await write(1, 2)).toEqual([{ ids: [1, 2] }]);
    await service.query('delete from noted');
  }
});

test('inside of a transaction belong to that one', async () => {
  const failed = queries.transaction(async ({ writeTogether }) => {
    await writeTogether(steps(1, 2));
    throw new Error('given up');
  });
  await expect(failed).rejects.toThrow('given up');
  expect(await noted()).toEqual([]);
  await queries.transaction(async ({ writeTogether }) => {
    await writeTogether(steps(1, 2));
    await writeTogether(steps(3, 4));
  });
  expect(await noted()).toEqual([1, 2, 3, 4]);
});

test('that only read are answered each, in one round trip', async () => {
  await write(1, 2);
  const query = vi.spyOn(pg.Client.prototype, 'query');
  expect(await queries.readTogether([step(ALL, {}), step(ALL, {})])).toEqual([
    [{ ids: [1, 2] }],
    [{ ids: [1, 2] }],
  ]);
  expect(query.mock.calls.filter(([asked]) => asked?.constructor.name === 'Trip')).toHaveLength(1);
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
