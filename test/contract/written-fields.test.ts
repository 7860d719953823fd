import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { newId } from '../../src/db/sql/ids.ts';
import { readDocument, type Schema } from '../support/contract.ts';
import { EDGES } from '../support/edges.ts';
import { customer, type Fields, product } from '../support/records.ts';
import { useService } from '../support/service.ts';

/**
 * Every field that a client writes, taken from the document: what is sent is stored, read back, patched and
 * cleared, at the edges of its kind too. A new field is tested without a word here.
 */

const service = useService();
const { schemas } = readDocument('openapi/openapi.json').components;

/** A closed list of values or null, as other nullable fields are written. */
const plain = ({ anyOf: [values, none] = [], ...field }: Schema & { anyOf?: Schema[] }): Schema =>
  none ? { ...field, ...values, type: ['string', 'null'] } : field;

const fieldsOf = (name: string): [string, Schema][] =>
  Object.entries(schemas[name]?.properties ?? {}).map(([field, schema]) => [field, plain(schema)]);

/** Kept elsewhere, and tested there. */
const OWN_TESTS = ['contacts', 'variants'];

/** Two values of the field that differ, as the document allows them. */
function samples({ type, enum: values, items, maxLength, minLength, format }: Schema): [unknown, unknown] {
  const kind = [type].flat()[0];
  const closed = values as unknown[] | undefined;
  if (closed) return [closed[0], closed.at(-1)];
  if (kind === 'integer') return [3, 4];
  if (kind === 'number') return [1.5, 2.25];
  if (kind === 'array') {
    const [one, other] = samples(items as Schema);
    return [[one, other], [other]];
  }
  const edges = EDGES[String(format)]?.taken;
  if (edges) return [edges[0], edges.at(-1)];
  if (minLength === 3 && maxLength === 3) return ['USD', 'MXN'];
  return [`Ñandú ${newId()}`.slice(0, Number(maxLength)), `tapir ${newId()}`.slice(0, Number(maxLength))];
}

/**
 * What the contract takes at the edges of the field's kind. Texts are neither trimmed nor are empty ones null, lists are
 * neither sorted nor made unique, and a number is the same number.
 */
function edgesOf({ type, enum: values, minimum, maximum, minLength = 0, format }: Schema): unknown[] {
  if (values) return values as unknown[];
  const dates = EDGES[String(format)];
  if (dates) return dates.taken;
  switch ([type].flat()[0]) {
    case 'integer':
      return [minimum, maximum];
    case 'number':
      return [
        minimum ?? 5e-324,
        0.1,
        0.30000000000000004,
        1e-7,
        1e21,
        Number.MAX_SAFE_INTEGER,
        Number.MAX_VALUE,
      ];
    case 'array':
      return [[], [''], ['b ', 'a', 'b ']];
    default:
      return minLength === 3 ? ['€UR', '   '] : [minLength === 0 ? '' : ' ', ' \t a\r\n ', 'null'];
  }
}

/** What a record shows of null. */
const cleared = ({ type }: Schema) => ([type].flat().includes('array') ? [] : null);

const isNullable = ({ type }: Schema): boolean => [type].flat().includes('null');

const RESOURCES = [
  {
    path: '/v1/catalog/products',
    schema: 'CatalogProduct',
    make: product,
    parts: { variants: [{ label: 'Alta' }] },
  },
  { path: '/v1/customers', schema: 'Customer', make: customer, parts: {} },
];

test('every resource that /v1 creates and patches is here', () => {
  const patched = Object.keys(schemas).filter(
    (name) => `${name}Create` in schemas && `${name}Update` in schemas,
  );
  const here = RESOURCES.map(({ schema }) => schema);
  expect(here, 'Write how one is made into RESOURCES of this file').toEqual(patched);
});

describe.each(RESOURCES)('$schema', ({ path, schema, make, parts }) => {
  const written = fieldsOf(`${schema}Create`).filter(([name]) => !OWN_TESTS.includes(name));

  test('patches every field that create takes, and no other', () => {
    expect(written.length).toBeGreaterThan(5);
    const patched = fieldsOf(`${schema}Update`).map(([name]) => name);
    expect(patched.filter((name) => !OWN_TESTS.includes(name)).sort()).toEqual(
      written.map(([name]) => name).sort(),
    );
  });

  const samplesOf = (which: 0 | 1) =>
    Object.fromEntries(written.map(([name, field]) => [name, samples(field)[which]]));

  /** The record with this value, and with what follows from it. */
  const withValue = (record: Fields, name: string, value: unknown): Fields => {
    const changed = { ...record, [name]: value };
    if (!('displayName' in record)) return changed;
    const names = [changed.firstName, changed.lastName].filter(Boolean);
    return { ...changed, displayName: names.join(' ') || null };
  };

  test.each(written)('%s is stored, read back, patched and cleared', async (name, field) => {
    const agency = await service.agency();
    const [first, second] = [samplesOf(0), samplesOf(1)];
    const created = await make(agency, { ...parts, ...first });
    const neighbour = await make(agency, first);
    expect(created).toMatchObject(first);
    const record = `${path}/${created.id}`;
    let stored = created;
    for (const value of [second[name], first[name], ...edgesOf(field), null]) {
      const { status, body } = await agency.patch(record, { [name]: value });
      if (value === null && !isNullable(field)) expect(status).toBe(400);
      else {
        const expected = withValue(stored, name, value ?? cleared(field));
        expect(body).toEqual({ ...expected, updatedAt: body.updatedAt });
        expect(body.updatedAt > stored.updatedAt).toBe(!isDeepStrictEqual(expected, stored));
        stored = body;
        expect((await agency.patch(record, { [name]: value })).body, 'the same again').toEqual(stored);
      }
      expect((await agency.get(record)).body).toEqual(stored);
    }
    expect((await agency.get(path)).body.data).toContainEqual(stored);
    expect((await agency.get(`${path}/${neighbour.id}`)).body).toEqual(neighbour);
    for (const value of edgesOf(field)) expect((await make(agency, { [name]: value }))[name]).toEqual(value);
  });

  test('all at once are patched one beside the other, left as they are, and cleared', async () => {
    const agency = await service.agency();
    const record = `${path}/${(await make(agency, samplesOf(0))).id}`;
    const changed = samplesOf(1);
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
