import { sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { products } from '../../src/db/schema/index.ts';
import { selectList } from '../../src/db/sql/json.ts';
import { allStatements, bind, type Params, prepared, unprepared } from '../../src/db/sql/statement.ts';

test('each place has the value of its name, and a constant its own', () => {
  const statement = prepared(
    'statement_test.places',
    ($: Params<{ a: string; b: number }>) =>
      sql<{ n: number }>`select ${$.b}, ${$.a} where ${$.a} <> ${"it's"}`,
  );
  expect(statement.text).toBe('select $1, $2 where $3 <> $4');
  expect(bind(statement, { a: 'x', b: 1 })).toEqual({
    name: 'statement_test.places',
    text: statement.text,
    values: [1, 'x', 'x', "it's"],
  });
});

test('null is a value; a name that is missing is a mistake', () => {
  const statement = prepared(
    'statement_test.null',
    ($: Params<{ id: string; tags: string[] | null }>) => sql`select ${$.tags}, ${$.id}`,
  );
  expect(bind(statement, { id: '1', tags: null }).values).toEqual([null, '1']);
  expect(() => bind(statement, { id: '1' } as never)).toThrow('tags');
});

test('a name stands for one text, and is short enough for PostgreSQL', () => {
  const compose = (name: string, text: string) => unprepared(name, () => sql.raw(text));
  compose('statement_test.once', 'select 1');
  expect(compose('statement_test.once', 'select 1').text).toBe('select 1');
  expect(() => compose('statement_test.once', 'select 2')).toThrow('Two statements have the name');
  expect(() => compose(`statement_test.${'x'.repeat(60)}`, 'select 1')).toThrow('too long');
});

test('a moment is read as ISO 8601, whatever the time zone of the server', () => {
  const statement = prepared(
    'statement_test.moment',
    () => sql`select ${selectList({ updatedAt: products.updatedAt })} from ${products}`,
  );
  expect(statement.text).toContain(`at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"`);
});

test('every statement is named after its resource and its operation', () => {
  const own = allStatements().filter(({ name }) => !/_test\.|^test\./.test(name));
  for (const { name } of own) expect(name).toMatch(/^[a-z_]+\.[a-z_]+( \w+)*$/);
});
