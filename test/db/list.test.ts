import { expect, test } from 'vitest';
import { z } from 'zod';
import { listCustomers } from '../../src/customers/repository.ts';
import type { Queries } from '../../src/db/pool/scope.ts';
import { contains, defineList, equals, hasEntry, newestFirst } from '../../src/db/repository/list.ts';
import { fieldsOf } from '../../src/db/sql/field-columns.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import { bind, type Statement } from '../../src/db/sql/statement.ts';
import { customers, liveCustomers } from '../../src/db/tables/index.ts';

/** A database that answers every statement with these rows, and keeps what it was asked. Only who asks for a total gets one. */
function recorder(rows: { total: string }[] = [{ total: '7', ...{ id: '1', body: '{"id":1}' } }]) {
  const ran: { text: string; name: string | undefined }[] = [];
  const read = async <Row, Values>(statement: Statement<Row, Values>, values: Values) => {
    const { text, name } = bind(statement, values);
    ran.push({ text, name });
    return text.includes(' as total') ? rows : rows.map(({ total: _, ...row }) => row);
  };
  return { ran, scope: { db: { read } as unknown as Queries, organizationId: 'ours' as never } };
}

const Shown = z.object({ id: z.string(), city: z.string().nullable() });
const Query = z.object({
  limit: z.number(),
  offset: z.number(),
  id: z.string().optional(),
  query: z.string().optional(),
  tag: z.string().optional(),
  city: z.string().optional(),
});
type Query = z.infer<typeof Query>;

/** It searches in the records themselves, without search rows. */
const listPeople = defineList(
  { ...liveCustomers, searchDocument: undefined, fields: fieldsOf(Shown, customers) },
  {
    name: 'list_test.people',
    query: Query,
    order: newestFirst('updatedAt'),
    filters: {
      id: equals('id'),
      query: { ...contains(), field: 'contactSearch' },
      tag: hasEntry('tags'),
      city: equals('city'),
    },
  },
);

test('only what its page does not tell of the total is asked for: past the last row, and in a search', async () => {
  const asked = async (count: number, query: Partial<Query>) => {
    const rows = Array.from({ length: count }, (_, id) => ({
      id: `${id}`,
      body: '{}',
      total: '9',
    }));
    const { ran, scope } = recorder(rows);
    const page = parseJson(await listPeople(scope, { limit: 2, offset: 0, ...query }));
    return [page.pagination.total, ran.slice(1).map(({ text }) => text.startsWith('select count(*)'))];
  };
  expect(await asked(0, {})).toEqual([0, []]);
  expect(await asked(0, { offset: 50, city: 'Lima' })).toEqual([0, [true]]);
  expect(await asked(0, { query: 'a' })).toEqual([0, []]);
  expect(await asked(1, { query: 'a' })).toEqual([1, []]);
  expect(await asked(1, { query: 'a', offset: 4 })).toEqual([5, []]);
  expect(await asked(2, { query: 'a' })).toEqual([9, [true]]);
  expect(await asked(0, { query: 'a', offset: 4 })).toEqual([0, [true]]);
});

test('a search looks into search rows: the page by the ids that it finds there, the total there alone', async () => {
  const { ran, scope } = recorder();
  await listCustomers(scope, { limit: 1, offset: 0, query: 'a', tag: 'vip' });
  const found = `from "searchable_customers" where "searchable_customers"."organization_id" = $ and ("searchable_customers"."search" like contains_pattern(($::text[])[1]) or "searchable_customers"."search" like contains_pattern(($::text[])[2])) and "searchable_customers"."tags" @> array[$]::text[]`;
  const [page, total] = ran.map(({ text }) => text.replaceAll(/\$\d+/g, '$'));
  expect(page).toContain(`in (select "searchable_customers"."id" ${found})`);
  expect(total).toBe(`select count(*) as total ${found}`);
  await listCustomers(scope, { limit: 1, offset: 0 });
  expect(ran[2]?.text).not.toContain('searchable');
});

test('a filter whose field no table has is refused at the start, and a larger limit before anything is asked', async () => {
  const list = () =>
    defineList(
      { ...liveCustomers, fields: fieldsOf(Shown, customers) },
      {
        name: 'list_test.refused',
        query: Query.pick({ limit: true, offset: true, city: true }),
        order: newestFirst('updatedAt'),
        filters: { city: equals('town') },
      },
    );
  expect(list).toThrow('A list needs town in customers.');
  const { ran, scope } = recorder();
  await expect(listPeople(scope, { limit: 101, offset: 0 })).rejects.toThrow(
    new RangeError('list_test.people has pages of 100 rows at most.'),
  );
  expect(ran).toEqual([]);
});
