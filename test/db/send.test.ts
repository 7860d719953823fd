import { beforeEach, expect, test } from 'vitest';
import type { Database, Statement } from '../../src/db/index.ts';
import { ownPool } from '../support/instance.ts';
import { useService } from '../support/service.ts';

const service = useService();

let db: Database;
beforeEach(() => {
  db = ownPool(service);
});

/** A statement that is prepared if it has a name. */
const statement = (text: string, params: unknown[] = [], name?: string): Statement<object, object> => ({
  name: name ?? '',
  composed: () => ({ text, params }),
  isPrepared: name !== undefined,
});
const read = (...args: Parameters<typeof statement>) => db.read(statement(...args), {});

test.each([undefined, 'json'])(
  'JSON arrives as the bytes that PostgreSQL generated, prepared as %s',
  async (name) => {
    const query = `select json_build_object('text', $1::text, 'row', n) as body, n, null::json as none
    from generate_series(1, 3) n`;
    for (const text of ['', 'Peña 🏝️', 'ñ'.repeat(1_500_000)]) {
      const rows = (await read(query, [text], name)) as { body: Buffer; n: number; none: null }[];
      expect(rows.map(({ n, none }) => [n, none])).toEqual([1, 2, 3].map((n) => [n, null]));
      for (const { body, n } of rows)
        expect(body.equals(Buffer.from(`{"text" : ${JSON.stringify(text)}, "row" : ${n}}`))).toBe(true);
    }
  },
);

test('a connection prepares a named statement once, also after an error', async () => {
  const divide = (n: number) => read('select 100 / $1::int as n', [n], 'divide');
  for (let round = 0; round < 3; round += 1) {
    await expect(divide(0)).rejects.toMatchObject({ code: '22012' });
    expect(await divide(5)).toEqual([{ n: 20 }]);
    await expect(read('select no_such_column')).rejects.toMatchObject({ code: '42703' });
    expect(await read('select $1::text as "one"', ['unnamed'])).toEqual([{ one: 'unnamed' }]);
  }
  const prepared = "select count(*)::int as n from pg_prepared_statements where name = 'divide'";
  expect(await read(prepared)).toEqual([{ n: 1 }]);
});

test('a result of more than 1 MiB is held until its caller has sent the response, or reads again', async () => {
  const large = statement(`select json_build_array(repeat('x', $1::int)) as body`, [1_048_600]);
  const small = statement('select json_build_array() as body');
  const sent = Promise.withResolvers<void>();
  const caller = {
    isGone: () => false,
    sent: () => sent.promise,
    addDatabaseTime: () => undefined,
  };
  const queries = db.for('a', caller);
  await queries.read(small, {});
  expect(db.stats().held).toBe(0);
  await queries.read(large, {});
  expect(db.stats().held).toBe(1);
  await queries.read(small, {});
  expect(db.stats().held).toBe(0);
  await queries.read(large, {});
  sent.resolve();
  await expect.poll(() => db.stats().held).toBe(0);
});
