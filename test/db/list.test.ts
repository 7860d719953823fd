import { expect, test } from 'vitest';
import { listCustomers } from '../../src/customers/repository.ts';
import { statementOf } from '../support/statements.ts';

type Query = { offset?: number; query?: string; tag?: string };

const statementsOf = (query: Query, rows: number) =>
  statementOf(
    1,
    (scope) => listCustomers(scope, { limit: 2, offset: 0, ...query }),
    Array.from({ length: rows }, () => ({ id: '1', body: Buffer.from('{}'), total: '9' })),
  );

test.each<[Query, rows: number, hasTotal: boolean]>([
  [{}, 0, false],
  [{}, 2, false],
  [{ offset: 50 }, 0, true],
  [{ query: 'a' }, 1, false],
  [{ query: 'a', offset: 4 }, 1, false],
  [{ query: 'a' }, 2, true],
  [{ query: 'a', offset: 4 }, 0, true],
])(
  'a list with %o whose page of two has %i rows needs a statement for its total: %s',
  async (query, rows, hasTotal) => {
    const { after = [] } = await statementsOf(query, rows);
    expect(after).toHaveLength(hasTotal ? 1 : 0);
  },
);

test('a search reads search documents: the page by their ids, the total without the records', async () => {
  const { text: page, after: [total] = [] } = await statementsOf({ query: 'a', tag: 'vip' }, 2);
  expect(page).toContain('in (select "searchable_customers"."id" as "id" from "searchable_customers" where');
  expect(total?.text).toContain('from "searchable_customers" where');
  expect(total?.text).not.toContain('"customers"');
  expect((await statementsOf({}, 2)).text).not.toContain('searchable');
});

test('a limit above 100 is rejected before a statement is sent', async () => {
  const list = statementOf(1, (scope) => listCustomers(scope, { limit: 101, offset: 0 }));
  await expect(list).rejects.toThrow(new RangeError('customers.list has pages of 100 rows at most.'));
});
