import { sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { customers } from '../../src/db/schema/index.ts';
import { assignments, columnList, rowValues, valueList } from '../../src/db/sql/row.ts';
import { type Params, unprepared } from '../../src/db/sql/statement.ts';
import { useService } from '../support/service.ts';

const service = useService();

const columns = {
  firstName: customers.firstName,
  city: customers.city,
  tags: customers.tags,
  contacts: customers.contacts,
};

test('a whole row has null for what is absent, and an empty list for a list that is absent or null', () => {
  expect(rowValues(columns, { firstName: 'Ana', city: undefined, contacts: [] })).toEqual({
    firstName: 'Ana',
    city: null,
    tags: [],
    contacts: '[]',
  });
  expect(rowValues(columns, { city: null, tags: null })).toMatchObject({
    firstName: null,
    city: null,
    tags: [],
  });
  expect(rowValues(columns, { tags: ['vip'] }).tags).toEqual(['vip']);
});

test('a field without a column does not compile', () => {
  // @ts-expect-error no column has this name
  expect(rowValues(columns, { nickname: 'Anita' })).not.toHaveProperty('nickname');
});

test('each value arrives as its column has it', async () => {
  const statement = unprepared(
    'row_test.values',
    ($: Params<Record<keyof typeof columns, unknown>>) => sql<{
      city: string;
      tags: string[];
      contacts: string;
    }>`
      select ${$.city}::text as city, ${$.tags}::text[] as tags, ${$.contacts}::json::text as contacts`,
  );
  const values = rowValues(columns, {
    city: 'Lima',
    tags: ['a "b"', '', 'c,d\\'],
    contacts: [{ b: 1, a: ["'"] }],
  });
  expect(await service.db.read(statement, values)).toEqual([
    { city: 'Lima', tags: ['a "b"', '', 'c,d\\'], contacts: `[{"b":1,"a":["'"]}]` },
  ]);
});

test('an insert and an update name columns and values in one order', async () => {
  const statement = unprepared(
    'row_test.insert',
    (_: Params<Record<keyof typeof columns, unknown>>) =>
      sql`insert into customers (${columnList(columns)}) values (${valueList(columns)})`,
  );
  expect(statement.text).toBe(
    'insert into customers ("first_name", "city", "tags", "contacts") values ($1, $2, $3, $4)',
  );
  const change = unprepared(
    'row_test.update',
    (_: Params<Record<keyof typeof columns, unknown>>) => sql`update customers set ${assignments(columns)}`,
  );
  expect(change.text).toBe(
    'update customers set "first_name" = $1, "city" = $2, "tags" = $3, "contacts" = $4',
  );
});
