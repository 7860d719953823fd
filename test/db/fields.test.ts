import { getTableColumns, sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  CatalogProduct,
  CatalogProductCreate,
  CatalogProductUpdate,
  CatalogProductVariant,
} from '../../src/catalog/schema.ts';
import { Customer, CustomerContact, CustomerCreate, CustomerUpdate } from '../../src/customers/schema.ts';
import { customers, products, teamMembers } from '../../src/db/schema/index.ts';
import { columnsOf, fieldsOf } from '../../src/db/sql/field-columns.ts';
import { bind, type Params, prepared } from '../../src/db/sql/statement.ts';
import { TeamMember } from '../../src/team/schema.ts';
import { useService } from '../support/service.ts';

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
  });
});

describe('columnsOf', () => {
  test('gives the column of every field that a request writes', () => {
    const columns = columnsOf(CustomerUpdate.omit({ contacts: true }), customers);
    expect(columns.city).toBe(customers.city);
    expect(Object.keys(columns)).not.toContain('contacts');
  });

  test('does not compile with a field that has no column', () => {
    // @ts-expect-error customers have no such column
    expect(() => columnsOf(z.object({ shoeSize: z.string() }), customers)).toThrow('shoeSize');
    // @ts-expect-error the name of a customer is made of two columns
    expect(() => columnsOf(Customer, customers)).toThrow('displayName');
    // @ts-expect-error the column holds text
    columnsOf(z.object({ city: z.number() }), customers);
  });
});

describe('a statement', () => {
  test('does not compile with a place that its values lack, or run without one of them', () => {
    const broken = prepared(
      'fields_test.broken',
      ($: Params<{ id: string }>) =>
        // @ts-expect-error the values have no such name
        sql`select ${customers.city} from ${customers} where ${customers.id} = ${$.ident}`,
    );
    expect(() => bind(broken, { id: '1' })).toThrow('ident');
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
const INTERNAL = ['organizationId', 'archivedAt', 'contactSearch'];
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

/** A column of JSON takes whatever is written, and shows it as it is. */
describe('parts of a record, kept in its row as JSON', () => {
  const service = useService();
  const contact = { identifierType: 'whatsapp', identifierValue: '52 1 55 1234 5678' };

  test.each([
    {
      name: 'variants of a product',
      path: '/v1/catalog/products',
      table: 'products',
      column: 'variants',
      schema: CatalogProductVariant,
      // In another order than answers have, with what a variant does not have.
      bodies: [
        { title: 'x', variants: [{ label: 'a' }] },
        {
          title: 'x',
          variants: [
            { priceMax: 2.5, includes: null, operator: 'x', id: 'mine', label: 'b' },
            { label: 'c' },
          ],
        },
      ],
      changes: [{ title: 'y' }],
      count: 3,
    },
    {
      name: 'contacts of a customer',
      path: '/v1/customers',
      table: 'customers',
      column: 'contacts',
      schema: CustomerContact,
      bodies: [
        { contacts: [{ identifierValue: 'a', id: 'mine', identifierType: 'web', displayName: 'x' }] },
        { contacts: [contact, { identifierType: 'email', identifierValue: 'a@example.com' }] },
      ],
      changes: [
        { contacts: [{ identifierValue: 'b', identifierType: 'web', more: 1 }] },
        { contacts: [{ ...contact, identifierValue: '+52 55 1234 5678' }] },
      ],
      count: 2,
    },
  ])('$name have exactly the fields of the schema, in its order', async (parts) => {
    const { path, table, column, schema, bodies, changes, count } = parts;
    const agency = await service.agency();
    for (const [index, body] of bodies.entries()) {
      const { id } = (await agency.post(path, body)).body;
      if (changes[index]) expect((await agency.patch(`${path}/${id}`, changes[index])).status).toBe(200);
    }
    const stored = await service.query<{ text: string }>(
      `select ${column}::text as text from ${table} where organization_id = $1`,
      [agency.id],
    );
    const found = stored.flatMap(({ text }) => JSON.parse(text));
    expect(found).toHaveLength(count);
    for (const part of found) {
      expect(Object.keys(part)).toEqual(Object.keys(schema.shape));
      expect(schema.parse(part)).toEqual(part);
    }
    // Answers repeat the text as it is.
    for (const { text } of stored) {
      expect(text).toBe(JSON.stringify(JSON.parse(text)));
      expect((await agency.get(path)).text).toContain(`"${column}":${text}`);
    }
  });
});
