import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/db/index.ts';
import { bodyOf, DOCUMENTED, isNullable, resolved, SCHEMAS, type Schema } from '../support/contract.ts';
import { useDashboard } from '../support/dashboard.ts';
import {
  BELOW,
  type Has,
  LISTS,
  pathOf,
  populate,
  requestOf,
  send,
  type World,
  WRITTEN_ONCE,
} from '../support/operations.ts';
import { customer, type Fields, product } from '../support/records.ts';
import { EDGES, eachOf, fieldsMadeOf, type Kinds, kindOf, madeOf, samplesWith } from '../support/values.ts';

/**
 * Every field of every JSON body of both documents: the values that it rejects, and the limits of what
 * it accepts. A new field or another limit needs no change here.
 */

const { service, dashboard } = useDashboard();
/** Two UTF-16 units, one code point: lengths count code points. */
const ASTRAL = '𝒳';
const UNSTORABLE = ['\u0000', 'a\u0000b', '\ud800', 'a\udc00', '\udc00\ud800'];

/** Each normalizes to 31 combining marks in a row: of either plane, and after a letter that becomes a mark. */
const TOO_MANY_MARKS = [
  `a${'\u0301\u0323'.repeat(15)}\u0301`,
  '\u{1d165}'.repeat(31),
  `${'\uff9e\u093c'.repeat(16)}`,
];

const fieldsOf = (name: string): [string, Schema][] =>
  Object.entries(SCHEMAS[name]?.properties ?? {}).map(([field, schema]) => [field, resolved(schema)]);

/** A value that a field rejects, and the path of the error below the field. */
type Rejection = { value: unknown; path: string };
const rejectAll = (...values: unknown[]): Rejection[] => values.map((value) => ({ value, path: '' }));

const rejectionsOfNumber = ({ minimum, exclusiveMinimum }: Schema): Rejection[] => {
  const isPositive = minimum === 1 || exclusiveMinimum === 0;
  return rejectAll('5', true, [], {}, [5], ...(isPositive ? [0, -1] : minimum === 0 ? [-1] : []));
};

const REJECTIONS: Kinds<Rejection[]> = {
  closed: () => rejectAll('', 'other', 5, true, {}, [], '\u0000'),
  boolean: () => rejectAll('true', 1, {}),
  integer: (schema) => [...rejectionsOfNumber(schema), ...rejectAll(1.5, Number(schema.maximum) + 1)],
  number: rejectionsOfNumber,
  string: ({ format, minLength = 0, maxLength }) => {
    if (format === 'uuid') return rejectAll('42', '', 5);
    if (format) return rejectAll(...(EDGES[String(format)]?.refused ?? []), 'yesterday');
    const [min, max] = [Number(minLength), Number(maxLength)];
    const fitting = [...UNSTORABLE, ...TOO_MANY_MARKS].filter(({ length }) => length >= min && length <= max);
    // A body with more of the larger characters would be too large itself.
    const long = (max > 50_000 ? 'x' : ASTRAL).repeat(max + 1);
    const short = min > 0 ? [ASTRAL.repeat(min - 1)] : [];
    return rejectAll(5, true, {}, ['x'], ...fitting, long, ...short);
  },
  array: (schema, ofEntry) => {
    const { minItems, maxItems } = schema as Record<string, number>;
    return [
      ...rejectAll('x', 5, {}),
      ...(maxItems ? rejectAll(Array(maxItems + 1).fill('')) : []),
      ...(minItems ? rejectAll(Array(minItems - 1).fill('')) : []),
      ...ofEntry.map(({ value, path }) => ({ value: [value], path: `[0]${path}` })),
    ];
  },
  object: (schema, ofFields) => {
    const required = (schema.required ?? []) as string[];
    // Of contacts, the last type of the closed list accepts any text.
    const whole = eachOf(fieldsMadeOf(samplesWith(newId()), schema), 1);
    return Object.entries(ofFields).flatMap(([name, ofField]) => {
      const others = required.filter((other) => other !== name).map((other) => [other, whole[other]]);
      const beside = Object.fromEntries(others);
      const absent = required.includes(name) ? [{ value: beside, path: `.${name}` }] : [];
      const inner = ofField.map(({ value, path }) => ({
        value: { ...beside, [name]: value },
        path: `.${name}${path}`,
      }));
      return [...inner, ...absent];
    });
  },
  around: (rejections, schema) => (isNullable(schema) ? rejections : [...rejections, ...rejectAll(null)]),
};

/**
 * Values at the limits of the field, which are stored as they are: texts are not trimmed, empty texts are not null, lists are
 * neither sorted nor deduplicated, numbers are not rounded.
 */
const EDGES_OF: Kinds<unknown[]> = {
  closed: (_schema, values) => values,
  boolean: () => [true, false],
  integer: ({ minimum, maximum }) => [minimum ?? -Number(maximum), maximum],
  number: ({ minimum = 5e-324 }) => [
    ...[minimum, 0.1, 0.30000000000000004, 1e-7, 1e21],
    ...[Number.MAX_SAFE_INTEGER, Number.MAX_VALUE],
  ],
  string: ({ format, minLength = 0, maxLength }) => {
    const edges = EDGES[String(format)]?.taken;
    if (edges) return edges;
    const full = (Number(maxLength) > 10_000 ? 'x' : ASTRAL).repeat(Number(maxLength));
    if (minLength === 3) return ['€UR', '   ', full];
    const hostile = `'; -- "$1" \\u0041 %s {"a":1} Bogota\u0301 👩‍👩‍👧 עברית \u2028\u001f\u007f`;
    const short = ASTRAL.repeat(Number(minLength));
    return [short, full, ' \t a\r\n ', 'null', hostile.slice(0, Number(maxLength))];
  },
  array: ({ items, maxItems }) => {
    // A record has a limit in bytes: not every entry can have the longest text.
    const { minLength = 0, maxLength = 1 } = resolved(items as Schema);
    const longest = (Number(maxLength) > 255 ? 'x' : ASTRAL).repeat(Number(maxLength));
    return [
      [],
      ['x'.repeat(Number(minLength))],
      ['b ', 'a', 'b '],
      [...Array(Number(maxItems) - 1).fill(ASTRAL.repeat(20)), longest],
    ];
  },
  object: () => [],
};
const edgesOf = (schema: Schema) => madeOf(EDGES_OF, schema);

const BODIES = DOCUMENTED.flatMap(({ name, operation }) => {
  const schema = bodyOf(operation);
  return schema ? [{ name, schema }] : [];
});

let world: World;
let has: Has;
beforeAll(async () => {
  world = { service, dashboard, agency: await service.agency() };
  has = await populate(world);
});

/** The operation's request, with texts and contacts that no other request has. */
const uniqueRequestOf = (name: string) => requestOf(name, { ...has, word: newId() });

describe('a value that the document does not allow is rejected with its path, and changes nothing', () => {
  test.each(BODIES)('$name', async ({ name, schema }) => {
    const before = await dashboard.stored(world.agency);
    const sent = await uniqueRequestOf(name);
    for (const [field, of] of fieldsOf(schema)) {
      const isRequired = ((SCHEMAS[schema]?.required ?? []) as string[]).includes(field);
      for (const { value, path } of [
        ...madeOf(REJECTIONS, of),
        ...(isRequired ? rejectAll(undefined) : []),
      ]) {
        const { status, body } = await send(world, { ...sent, body: { ...sent.body, [field]: value } });
        const context = `${field}${path}: ${JSON.stringify(value)?.slice(0, 80)}`;
        expect(status, context).toBe(400);
        const { details } = body.error as { details: { path: string; message: string }[] };
        expect(new Set(details.map((detail) => detail.path)), context).toEqual(
          new Set([`body.${field}${path}`]),
        );
        expect(new Set(details.map((detail) => detail.message)).size, context).toBe(details.length);
      }
    }
    expect(await dashboard.stored(world.agency)).toEqual(before);
  });

  test.each(['fromPrice', 'durationHours', 'capacityMin'])('%s that is not finite', async (field) => {
    for (const number of ['1e400', '-1e400']) {
      const sent = {
        headers: { 'content-type': 'application/json' },
        body: `{"title":"x","${field}":${number}}`,
      };
      const { status, body } = await world.agency.request('POST', '/v1/catalog/products', sent);
      expect([status, body.error.details]).toEqual([
        400,
        [expect.objectContaining({ path: `body.${field}` })],
      ]);
    }
  });
});

/** Lists whose entries have ids. */
const PARTS = ['contacts', 'variants'];

const RESOURCES = Object.entries(LISTS).flatMap(([list, { written, make }]) =>
  written.endsWith('Create') ? [{ path: pathOf(list), schema: written.replace(/Create$/, ''), make }] : [],
);

describe.each(RESOURCES)('$schema', ({ path, schema, make }) => {
  const written = fieldsOf(`${schema}Create`).filter(([name]) => !PARTS.includes(name));
  const parts = schema === 'CatalogProduct' ? { variants: [{ label: 'Alta' }] } : {};

  test('a PATCH accepts every field that a create accepts, and no other', () => {
    expect(written.length).toBeGreaterThan(0);
    const patched = fieldsOf(`${schema}Update`).map(([name]) => name);
    expect(patched.filter((name) => !PARTS.includes(name)).sort()).toEqual(
      written.map(([name]) => name).sort(),
    );
  });

  const samples = samplesWith(newId());
  const samplesOf = (which: 0 | 1) =>
    Object.fromEntries(written.map(([name, field]) => [name, madeOf(samples, field, name)[which]]));

  /** The record with this value, and with the display name that follows from it. */
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
    const cleared = kindOf(field) === 'array' ? [] : null;
    const values = [second[name], first[name], ...edgesOf(field)];
    for (const value of isNullable(field) ? [...values, null] : values) {
      const { body, text } = await agency.patch(record, { [name]: value });
      const expected = withValue(stored, name, value ?? cleared);
      expect(body).toEqual({ ...expected, updatedAt: body.updatedAt });
      expect(body.updatedAt > stored.updatedAt).toBe(!isDeepStrictEqual(expected, stored));
      stored = body;
      expect((await agency.patch(record, { [name]: value })).body, 'the same again').toEqual(stored);
      expect((await agency.get(record)).text).toBe(text);
    }
    expect((await agency.get(path)).body.data).toContainEqual(stored);
    expect((await agency.get(`${path}/${neighbour.id}`)).body).toEqual(neighbour);
    for (const value of edgesOf(field)) expect((await make(agency, { [name]: value }))[name]).toEqual(value);
  });

  test('simultaneous PATCHes of different fields are all applied', async () => {
    const agency = await service.agency();
    const record = `${path}/${(await make(agency, samplesOf(0))).id}`;
    const changed = samplesOf(1);
    const patches = Object.entries(changed).map(([name, value]) => agency.patch(record, { [name]: value }));
    for (const { status } of await Promise.all(patches)) expect(status).toBe(200);
    expect((await agency.get(record)).body).toMatchObject(changed);
  });
});

test('each field of a variant is stored, changed by the dashboard, and cleared by null', async () => {
  for (const [name, field] of fieldsOf('CatalogProductVariantUpdate').filter(([name]) => name !== 'id')) {
    const isCreated = name in (SCHEMAS.CatalogProductVariantCreate?.properties ?? {});
    const made = await product(world.agency, { variants: [{ label: 'Base' }] });
    const [{ id }] = made.variants;
    for (const value of [...edgesOf(field), ...(isNullable(field) ? [null] : [])]) {
      const variants = [
        { id, [name]: value },
        { label: 'Otra', ...(isCreated && { [name]: value }) },
      ];
      const { body } = await dashboard.of(world.agency).patch(`/catalog/products/${made.id}`, { variants });
      const expected = value ?? (kindOf(field) === 'array' ? [] : null);
      expect(body.variants[0], name).toEqual({ ...made.variants[0], [name]: expected });
      if (isCreated) expect(body.variants[1][name], name).toEqual(expected);
      expect(body).toMatchObject((await world.agency.get(`/v1/catalog/products/${made.id}`)).body);
    }
  }
});

/** Fields with a rule that is not in the document. */
const OWN_RULES = ['channel', 'email', 'key', 'rotatedFrom', ...WRITTEN_ONCE];
const PUTS = BODIES.filter(({ name }) => name.startsWith(`PUT ${BELOW}`));

test.each(PUTS)('the edges of every field of $name are stored and read back', async ({ name, schema }) => {
  // A page has a hundred records, and 13 MiB at most; a message has a limit of its own.
  const characters = fieldsOf(schema).reduce((sum, [, { maxLength = 0 }]) => sum + Number(maxLength), 0);
  if (!name.includes('messages')) expect(100 * 4 * characters).toBeLessThan(13 * 1024 * 1024);
  for (const [field, of] of fieldsOf(schema)) {
    if (OWN_RULES.includes(field) || of.format === 'uuid' || kindOf(of) === 'object') continue;
    const sent = await uniqueRequestOf(name);
    for (const value of edgesOf(of)) {
      const { status, body } = await send(world, { ...sent, body: { ...sent.body, [field]: value } });
      expect(status, `${field}: ${JSON.stringify(value).slice(0, 80)}`).toBeLessThan(300);
      // The override takes precedence over the agent's value.
      if (field !== 'temperature') expect(body[field], field).toEqual(value);
    }
  }
});

test('a product and a customer accept as many parts as the document allows', async () => {
  const most = (schema: string, list: string) => Number(SCHEMAS[schema]?.properties?.[list]?.maxItems);
  const variants = Array.from({ length: most('CatalogProductCreate', 'variants') }, () => ({ label: 'x' }));
  expect((await product(world.agency, { variants })).variants).toMatchObject(variants);
  const contacts = Array.from({ length: most('CustomerCreate', 'contacts') }, (_, index) => ({
    identifierType: 'web',
    identifierValue: `${index}`.padEnd(320, 'ñ'),
  }));
  expect((await customer(world.agency, { contacts })).contacts).toMatchObject(contacts);
});
