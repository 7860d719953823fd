import { getTableColumns, sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { Customer } from '../../src/customers/schema.ts';
import {
  allStatements,
  columnsOf,
  customers,
  fieldsOf,
  type Params,
  parametersOf,
  prepared,
  rowValues,
  teamMembers,
  unprepared,
} from '../../src/db/index.ts';
import { OWNED } from '../support/dataset.ts';
// These compose every statement.
import '../../src/app.ts';
import '../../src/dashboard-app.ts';
import '../../src/jobs/schedule.ts';

test('a statement has a unique name of resource and operation that PostgreSQL does not truncate', () => {
  const compose = (name: string, text: string) => unprepared(name, () => sql.raw(text));
  compose('statement_test.once', 'select 1');
  expect(compose('statement_test.once', 'select 1').composed().text).toBe('select 1');
  expect(() => compose('statement_test.once', 'select 2').composed()).toThrow('Two statements have the name');
  expect(() => compose(`statement_test.${'x'.repeat(60)}`, 'select 1')).toThrow('too long');
  for (const { name } of allStatements()) expect(name).toMatch(/^[a-z_]+\.[a-z_]+( \w+)*$/);
});

test('no statement has a parameter without a name or a value', () => {
  const nameless = allStatements().filter((statement) =>
    parametersOf(statement).includes(undefined as never),
  );
  expect(nameless.map(({ name }) => name)).toEqual([]);
});

test('a statement that locks several rows locks them in the order of their ids', () => {
  const locking = allStatements().filter(({ text }) => /for (no key update|update|share)\b/.test(text));
  const ofSeveral = locking.filter(({ text }) => !/"id" = \$\d+|limit 1 for /.test(text));
  const ordered =
    /order by ("?\w+"?\."?conversation_id"?, |"\w+"\."id" = "\w+"\."chain_id" desc, )?"\w+"\."id" for /;
  const unordered = ofSeveral.filter(({ text }) => !ordered.test(text));
  expect(ofSeveral.length).toBeGreaterThan(3);
  expect(unordered.map(({ name }) => name)).toEqual([]);
});

test('no update calls a function of the clock inside an expression, which Citus rejects', () => {
  const updates = allStatements().flatMap(({ name, text }) =>
    Array.from(text.matchAll(/\bset ([\s\S]*?)(?:\bfrom "?\w+"?\s|\bwhere\b|$)/g), ([, set = '']) => ({
      name,
      set,
    })),
  );
  expect(updates.length).toBeGreaterThan(20);
  const found = updates.filter(({ set }) =>
    /\b(?:coalesce|case)\b(?:(?!, "?\w+"? = )[\s\S])*\b(?:now|clock_timestamp|to_char)\(/.test(set),
  );
  expect(found.map(({ name }) => name)).toEqual([]);
});

/** Drizzle cuts the table from a column of a bare template, which then means a column of the nearest table. */
test('a column has its table, in a statement of several tables', () => {
  const names = new Set(OWNED.flatMap((one) => Object.values(getTableColumns(one)).map(({ name }) => name)));
  const bare = allStatements().flatMap(({ name, text }) => {
    const read = text
      .replaceAll(/'[^']*'/g, '')
      // What a write sets.
      .replaceAll(/(?:into "\w+"|on conflict|set) \([\w", ]+\)|(?:set|,) "\w+" = /g, '');
    const tables = read.match(/\b(?:from|join|using|update|into) "\w+"/g) ?? [];
    const found = Array.from(read.matchAll(/(?<![.\w"]|as )"(\w+)"(?!\.)/g), ([, column = '']) => column);
    return tables.length > 1
      ? found.filter((column) => names.has(column)).map((column) => `${name}: ${column}`)
      : [];
  });
  // The parts of a PUT name their columns as the fields.
  expect(bare.filter((column) => !/^\w+\.put: (?:channel|token|key)$/.test(column))).toEqual([]);
});

/** Each is an expected error of the compiler: `npm run verify` fails when it compiles. */
test('fields that do not fit their columns do not compile', () => {
  const nothing = sql`null`;
  // @ts-expect-error displayName is no column
  expect(() => fieldsOf(Customer, customers)).toThrow('displayName');
  // @ts-expect-error displayName is no column
  expect(() => fieldsOf(Customer, customers, {})).toThrow('displayName');
  // @ts-expect-error no response has this field
  fieldsOf(Customer, customers, { displayName: nothing, invented: nothing });
  // @ts-expect-error the column holds text
  fieldsOf(z.object({ id: z.string(), name: z.number() }), teamMembers, {});
  // @ts-expect-error the column can be null
  fieldsOf(z.object({ id: z.string(), city: z.string() }), customers, {});
  fieldsOf(z.object({ id: z.string(), city: z.string().nullable() }), customers, {});

  // @ts-expect-error customers have no such column
  expect(() => columnsOf(z.object({ shoeSize: z.string() }), customers)).toThrow('shoeSize');
  // @ts-expect-error displayName is no column
  expect(() => columnsOf(Customer, customers)).toThrow('displayName');
  // @ts-expect-error the column holds text
  columnsOf(z.object({ city: z.number() }), customers);
  // @ts-expect-error no column has this name
  expect(rowValues({ city: customers.city }, { nickname: 'Anita' })).not.toHaveProperty('nickname');

  // @ts-expect-error the values have no such name
  prepared('statement_test.ident', ($: Params<{ id: string }>) => sql`select ${$.ident}`);
  const alias = prepared('statement_test.alias', () => sql<{ id: string }>`select 1 as "id"`);
  type Row = NonNullable<(typeof alias)['_']>['row'];
  // @ts-expect-error the column is called id
  const wrong = (row: Row): string => row.ident;
  expect(wrong({ id: '1' })).toBeUndefined();
});

test('a create of /v1 is one statement that reads no other table, so no failed read can hide that it was applied', () => {
  const creates = allStatements().filter(({ name }) => /^[a-z]+\.create$/.test(name));
  const names = creates.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['customers.create', 'products.create']));
  for (const { name, text } of creates) {
    expect(text, name).toMatch(
      /^with "written" as \(insert into ("\w+") .+ returning \*\) select .+ from written as \1\) "item"$/,
    );
    expect(text.match(/\b(select|insert)\b/g), name).toEqual(['insert', 'select', 'select']);
  }
});

test('of the statements of 10,000 sets of names, 64 are cached, and a connection can prepare 500; those of sets that are listed are registered', async () => {
  // A module of its own: the sets of this one can be prepared.
  const path: string = '../../src/db/sql/statement.ts?alone';
  const alone: typeof import('../../src/db/sql/statement.ts') = await import(path);
  let composed = 0;
  const define = ([name]: readonly string[]) => {
    composed += 1;
    return alone.prepared(`statement_test.set ${name}`, () => sql`select 1`);
  };
  const statementsFor = alone.statementsBySet(define, [['listed']]);
  const all = Array.from({ length: 10_000 }, (_, set) => statementsFor([`${set}`]));
  expect(all.filter(({ isPrepared }) => isPrepared)).toHaveLength(500);
  for (let set = 9_999; set > 9_936; set -= 1) expect(statementsFor([`${set}`])).toBe(all[set]);
  expect(composed).toBe(10_000);
  expect(statementsFor(['0']).isPrepared).toBe(true);
  expect(composed).toBe(10_001);
  expect(alone.allStatements().map(({ name }) => name)).toEqual(['statement_test.set listed']);
});
