import { describe, expect, test } from 'vitest';
import { searchedCustomerFields, searchedProductFields } from '../../src/db/schema/index.ts';
import { newId } from '../../src/db/sql/ids.ts';
import { readDocument, type Schema } from '../support/contract.ts';
import { type Agency, useService } from '../support/service.ts';

/**
 * Every field that a client writes, taken from the document: what is sent is stored, read back, patched, cleared, and found
 * where it should be. A new field is tested without a word here.
 */

const service = useService();
const { schemas } = readDocument('openapi/openapi.json').components;

const fieldsOf = (name: string): [string, Schema][] => Object.entries(schemas[name]?.properties ?? {});

/** Kept elsewhere, and tested there. */
const OWN_TESTS = ['contacts', 'variants'];

/** Two values of the field that differ, as the document allows them. */
function samples({ type, enum: values, items, maxLength, minLength }: Schema): [unknown, unknown] {
  const kind = [type].flat()[0];
  const closed = (values as unknown[] | undefined)?.filter((value) => value !== null);
  if (closed) return [closed[0], closed.at(-1)];
  if (kind === 'integer') return [3, 4];
  if (kind === 'number') return [1.5, 2.25];
  if (kind === 'array') {
    const [one, other] = samples(items as Schema);
    return [[one, other], [other]];
  }
  if (minLength === 3 && maxLength === 3) return ['USD', 'MXN'];
  return [`Ñandú ${newId()}`.slice(0, Number(maxLength)), `tapir ${newId()}`.slice(0, Number(maxLength))];
}

const isNullable = ({ type }: Schema): boolean => [type].flat().includes('null');

const RESOURCES = [
  {
    path: '/v1/catalog/products',
    schema: 'CatalogProduct',
    least: () => ({ title: 'A product' }),
    searched: searchedProductFields,
  },
  {
    path: '/v1/customers',
    schema: 'Customer',
    least: () => ({ contacts: [{ identifierType: 'web', identifierValue: `visitor ${newId()}` }] }),
    // The full name is searched as one text; contacts have tests of their own.
    searched: [
      ...searchedCustomerFields.filter((field) => field !== 'contactSearch'),
      'firstName',
      'lastName',
    ],
  },
];

describe.each(RESOURCES)('$schema', ({ path, schema, least, searched }) => {
  const written = fieldsOf(`${schema}Create`).filter(([name]) => !OWN_TESTS.includes(name));

  const idsOf = async (agency: Agency, query: string): Promise<string[]> =>
    (await agency.get(`${path}?query=${encodeURIComponent(query)}`)).body.data.map(
      ({ id }: { id: string }) => id,
    );

  test('patches every field that create takes, and no other', () => {
    expect(written.length).toBeGreaterThan(5);
    const patched = fieldsOf(`${schema}Update`).map(([name]) => name);
    expect(patched.filter((name) => !OWN_TESTS.includes(name)).sort()).toEqual(
      written.map(([name]) => name).sort(),
    );
  });

  test.each(written)('%s is stored, read back, patched and cleared', async (name, field) => {
    const agency = await service.agency();
    const [first, second] = samples(field);
    const created = await agency.post(path, { ...least(), [name]: first });
    expect(created.status).toBe(201);
    expect(created.body[name]).toEqual(first);
    const record = `${path}/${created.body.id}`;
    expect((await agency.get(record)).body).toEqual(created.body);

    const patched = await agency.patch(record, { [name]: second });
    const { updatedAt: _, ...others } = created.body;
    expect(patched.body).toMatchObject({
      ...others,
      ...(name.endsWith('Name') && { displayName: second }),
      [name]: second,
    });
    expect((await agency.get(record)).body).toEqual(patched.body);

    const cleared = await agency.patch(record, { [name]: null });
    if (isNullable(field)) {
      expect(cleared.status).toBe(200);
      expect(cleared.body[name]).toEqual([field.type].flat().includes('array') ? [] : null);
    } else {
      expect(cleared.status).toBe(400);
      expect((await agency.get(record)).body).toEqual(patched.body);
    }
  });

  const texts = written.filter(
    ([, field]) => [field.type].flat()[0] === 'string' && !field.enum && field.maxLength !== 3,
  );

  test.each(texts)(
    '%s is found by query where the contract says so, and nowhere else',
    async (name, field) => {
      const agency = await service.agency();
      const [first, second] = samples(field) as [string, string];
      const { body } = await agency.post(path, { ...least(), [name]: first });
      const expected = searched.includes(name) ? [body.id] : [];
      expect(await idsOf(agency, first.toLowerCase())).toEqual(expected);
      await agency.patch(`${path}/${body.id}`, { [name]: second });
      expect(await idsOf(agency, first)).toEqual([]);
      expect(await idsOf(agency, second)).toEqual(expected);
    },
  );

  test('searches no field that is not there', () => {
    expect(searched.filter((name) => !fieldsOf(schema).some(([field]) => field === name))).toEqual([]);
  });
});
