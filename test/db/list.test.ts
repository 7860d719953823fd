import { expect, test } from 'vitest';
import { z } from 'zod';
import { listCustomers } from '../../src/customers/repository.ts';
import { contains, defineList, equals, hasEntry, newestFirst } from '../../src/db/define/list.ts';
import type { Queries } from '../../src/db/run/scope.ts';
import { customers, liveCustomers } from '../../src/db/schema/index.ts';
import { fieldsOf } from '../../src/db/sql/field-columns.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import { bind, type Statement } from '../../src/db/sql/statement.ts';
import { useService } from '../support/service.ts';

const service = useService();

type Ran = { text: string; name: string | undefined; values: readonly unknown[] };

/** A database that answers every statement with these rows, and keeps what it was asked. Only who asks for a total gets one. */
function recorder(
  rows: { total: string }[] = [{ total: '7', ...{ id: '1', body: Buffer.from('{"id":1}') } }],
) {
  const ran: Ran[] = [];
  const read = async <Row, Values>(statement: Statement<Row, Values>, values: Values) => {
    const { text, name, values: bound = [] } = bind(statement, values);
    ran.push({ text, name, values: bound });
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

/** It searches in the records themselves, without search rows. */
const listPeople = defineList(
  { ...liveCustomers, searchRow: undefined, fields: fieldsOf(Shown, customers) },
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

/** The statements that a list runs for this query. */
async function ranFor(query: Partial<z.infer<typeof Query>>, list = listPeople): Promise<Ran[]> {
  const { ran, scope } = recorder();
  await list(scope, { limit: 25, offset: 0, ...query });
  return ran;
}

test.each([
  [{}, ['list_test.people']],
  [{ offset: 50 }, ['list_test.people offset']],
  [{ city: 'Lima' }, ['list_test.people city']],
  [{ city: 'Lima', offset: 1 }, ['list_test.people city offset']],
  [{ city: undefined }, ['list_test.people']],
])('%j is a page and its total in one statement, prepared as %j', async (query, names) => {
  expect((await ranFor(query as never)).map(({ name }) => name)).toEqual(names);
});

test('a page past the last row is followed by the total alone', async () => {
  const { ran, scope } = recorder([]);
  await listPeople(scope, { limit: 25, offset: 50, city: 'Lima' });
  expect(ran.map(({ name }) => name)).toEqual([
    'list_test.people city offset',
    'list_test.people_total city',
  ]);
  expect(parseJson(await listPeople(scope, { limit: 25, offset: 0 })).pagination.total).toBe(0);
  expect(ran).toHaveLength(3);
});

test.each([{ query: 'ana' }, { tag: 'vip' }, { city: 'Lima', query: 'ana' }, { query: 'ana', city: 'Lima' }])(
  '%j is planned at each run',
  async (query) => {
    expect((await ranFor(query))[0]?.name).toBeUndefined();
  },
);

test('the same filters have the same statement, whatever their values', async () => {
  const [[first], [second]] = [await ranFor({ city: 'Lima' }), await ranFor({ city: 'Quito' })];
  expect(second?.text).toBe(first?.text);
  expect(first?.values).toContain('Lima');
  expect(second?.values).toContain('Quito');
});

test('a search looks into search rows: the page by the ids that it finds there, the total there alone', async () => {
  const { ran, scope } = recorder();
  await listCustomers(scope, { limit: 1, offset: 0, query: 'a', tag: 'vip' });
  const [page, total] = ran as [Ran, Ran];
  const found = `from "searchable_customers" where "searchable_customers"."organization_id" = $ and "searchable_customers"."search" like contains_pattern($) and "searchable_customers"."tags" @> array[$]::text[]`;
  const unnumbered = ({ text }: Ran) => text.replaceAll(/\$\d+/g, '$');
  expect(unnumbered(page)).toContain(`in (select "searchable_customers"."id" ${found})`);
  expect(unnumbered(total)).toBe(`select count(*) as total ${found}`);
  expect((await ranFor({}, listCustomers as never)).map(({ text }) => text).join()).not.toContain(
    'searchable',
  );
});

test('a search counts only where its page does not tell the total', async () => {
  const rows = (count: number) =>
    Array.from({ length: count }, (_, id) => ({ id: `${id}`, body: Buffer.from('{}'), total: '9' }));
  const totals = async (count: number, offset: number) => {
    const { ran, scope } = recorder(rows(count));
    const page = parseJson(await listPeople(scope, { limit: 2, offset, query: 'a' }));
    return [page.pagination.total, ran.length];
  };
  expect(await totals(0, 0)).toEqual([0, 1]);
  expect(await totals(1, 0)).toEqual([1, 1]);
  expect(await totals(1, 4)).toEqual([5, 1]);
  expect(await totals(2, 0)).toEqual([9, 2]);
  expect((await totals(0, 4))[1]).toBe(2);
});

test('a search and a filter of which the search row knows nothing: each looks in its own table, the total in both', async () => {
  const list = defineList(
    { ...liveCustomers, fields: fieldsOf(Shown, customers) },
    {
      name: 'list_test.both',
      query: Query.pick({ limit: true, offset: true, query: true, city: true }),
      order: newestFirst('updatedAt'),
      filters: { query: contains(), city: equals('city') },
    },
  );
  const { ran, scope } = recorder();
  await list(scope, { limit: 1, offset: 0, query: 'a', city: 'Lima' });
  for (const { text } of ran) {
    expect(text).toContain('"customers"."city" =');
    expect(text).toContain('"searchable_customers"."search" like');
    expect(text).not.toContain('"searchable_customers"."city"');
  }
  expect(ran).toHaveLength(2);
});

test('a filter whose field no table has is refused at the start', () => {
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
});

test('the limit stands there twice: as a constant, which the planner trusts, and as what was sent', async () => {
  const [[first], [later]] = [await ranFor({}), await ranFor({ offset: 50, limit: 10 })];
  expect(first?.text).toMatch(/limit 100\s+\) page limit \$\d/);
  expect(later?.text).toMatch(/limit 100 offset \$\d+\s+\) page limit \$\d+/);
  expect(later?.values).toEqual(expect.arrayContaining([10, 50]));
});

test('a larger limit than the constant is refused before anything is asked', async () => {
  const { ran, scope } = recorder();
  await expect(listPeople(scope, { limit: 101, offset: 0 })).rejects.toThrow(
    new RangeError('list_test.people has pages of 100 rows at most.'),
  );
  expect(ran).toEqual([]);
});

test('text that is no id is compared as an id that nobody has', async () => {
  const id = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';
  expect((await ranFor({ id }))[0]?.values).toContain(id);
  expect((await ranFor({ id: "x' or true" }))[0]?.values.join()).not.toContain('x');
  const agency = await service.agency();
  const page = parseJson(await listPeople(agency.scope, { limit: 1, offset: 0, id: 'x' }));
  expect(page).toEqual({ data: [], pagination: { limit: 1, offset: 0, total: 0 } });
});
