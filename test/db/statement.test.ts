import { eq, sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { customers, products, quotes } from '../../src/db/schema/index.ts';
import {
  allStatements,
  bind,
  builder,
  named,
  type Params,
  prepared,
  unprepared,
} from '../../src/db/sql/statement.ts';

test('all places of one name are one parameter', () => {
  const statement = prepared(
    'statement_test.places',
    ($: Params<{ a: string; b: number }>) =>
      sql<{ n: number }>`select ${$.b}, ${$.a}, ${$.b} where ${$.a} = ${$.a}`,
  );
  expect(statement.text).toBe('select $1, $2, $1 where $2 = $2');
  expect(statement.parameters).toEqual(['b', 'a']);
  expect(bind(statement, { a: 'x', b: 1 })).toEqual({
    name: 'statement_test.places',
    text: statement.text,
    values: [1, 'x'],
  });
});

test('a constant stands in the text, escaped', () => {
  const statement = prepared('statement_test.constant', ($: Params<{ id: string }>) =>
    builder
      .select(named({ id: quotes.id }))
      .from(quotes)
      .where(sql`${eq(quotes.id, $.id)} and ${eq(quotes.title, "it's")} and ${eq(quotes.openCount, 3)}`),
  );
  expect(statement.text).toBe(
    `select "id" as "id" from "quotes" where "quotes"."id" = $1 and "quotes"."title" = 'it''s' and "quotes"."open_count" = 3`,
  );
});

test('a value is encoded as its column wants it; null and text stay what they are', () => {
  const statement = prepared(
    'statement_test.encoded',
    ($: Params<{ id: string; tags: string[] | null; at: string }>) =>
      builder
        .update(customers)
        .set({
          tags: sql`${sql.param($.tags, customers.tags)}`,
          archivedAt: sql`${sql.param($.at, customers.archivedAt)}`,
        })
        .where(eq(customers.id, $.id)),
  );
  const at = '2026-11-21T10:00:00.000Z';
  expect(statement.bind({ id: '1', tags: ['a b', 'c'], at })).toEqual(['{"a b","c"}', at, '1']);
  expect(statement.bind({ id: '1', tags: null, at })).toEqual([null, at, '1']);
});

test('a name stands for one text, and is short enough for PostgreSQL', () => {
  const compose = (name: string, text: string) => unprepared(name, () => sql.raw(text));
  compose('statement_test.once', 'select 1');
  expect(compose('statement_test.once', 'select 1').text).toBe('select 1');
  expect(() => compose('statement_test.once', 'select 2')).toThrow('Two statements have the name');
  expect(() => compose(`statement_test.${'x'.repeat(60)}`, 'select 1')).toThrow('too long');
});

test('a moment is read as ISO 8601, whatever the time zone of the server', () => {
  const statement = prepared('statement_test.moment', () =>
    builder.select(named({ updatedAt: products.updatedAt })).from(products),
  );
  expect(statement.text).toContain(`at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"`);
});

test('every statement is named after its resource and its operation', () => {
  const own = allStatements().filter(({ name }) => !/_test\.|^test\./.test(name));
  for (const { name } of own) expect(name).toMatch(/^[a-z_]+\.[a-z_]+( \w+)*$/);
});
