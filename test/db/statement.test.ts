import { getTableName, sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { Customer } from '../../src/customers/schema.ts';
import { columnsOf, fieldsOf } from '../../src/db/sql/field-columns.ts';
import { rowValues } from '../../src/db/sql/row.ts';
import { allStatements, bind, type Params, prepared, unprepared } from '../../src/db/sql/statement.ts';
import { customers, products, teamMembers } from '../../src/db/tables/index.ts';
import { owned } from '../../src/db/tables/owned.ts';
import { product } from '../support/records.ts';
import { useService } from '../support/service.ts';
// They compose every statement.
import '../../src/app.ts';
import '../../src/dashboard-app.ts';
import '../../src/jobs/schedule.ts';

const service = useService();

test('each place has the value of its name, null too, and a constant its own; a missing name is a mistake', () => {
  const statement = prepared(
    'statement_test.places',
    ($: Params<{ a: string[] | null; b: number }>) => sql`select ${$.b}, ${$.a} where ${$.a} <> ${"it's"}`,
  );
  const text = 'select $1, $2 where $3 <> $4';
  const values = [1, null, null, "it's"];
  expect(bind(statement, { a: null, b: 1 })).toEqual({ name: 'statement_test.places', text, values });
  expect(() => bind(statement, { b: 1 } as never)).toThrow('a');
});

test('a name stands for one text, is short enough for PostgreSQL, and says resource and operation', () => {
  const compose = (name: string, text: string) => unprepared(name, () => sql.raw(text));
  compose('statement_test.once', 'select 1');
  expect(compose('statement_test.once', 'select 1').text).toBe('select 1');
  expect(() => compose('statement_test.once', 'select 2')).toThrow('Two statements have the name');
  expect(() => compose(`statement_test.${'x'.repeat(60)}`, 'select 1')).toThrow('too long');
  for (const { name } of allStatements()) expect(name).toMatch(/^[a-z_]+\.[a-z_]+( \w+)*$/);
});

/** They look through all organizations: authentication, which learns whose a key is, and jobs; every purge too. */
const OF_ALL_ORGANIZATIONS = ['api_keys.find', 'erased_files.due', 'idempotency_keys.due_for_sweep'];

test('a statement names the organization of each table that it reads or writes, but for those named here', () => {
  const tablesOwned = new Set(owned.map(getTableName));
  const others = allStatements().filter(({ name }) => !name.endsWith('.due_for_purge'));
  const unbound = others.filter(({ text }) => {
    const tables = Array.from(
      text.matchAll(/\b(?:from|join|using|update|into)\s+"(\w+)"/g),
      ([, table]) => table,
    );
    const bound = text.match(/organization_id"? = |\binto\s+"\w+" \(organization_id/g) ?? [];
    return tables.filter((table) => tablesOwned.has(table ?? '')).length > bound.length;
  });
  expect(unbound.map(({ name }) => name).sort()).toEqual(OF_ALL_ORGANIZATIONS);
});

/** What the compiler refuses stands here as an expected error: `npm run verify` fails when it is refused no more. */
test('what does not fit does not compile', () => {
  const nothing = sql`null`;
  // @ts-expect-error displayName is no column
  expect(() => fieldsOf(Customer, customers)).toThrow('displayName');
  // @ts-expect-error displayName is no column
  expect(() => fieldsOf(Customer, customers, {})).toThrow('displayName');
  // @ts-expect-error no answer has this field
  fieldsOf(Customer, customers, { displayName: nothing, invented: nothing });
  // @ts-expect-error the column holds text
  fieldsOf(z.object({ id: z.string(), name: z.number() }), teamMembers);
  // @ts-expect-error the column can be null
  fieldsOf(z.object({ id: z.string(), city: z.string() }), customers);
  fieldsOf(z.object({ id: z.string(), city: z.string().nullable() }), customers);

  // @ts-expect-error customers have no such column
  expect(() => columnsOf(z.object({ shoeSize: z.string() }), customers)).toThrow('shoeSize');
  // @ts-expect-error the name of a customer is made of two columns
  expect(() => columnsOf(Customer, customers)).toThrow('displayName');
  // @ts-expect-error the column holds text
  columnsOf(z.object({ city: z.number() }), customers);
  // @ts-expect-error no column has this name
  expect(rowValues({ city: customers.city }, { nickname: 'Anita' })).not.toHaveProperty('nickname');

  // @ts-expect-error the values have no such name
  prepared('statement_test.ident', ($: Params<{ id: string }>) => sql`select ${$.ident}`);
  const found = prepared('statement_test.alias', () => sql<{ id: string }>`select 1 as "id"`);
  type Row = NonNullable<(typeof found)['_']>['row'];
  // @ts-expect-error the column is called id
  const wrong = (row: Row): string => row.ident;
  expect(wrong({ id: '1' })).toBeUndefined();
});

test('a create is one statement that reads no other table: no failed read can hide what was written', () => {
  const creates = allStatements().filter(({ name }) => name.endsWith('.create'));
  expect(creates.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['customers.create', 'products.create']),
  );
  for (const { name, text } of creates) {
    expect(text, name).toMatch(
      /^\s*with written as \(insert into ("\w+") .+ returning \*\) select .+ from written as \1\) item$/s,
    );
    expect(text.match(/\b(select|insert)\b/g), name).toEqual(['insert', 'select', 'select']);
  }
});

test('a create renders every value byte for byte as a read does', async () => {
  const agency = await service.agency();
  const odd = {
    description: '"quoted" \\ \u0001\t\n é 𝄞 \u2028 </script>',
    fromPrice: 1e21,
    durationDays: 1,
  };
  const variants = [
    { label: odd.description, fromPrice: 1e-7, includes: ['', '"', ',', '{}', '\\', 'null'] },
  ];
  const { text, body } = await agency.post('/v1/catalog/products', { title: 'x', ...odd, variants });
  expect((await agency.get(`/v1/catalog/products/${body.id}`)).text).toBe(text);
});

const toSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

test('each set of fields of a PATCH has a statement that names no other column, and a connection prepares so many', async () => {
  const agency = await service.agency();
  const { id } = await product(agency);
  const numbers = ['capacityMin', 'capacityMax', 'durationDays', 'durationHours', 'fromPrice', 'priceMax'];
  const all = [...numbers, 'includes'];
  for (let set = 1; set < 2 ** all.length; set += 1) {
    const fields = all.filter((_, bit) => set & (1 << bit));
    const sent = Object.fromEntries(fields.map((field) => [field, field === 'includes' ? [`${set}`] : set]));
    expect((await agency.patch(`/v1/catalog/products/${id}`, sent)).body).toMatchObject(sent);
  }
  const kept = allStatements().filter(({ name }) => /^products\.update( |$)/.test(name));
  expect(kept.length).toBeLessThanOrEqual(64);
  // Other tests of the process may have sent the sets that are kept.
  const ofSome = kept.filter(({ name }) => /^products\.update( [a-zA-Z]+){1,3}$/.test(name));
  expect(ofSome).not.toEqual([]);
  for (const { name, text, isPrepared } of ofSome) {
    const fields = name.split(' ').slice(1);
    const [assigned = ''] = text.split(' where ');
    const columns = Array.from(assigned.matchAll(/"(\w+)" = /g), ([, column = '']) => column);
    expect([isPrepared, ...columns]).toEqual([true, ...fields.map(toSnakeCase)]);
  }
});

test('a field of a request that may be null has a column that takes null, or does not compile', () => {
  const nullable = z.object({ title: z.string().nullish(), includes: z.array(z.string()).nullish() });
  // @ts-expect-error: a title is never null; null empties a list.
  const columns = columnsOf(nullable, products);
  expect([columns.title.notNull, columns.includes.notNull]).toEqual([true, true]);
  expect(
    columnsOf(nullable.omit({ title: true }).extend({ operator: z.string().nullish() }), products),
  ).toEqual({
    includes: products.includes,
    operator: products.operator,
  });
});
