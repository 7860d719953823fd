import { describe, expect, test } from 'vitest';
import { newId } from '../../src/db/sql/ids.ts';
import { readDocument, type Schema } from '../support/contract.ts';
import { customer, product } from '../support/records.ts';
import { useService } from '../support/service.ts';

/**
 * Every field that a client writes, taken from the document: what is sent is stored, read back, patched and
 * cleared. A new field is tested without a word here.
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
  { path: '/v1/catalog/products', schema: 'CatalogProduct', make: product },
  { path: '/v1/customers', schema: 'Customer', make: customer },
];

test('every resource that /v1 creates and patches is here', () => {
  const patched = Object.keys(schemas).filter(
    (name) => `${name}Create` in schemas && `${name}Update` in schemas,
  );
  const here = RESOURCES.map(({ schema }) => schema);
  expect(here, 'Write how one is made into RESOURCES of this file').toEqual(patched);
});

describe.each(RESOURCES)('$schema', ({ path, schema, make }) => {
  const written = fieldsOf(`${schema}Create`).filter(([name]) => !OWN_TESTS.includes(name));

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
    const created = await make(agency, { [name]: first });
    const neighbour = await make(agency, { [name]: first });
    const record = `${path}/${created.id}`;
    const expectRead = async (expected: object) => {
      expect((await agency.get(record)).body).toEqual(expected);
      expect((await agency.get(path)).body.data).toContainEqual(expected);
    };
    expect(created[name]).toEqual(first);
    await expectRead(created);

    const patched = await agency.patch(record, { [name]: second });
    expect(patched.body).toEqual({
      ...created,
      ...(name.endsWith('Name') && { displayName: second }),
      [name]: second,
      updatedAt: patched.body.updatedAt,
    });
    expect(patched.body.updatedAt > created.updatedAt).toBe(true);
    await expectRead(patched.body);

    const cleared = await agency.patch(record, { [name]: null });
    if (isNullable(field)) {
      expect(cleared.status).toBe(200);
      expect(cleared.body[name]).toEqual([field.type].flat().includes('array') ? [] : null);
      await expectRead(cleared.body);
    } else {
      expect(cleared.status).toBe(400);
      await expectRead(patched.body);
    }
    expect((await agency.get(`${path}/${neighbour.id}`)).body).toEqual(neighbour);
  });

  test('all at once are stored, patched one beside the other, left as they are, and cleared', async () => {
    const agency = await service.agency();
    const values = written.map(([name, field]) => [name, samples(field)] as const);
    const created = await make(agency, Object.fromEntries(values.map(([name, [first]]) => [name, first])));
    const record = `${path}/${created.id}`;
    expect(created).toMatchObject(Object.fromEntries(values.map(([name, [first]]) => [name, first])));
    const changed = Object.fromEntries(values.map(([name, [, second]]) => [name, second]));
    const patches = await Promise.all(
      Object.entries(changed).map(([name, value]) => agency.patch(record, { [name]: value })),
    );
    expect(new Set(patches.map(({ status }) => status))).toEqual(new Set([200]));
    const after = (await agency.get(record)).body;
    expect(after).toMatchObject(changed);
    expect((await agency.patch(record, changed)).body).toEqual(after);
    const nulls = written.filter(([, field]) => isNullable(field)).map(([name]) => [name, null]);
    const { body } = await agency.patch(record, Object.fromEntries(nulls));
    const empty = await make(agency, Object.fromEntries(nulls));
    for (const [name] of nulls) expect(body[String(name)], String(name)).toEqual(empty[String(name)]);
  });
});
