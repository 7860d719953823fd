import { sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { listCustomers } from '../../src/customers/repository.ts';
import type { Queries } from '../../src/db/client.ts';
import { fieldsOf } from '../../src/db/fields.ts';
import { contains, defineList, equals, hasEntry, newestFirst } from '../../src/db/list.ts';
import { activeMembers, customers, liveCustomers, teamMembers } from '../../src/db/schema/index.ts';
import type { Statement } from '../../src/db/statement.ts';
import { useService } from '../support/service.ts';

const service = useService();

type Ran = { statement: Statement<unknown, never>; values: Record<string, unknown> };

/** A database that answers every read with these rows, and keeps what was asked. */
function recorder(rows: unknown[] = [{ body: 'the page' }]) {
  const ran: Ran[] = [];
  const read = async (statement: Ran['statement'], values: Ran['values']) => {
    ran.push({ statement, values });
    return rows;
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

const listPeople = defineList(
  { ...liveCustomers, searchable: undefined, fields: fieldsOf(Shown, customers) },
  {
    name: 'list_test.people',
    query: Query,
    order: [newestFirst(customers.updatedAt), newestFirst(customers.id)],
    filters: {
      id: equals(customers.id),
      query: contains(customers.search),
      tag: hasEntry(customers.tags),
      city: equals(customers.city),
    },
  },
);

/** The statement that a list runs for this query, and its values. */
async function ranFor(query: Partial<z.infer<typeof Query>>): Promise<Ran> {
  const { ran, scope } = recorder();
  await listPeople(scope, { limit: 25, offset: 0, ...query });
  expect(ran).toHaveLength(1);
  return ran[0] as Ran;
}

test.each([
  [{}, 'list_test.people', true],
  [{ offset: 50 }, 'list_test.people offset', true],
  [{ city: 'Lima' }, 'list_test.people city', true],
  [{ city: 'Lima', offset: 1 }, 'list_test.people city offset', true],
  [{ query: 'ana' }, 'list_test.people query', false],
  [{ tag: 'vip' }, 'list_test.people tag', false],
  [{ city: 'Lima', query: 'ana' }, 'list_test.people query city', false],
  [{ query: 'ana', city: 'Lima' }, 'list_test.people query city', false],
  [{ city: undefined }, 'list_test.people', true],
])('%j has the statement %s, prepared: %j', async (query, name, isPrepared) => {
  expect((await ranFor(query as never)).statement).toMatchObject({ name, isPrepared, kind: 'body' });
});

test('the same filters have the same statement, whatever their values', async () => {
  const [first, second] = [await ranFor({ city: 'Lima' }), await ranFor({ city: 'Quito' })];
  expect(second.statement).toBe(first.statement);
  expect(second.values).toEqual({ organizationId: 'ours', limit: 25, offset: 0, city: 'Quito' });
});

test('the page and the total have the conditions that were sent, and no other', async () => {
  const conditions = async (query: object) => {
    const { text } = (await ranFor(query)).statement;
    return ['"city" =', '"tags" @>', '"search" like', '"archived_at" is null'].map(
      (part) => text.split(part).length - 1,
    );
  };
  // An unfiltered total is read from the live counts.
  expect(await conditions({})).toEqual([0, 0, 0, 1]);
  expect(await conditions({ city: 'Lima' })).toEqual([2, 0, 0, 2]);
  expect(await conditions({ city: 'Lima', tag: 'vip', query: 'a' })).toEqual([2, 2, 2, 2]);
  expect((await ranFor({})).statement.text).toContain('"live_counts"');
  expect((await ranFor({ city: 'Lima' })).statement.text).not.toContain('"live_counts"');
});

test('what only a search finds is looked for where searches look: the page by its ids, the total there alone', async () => {
  const { ran, scope } = recorder();
  await listCustomers(scope, { limit: 25, offset: 0, query: 'a', tag: 'vip' });
  const text = ran[0]?.statement.text ?? '';
  const found = `from "searchable_customers" "customers" where "customers"."organization_id" = $1 and "customers"."archived_at" is null and "customers"."search" like contains_pattern($2) and "customers"."tags" @> array[$3]::text[]`;
  expect(text).toContain(`and "customers"."id" in (select "customers"."id" ${found})`);
  expect(text).toContain(`(select count(*) ${found})`);
  await listCustomers(scope, { limit: 25, offset: 0 });
  expect(ran[1]?.statement.text).not.toContain('searchable');
});

test('a filter whose column searches do not see is refused at the start', () => {
  const list = () =>
    defineList(
      { ...liveCustomers, fields: fieldsOf(Shown, customers) },
      {
        name: 'list_test.refused',
        query: Query.pick({ limit: true, offset: true, city: true }),
        order: [newestFirst(customers.id)],
        filters: { city: equals(customers.city) },
      },
    );
  expect(list).toThrow('The filter city needs its column in searchable_customers.');
});

test('a resource without live counts is counted', async () => {
  const list = defineList(
    { ...activeMembers, fields: fieldsOf(z.object({ id: z.string() }), teamMembers) },
    {
      name: 'list_test.members',
      query: Query.pick({ limit: true, offset: true }),
      order: [sql`${teamMembers.id}`],
      filters: {},
    },
  );
  const { ran, scope } = recorder();
  await list(scope, { limit: 1, offset: 0 });
  expect(ran[0]?.statement.text).toMatch(/"total":', \(select count\(\*\) from "team_members" where/);
});

test('rows come in the order of the list', async () => {
  const { text } = (await ranFor({ city: 'Lima' })).statement;
  expect(text).toContain(
    'order by "customers"."updated_at" desc nulls last, "customers"."id" desc nulls last',
  );
});

test('the limit stands there twice: as a constant, which the planner trusts, and as what was sent', async () => {
  const [first, later] = [await ranFor({}), await ranFor({ offset: 50, limit: 10 })];
  const limit = `$${first.statement.parameters.indexOf('limit') + 1}`;
  expect(first.statement.text).toMatch(/limit 100\s+\) found limit /);
  expect(first.statement.text).toContain(`) found limit ${limit}`);
  expect(later.statement.text).toMatch(/limit 100 offset \$\d+\s+\) found limit \$\d+/);
  expect(later.values).toMatchObject({ limit: 10, offset: 50 });
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
  expect((await ranFor({ id })).values.id).toBe(id);
  const { values } = await ranFor({ id: "x' or true" });
  expect(values.id).not.toContain('x');
  const agency = await service.agency();
  const page = JSON.parse(String(await listPeople(agency.scope, { limit: 1, offset: 0, id: 'x' })));
  expect(page).toEqual({ data: [], pagination: { limit: 1, offset: 0, total: 0 } });
});

test('the body is passed on as PostgreSQL made it; without one the list fails', async () => {
  expect(await listPeople(recorder().scope, { limit: 1, offset: 0 })).toBe('the page');
  await expect(listPeople(recorder([]).scope, { limit: 1, offset: 0 })).rejects.toThrow('returned no row');
});

test('a page of a real list has the rows past the offset, and the total of all', async () => {
  const agency = await service.agency();
  const ids: string[] = [];
  for (const city of ['Lima', 'Quito', 'Lima', 'Lima']) {
    const contacts = [{ identifierType: 'web', identifierValue: `visitor ${ids.length}` }];
    ids.push((await agency.post('/v1/customers', { city, contacts })).body.id);
  }
  const page = async (query: object) =>
    JSON.parse(String(await listPeople(agency.scope, { limit: 2, offset: 0, ...query })));
  const limas = [ids[3], ids[2], ids[0]].map((id) => ({ id, city: 'Lima' }));
  expect(await page({ city: 'Lima' })).toEqual({
    data: limas.slice(0, 2),
    pagination: { limit: 2, offset: 0, total: 3 },
  });
  expect(await page({ city: 'Lima', offset: 2 })).toEqual({
    data: limas.slice(2),
    pagination: { limit: 2, offset: 2, total: 3 },
  });
  expect(await page({ offset: 9 })).toEqual({ data: [], pagination: { limit: 2, offset: 9, total: 4 } });
});
