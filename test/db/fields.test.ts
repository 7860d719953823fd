import { getTableColumns, sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { CatalogProduct, CatalogProductCreate, CatalogProductUpdate } from '../../src/catalog/schema.ts';
import { Customer, CustomerCreate, CustomerUpdate } from '../../src/customers/schema.ts';
import { customers, products, teamMembers } from '../../src/db/schema/index.ts';
import { columnsOf, fieldsOf } from '../../src/db/sql/field-columns.ts';
import { jsonRows } from '../../src/db/sql/json.ts';
import { type Params, prepared } from '../../src/db/sql/statement.ts';
import { TeamMember } from '../../src/team/schema.ts';

/** What the compiler refuses stands here as an expected error: `npm run verify` fails when it is refused no more. */

const nothing = sql`null`;

describe('fieldsOf', () => {
  test('takes each field from the column of its name, in the order of the schema', () => {
    const fields = fieldsOf(Customer, customers, { displayName: nothing, contacts: nothing });
    expect(Object.keys(fields)).toEqual(Object.keys(Customer.shape));
    expect(fields.city).toBe(customers.city);
    expect(fields.displayName).toBe(nothing);
    expect(Object.keys(fieldsOf(TeamMember, teamMembers))).toEqual(Object.keys(TeamMember.shape));
  });

  test('does not compile with a field forgotten, invented, or of another type than its column', () => {
    // @ts-expect-error variants are no column
    expect(() => fieldsOf(CatalogProduct, products)).toThrow('variants');
    // @ts-expect-error variants are no column
    expect(() => fieldsOf(CatalogProduct, products, {})).toThrow('variants');
    // @ts-expect-error no answer has this field
    fieldsOf(CatalogProduct, products, { variants: nothing, invented: nothing });
    // @ts-expect-error the column holds text
    fieldsOf(z.object({ id: z.string(), name: z.number() }), teamMembers);
    // @ts-expect-error the column can be null
    fieldsOf(z.object({ id: z.string(), city: z.string() }), customers);
    fieldsOf(z.object({ id: z.string(), city: z.string().nullable() }), customers);
  });
});

describe('columnsOf', () => {
  test('gives the column of every field that a request writes', () => {
    const columns = columnsOf(CustomerUpdate.omit({ contacts: true }), customers);
    expect(columns.city).toBe(customers.city);
    expect(Object.keys(columns)).not.toContain('contacts');
  });

  test('does not compile with a field that has no column', () => {
    // @ts-expect-error contacts are kept elsewhere
    expect(() => columnsOf(CustomerCreate, customers)).toThrow('contacts');
    // @ts-expect-error variants are kept elsewhere
    expect(() => columnsOf(CatalogProductCreate, products)).toThrow('variants');
    // @ts-expect-error the column holds text
    columnsOf(z.object({ city: z.number() }), customers);
  });
});

describe('a statement', () => {
  test('does not compile with a place that its values lack, or run without one of them', () => {
    const broken = prepared('fields_test.broken', ($: Params<{ id: string }>) =>
      // @ts-expect-error the values have no such name
      jsonRows({ id: customers.id }, sql`from ${customers} where ${customers.id} = ${$.ident}`),
    );
    expect(broken.parameters).toEqual(['ident']);
    expect(() => broken.bind({ id: '1' })).toThrow('without a value for ident');
  });

  test('does not compile with a row read under another name than it has', () => {
    const found = prepared('fields_test.alias', () => sql<{ id: string }>`select 1 as "id"`);
    type Row = NonNullable<(typeof found)['_']>['row'];
    // @ts-expect-error the column is called id
    const wrong = (row: Row): string => row.ident;
    expect(wrong({ id: '1' })).toBeUndefined();
  });
});

/** Columns that no answer shows, each for its reason. A column of any other name must be shown. */
const INTERNAL = ['organizationId', 'archivedAt', 'search', 'contactSearch'];
/** Fields of an answer that no client of /v1 writes. Any other field must be in create and in PATCH. */
const READ_ONLY = ['id', 'displayName', 'createdAt', 'updatedAt', 'coverImage', 'destinations', 'gallery'];

describe.each([
  {
    name: 'products',
    table: products,
    answer: CatalogProduct,
    create: CatalogProductCreate,
    update: CatalogProductUpdate.extend({ variants: z.null() }),
  },
  { name: 'customers', table: customers, answer: Customer, create: CustomerCreate, update: CustomerUpdate },
])('$name', ({ table, answer, create, update }) => {
  test('show every column', () => {
    const columns = Object.keys(getTableColumns(table)).filter((column) => !INTERNAL.includes(column));
    expect(columns.filter((column) => !(column in answer.shape))).toEqual([]);
  });

  test('are created and patched with every field that they show', () => {
    const shown = Object.keys(answer.shape)
      .filter((field) => !READ_ONLY.includes(field))
      .sort();
    expect(Object.keys(create.shape).sort()).toEqual(shown);
    expect(Object.keys(update.shape).sort()).toEqual(shown);
  });
});
