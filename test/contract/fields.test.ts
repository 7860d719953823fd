import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { newId } from '../../src/db/index.ts';
import { bodyOf, DOCUMENTED, isNullable, resolved, SCHEMAS, type Schema } from '../support/contract.ts';
import { useDashboard } from '../support/dashboard.ts';
import { rejected } from '../support/faults.ts';
import { BELOW, LISTS, pathOf, populate, requestOf, send, WRITTEN_ONCE } from '../support/operations.ts';
import { customer, type Fields, product, web } from '../support/records.ts';
import { EDGES, fieldsMadeOf, type Kinds, kindOf, madeOf, rowsOf, samplesWith } from '../support/values.ts';

/**
 * Every field of every JSON body of both documents: the values that it rejects, and the limits of what
 * it accepts. A new field or another limit needs no change here.
 */

const { service, dashboard } = await useDashboard();
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
    const long = (max > 10_000 ? 'x' : ASTRAL).repeat(max + 1);
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
    const whole = fieldsMadeOf(samplesWith(newId(), 1), schema);
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
    // With as many combining marks in a row as are accepted.
    const hostile = `'; -- "$1" \\u0041 %s {"a":1} Bogota${'\u0301'.repeat(30)} 👩‍👩‍👧 עברית \u2028\u001f\u007f`;
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

/** Bodies that together have every edge of every field; of the longest values, each has few. */
function edgesIn(fields: [string, Schema][]): Fields[] {
  const edges = fields.map(([name, of]) => [name, madeOf(EDGES_OF, of)] as const);
  const most = Math.max(...edges.map(([, values]) => values.length));
  return Array.from({ length: most }, (_, turn) =>
    Object.fromEntries(edges.map(([name, values], place) => [name, values[(turn + place) % values.length]])),
  );
}

/** How null in a body is read back. */
const cleared = (of: Schema) => (kindOf(of) === 'array' ? [] : null);

const BODIES = DOCUMENTED.flatMap(({ name, operation }) => {
  const schema = bodyOf(operation);
  return schema ? [{ name, schema }] : [];
});

const world = { service, dashboard, agency: await service.agency() };
const has = await populate(world);

/** The operation's request, with texts and contacts that no other request has. */
const uniqueRequestOf = (name: string) => requestOf(name, { ...has, word: newId() });

describe('a value that the document does not allow is rejected with its path, and changes nothing', () => {
  test.each(BODIES)('$name', async ({ name, schema }) => {
    const before = await dashboard.stored(world.agency);
    const sent = await uniqueRequestOf(name);
    const required = (SCHEMAS[schema]?.required ?? []) as string[];
    const rejections = fieldsOf(schema).map(([field, of]) =>
      [...madeOf(REJECTIONS, of), ...(required.includes(field) ? rejectAll(undefined) : [])].map(
        (rejection) => ({ field, ...rejection }),
      ),
    );
    for (const together of rowsOf(rejections)) {
      const changed = Object.fromEntries(together.map(({ field, value }) => [field, value]));
      const { status, body } = await send(world, { ...sent, body: { ...sent.body, ...changed } });
      const context = JSON.stringify(changed).slice(0, 400);
      expect(status, context).toBe(400);
      const { details } = body.error as { details: { path: string; message: string }[] };
      const paths = together.map(({ field, path }) => `body.${field}${path}`);
      expect(new Set(details.map(({ path }) => path)), context).toEqual(new Set(paths));
      const texts = new Set(details.map(({ path, message }) => path + message));
      expect(texts.size, context).toBe(details.length);
    }
    expect(await dashboard.stored(world.agency)).toEqual(before);
  });

  test.each(['fromPrice', 'durationHours', 'capacityMin'])('%s that is not finite', async (field) => {
    const headers = { 'content-type': 'application/json' };
    for (const number of ['1e400', '-1e400']) {
      const body = `{"title":"x","${field}":${number}}`;
      const reply = await world.agency.post('/v1/catalog/products', body, { headers });
      expect(reply).toMatchObject(rejected(`body.${field}`));
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

  const word = newId();
  const samplesOf = (which: 0 | 1) =>
    fieldsMadeOf(samplesWith(word, which), { properties: Object.fromEntries(written) });

  /** The record with this value, and with the display name that follows from it. */
  const withValue = (record: Fields, name: string, value: unknown): Fields => {
    const changed = { ...record, [name]: value };
    if (!('displayName' in record)) return changed;
    const names = [changed.firstName, changed.lastName].filter(Boolean);
    return { ...changed, displayName: names.join(' ') || null };
  };

  test('each field is stored, patched alone and cleared, of this record only', async () => {
    const agency = await service.agency();
    const [first, second] = [samplesOf(0), samplesOf(1)];
    const neighbour = await make(agency, first);
    let stored = await make(agency, { ...parts, ...first });
    expect(stored).toMatchObject(first);
    const record = `${path}/${stored.id}`;
    for (const [name, field] of written)
      for (const value of [second[name], first[name], ...(isNullable(field) ? [null] : [])]) {
        const { body } = await agency.patch(record, { [name]: value });
        const expected = withValue(stored, name, value ?? cleared(field));
        expect(body, name).toEqual({ ...expected, updatedAt: body.updatedAt });
        expect(body.updatedAt > stored.updatedAt).toBe(!isDeepStrictEqual(expected, stored));
        stored = body;
      }
    expect((await agency.get(path)).body.data).toContainEqual(stored);
    expect((await agency.get(`${path}/${neighbour.id}`)).body).toEqual(neighbour);
  });

  test('the edges of every field are stored as they are, by a create and by a PATCH', async () => {
    const agency = await service.agency();
    const { id } = await make(agency, { ...parts, ...samplesOf(0) });
    for (const values of edgesIn(written)) {
      expect(await make(agency, values)).toMatchObject(values);
      const { body, text } = await agency.patch(`${path}/${id}`, values);
      expect(body).toMatchObject(values);
      expect((await agency.patch(`${path}/${id}`, values)).text, 'the same again').toBe(text);
      expect((await agency.get(`${path}/${id}`)).text).toBe(text);
    }
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

test('the edges of every field of a variant are stored, by a create and by the dashboard; null clears it', async () => {
  const fields = fieldsOf('CatalogProductVariantUpdate').filter(([name]) => name !== 'id');
  const created = Object.keys(SCHEMAS.CatalogProductVariantCreate?.properties ?? {});
  const made = await product(world.agency, { variants: [{ label: 'Base' }] });
  const [{ id }] = made.variants;
  const ofCreate = (values: Fields) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => created.includes(name)));
  const write = async (sent: Fields, expected = sent) => {
    const other = await product(world.agency, { variants: [{ label: 'Base', ...ofCreate(sent) }] });
    expect(other.variants).toMatchObject([ofCreate(expected)]);
    const variants = [{ id, ...sent }];
    const { body } = await dashboard.of(world.agency).patch(`/catalog/products/${made.id}`, { variants });
    expect(body.variants).toMatchObject([expected]);
    expect(body).toMatchObject((await world.agency.get(`/v1/catalog/products/${made.id}`)).body);
  };
  for (const values of edgesIn(fields)) await write(values);
  const nullable = fields.filter(([, of]) => isNullable(of));
  const nulls = Object.fromEntries(nullable.map(([name]) => [name, null]));
  await write(nulls, Object.fromEntries(nullable.map(([name, of]) => [name, cleared(of)])));
});

/** Fields with a rule that is not in the document. The override of the temperature takes precedence. */
const OWN_RULES = ['channel', 'email', 'key', 'rotatedFrom', 'temperature', ...WRITTEN_ONCE];
const PUTS = BODIES.filter(({ name }) => name.startsWith(`PUT ${BELOW}`));

test.each(PUTS)('the edges of every field of $name are stored and read back', async ({ name, schema }) => {
  // A page has a hundred records, and 13 MiB at most; a message has a limit of its own.
  const characters = fieldsOf(schema).reduce((sum, [, { maxLength = 0 }]) => sum + Number(maxLength), 0);
  if (!name.includes('messages')) expect(100 * 4 * characters).toBeLessThan(13 * 1024 * 1024);
  const fields = fieldsOf(schema).filter(
    ([field, of]) => !OWN_RULES.includes(field) && of.format !== 'uuid' && kindOf(of) !== 'object',
  );
  const sent = await uniqueRequestOf(name);
  for (const values of edgesIn(fields)) {
    const { status, body } = await send(world, { ...sent, body: { ...sent.body, ...values } });
    expect([status < 300, body]).toMatchObject([true, values]);
  }
});

test('a product and a customer accept as many parts as the document allows', async () => {
  const most = (schema: string, list: string) => Number(SCHEMAS[schema]?.properties?.[list]?.maxItems);
  const variants = Array.from({ length: most('CatalogProductCreate', 'variants') }, () => ({ label: 'x' }));
  expect((await product(world.agency, { variants })).variants).toMatchObject(variants);
  const contacts = Array.from({ length: most('CustomerCreate', 'contacts') }, (_, index) =>
    web(`${index}`.padEnd(320, 'ñ')),
  );
  expect((await customer(world.agency, { contacts })).contacts).toMatchObject(contacts);
});
