import { sql } from 'drizzle-orm';
import { afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { openDatabase, type Queries } from '../../src/db/client.ts';
import { LostRace } from '../../src/db/faults.ts';
import { prepared, rendered } from '../../src/db/statement.ts';
import { RenderingClient } from '../../src/wire/rendered-query.ts';
import { useService } from '../support/service.ts';

/** Statements that are sent together. */

const service = useService();

type Values = { first: number; second: number };
type Placeholders = { [Name in keyof Values]: unknown };

const insert = (name: keyof Values) =>
  prepared(`test.together_${name}`, ($: Placeholders) => sql`insert into noted (id) values (${$[name]})`, {
    ...(name === 'second' && { racesOn: 'noted_small' }),
  });
const BODY = rendered<Values, { body: string }>(
  'test.together_body',
  () => sql`select json_agg(id order by id)::text as body from noted`,
);
const ALL = [insert('first'), insert('second'), BODY] as const;

let queries: Queries;
beforeAll(() =>
  service.query(
    'create table noted (id integer constraint noted_pkey primary key, constraint noted_small check (id < 100))',
  ),
);
beforeEach(async () => {
  await service.query('delete from noted');
  // One connection: what one request leaves behind, the next one finds.
  const db = openDatabase({ url: service.url, poolSize: 1, maxWaiting: 10, statementTimeout: 10_000 });
  onTestFinished(db.close);
  queries = db.for((await service.agency()).id);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const body = async (values: Values): Promise<number[]> => {
  const [row] = await queries.writeTogether(ALL, values);
  return JSON.parse(String(row?.body));
};
const noted = async (): Promise<number[]> =>
  (await service.query<{ id: number }>('select id from noted order by id')).map(({ id }) => id);

test('are all written, and the last one sees it, the first time on a connection and later', async () => {
  expect(await body({ first: 1, second: 2 })).toEqual([1, 2]);
  expect(await body({ first: 3, second: 4 })).toEqual([1, 2, 3, 4]);
  expect(await noted()).toEqual([1, 2, 3, 4]);
});

test('make one round trip', async () => {
  const query = vi.spyOn(RenderingClient.prototype, 'query');
  await body({ first: 1, second: 2 });
  // The service beside it has queries of its own, of another kind.
  const sent = query.mock.calls.filter(([asked]) => asked?.constructor.name === 'RenderedQuery');
  expect(sent).toHaveLength(1);
  expect(query.mock.calls.filter(([asked]) => String(asked) === 'begin')).toEqual([]);
});

test('are none of them written when one fails, and the connection serves the next request', async () => {
  for (let round = 0; round < 2; round += 1) {
    const refused = queries.writeTogether(ALL, { first: 1, second: 1 });
    await expect(refused).rejects.toMatchObject({ code: '23505', constraint: 'noted_pkey' });
    expect(await noted()).toEqual([]);
    expect(await body({ first: 1, second: 2 })).toEqual([1, 2]);
    await service.query('delete from noted');
  }
});

test('are run again when one of them lost a race', async () => {
  const query = vi.spyOn(RenderingClient.prototype, 'query');
  await expect(queries.writeTogether(ALL, { first: 1, second: 100 })).rejects.toBeInstanceOf(LostRace);
  const rollbacks = query.mock.calls.filter(([text]) => String(text) === 'rollback');
  expect(rollbacks.length).toBeGreaterThan(1);
  expect(await noted()).toEqual([]);
});

test('inside of a transaction belong to that one', async () => {
  const failed = queries.transaction(async ({ writeTogether }) => {
    await writeTogether(ALL, { first: 1, second: 2 });
    throw new Error('given up');
  });
  await expect(failed).rejects.toThrow('given up');
  expect(await noted()).toEqual([]);
  await queries.transaction(async ({ writeTogether }) => {
    await writeTogether(ALL, { first: 1, second: 2 });
    await writeTogether(ALL, { first: 3, second: 4 });
  });
  expect(await noted()).toEqual([1, 2, 3, 4]);
});
