import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/db/sql/ids.ts';
import {
  bodyOf,
  DOCUMENTED,
  isNullable,
  PUBLIC,
  resolved,
  SCHEMAS,
  type Schema,
} from '../support/contract.ts';
import { useDashboard } from '../support/dashboard.ts';
import { EDGES } from '../support/edges.ts';
import {
  BELOW,
  FILE,
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

/**
 * Every field of every JSON body, taken from both documents: what it refuses, in which words, and what it takes at the
 * edges of its kind. A new field, or another limit, is tested without a word here.
 */

const { service, dashboard } = useDashboard();
/** Two UTF-16 units, one code point: lengths count code points. */
const ASTRAL = '𝒳';
const UNSTORABLE = ['\u0000', 'a\u0000b', '\ud800', 'a\udc00', '\udc00\ud800'];

/** Each normalizes to 31 marks in a row: of one plane, of another, and beside a letter that is a mark when it is normalized. */
const TOO_MANY_MARKS = [
  `a${'\u0301\u0323'.repeat(15)}\u0301`,
  '\u{1d165}'.repeat(31),
  `${'\uff9e\u093c'.repeat(16)}`,
];

const kindOf = ({ type }: Schema): unknown => [type].flat()[0];
/** What a record shows of null. */
const cleared = (field: Schema) => (kindOf(field) === 'array' ? [] : null);
const fieldsOf = (name: string): [string, Schema][] =>
  Object.entries(SCHEMAS[name]?.properties ?? {}).map(([field, schema]) => [field, resolved(schema)]);
const valuesOf = (schema: Schema): unknown[] | undefined => schema.enum as unknown[] | undefined;

const characters = (count: number): string => `${count} character${count === 1 ? '' : 's'}`;
const entries = (count: number): string => `${count} entr${count === 1 ? 'y' : 'ies'}`;

/** A value that a field refuses; where in the field the fault is; and its words, where they follow from the document. */
type Refusal = { value: unknown; at: string; says?: string };
const at = (place: string, value: unknown, says?: string): Refusal => ({
  value,
  at: place,
  ...(says && { says }),
});

function refusalsOfText({ format, minLength = 0, maxLength }: Schema): Refusal[] {
  const [min, max] = [Number(minLength), Number(maxLength)];
  const length = (rule: string, count: number) =>
    min === max ? `must have exactly ${characters(max)}` : `must have at ${rule} ${characters(count)}`;
  if (format === 'uuid') return ['42', '', 5].map((value) => at('', value));
  if (format) return (EDGES[String(format)]?.refused ?? []).concat('yesterday').map((value) => at('', value));
  return [
    ...[5, true, {}, ['x']].map((value) => at('', value, 'must be a string')),
    ...UNSTORABLE.filter((value) => value.length >= min && value.length <= max).map((value) =>
      at('', value, 'must not contain U+0000 or a lone surrogate'),
    ),
    ...TOO_MANY_MARKS.filter((value) => value.length <= max).map((value) =>
      at('', value, 'must not contain more than 30 combining marks in a row'),
    ),
    at('', ASTRAL.repeat(max + 1), length('most', max)),
    ...(min > 0 ? [at('', ASTRAL.repeat(min - 1), length('least', min))] : []),
  ];
}

function refusalsOfNumber(schema: Schema): Refusal[] {
  const { minimum, exclusiveMinimum, maximum } = schema as Record<string, number>;
  const isInteger = kindOf(schema) === 'integer';
  const says = isInteger ? 'must be an integer' : 'must be a number';
  const least = minimum === 0 ? 'must be at least 0' : 'must be greater than 0';
  return [
    ...['5', true, [], {}, [5]].map((value) => at('', value, says)),
    ...(isInteger ? [at('', 1.5, says), at('', Number(maximum) + 1, `must be at most ${maximum}`)] : []),
    ...(minimum === undefined && exclusiveMinimum === undefined
      ? []
      : [...(minimum === 0 ? [] : [0]), isInteger ? -1 : -0.01].map((value) => at('', value, least))),
  ];
}

function refusalsOfList(schema: Schema): Refusal[] {
  const items = resolved(schema.items as Schema);
  const { minItems, maxItems } = schema as Record<string, number>;
  return [
    ...['x', 5, {}].map((value) => at('', value, 'must be an array')),
    ...(maxItems ? [at('', Array(maxItems + 1).fill(''), `must have at most ${entries(maxItems)}`)] : []),
    ...(minItems ? [at('', Array(minItems - 1).fill(''), `must have at least ${entries(minItems)}`)] : []),
    ...refusalsOf(items).map(({ value, at: inner, says }) => at(`[0]${inner}`, [value], says)),
  ];
}

function refusalsOf(schema: Schema): Refusal[] {
  const closed = valuesOf(schema);
  const kinds: Record<string, (schema: Schema) => Refusal[]> = {
    string: refusalsOfText,
    integer: refusalsOfNumber,
    number: refusalsOfNumber,
    array: refusalsOfList,
    boolean: () => ['true', 1, {}].map((value) => at('', value)),
    object: ({ properties = {}, required = [] }) =>
      Object.entries(properties).flatMap(([name, field]) => {
        const others = (required as string[]).filter((other) => other !== name);
        const beside = Object.fromEntries(
          others.map((other) => [other, sampleOf(resolved(properties[other] ?? {}))]),
        );
        const inner = refusalsOf(resolved(field)).map((each) =>
          at(`.${name}${each.at}`, { ...beside, [name]: each.value }, each.says),
        );
        const isRequired = (required as string[]).includes(name);
        return isRequired ? [...inner, at(`.${name}`, beside, 'is required')] : inner;
      }),
  };
  const own = closed
    ? ['', 'other', 5, true, {}, [], '\u0000'].map((value) =>
        at('', value, `must be one of ${closed.join(', ')}`),
      )
    : (kinds[String(kindOf(schema))]?.(schema) ?? []);
  const says = schema.format || kindOf(schema) === 'integer' ? undefined : 'must not be null';
  return isNullable(schema) ? own : [...own, at('', null, says)];
}

/** Two values of the field that differ, as the document allows them. */
function samples(schema: Schema): [unknown, unknown] {
  const { items, maxLength, minLength, format } = schema;
  const closed = valuesOf(schema);
  if (closed) return [closed[0], closed.at(-1)];
  switch (kindOf(schema)) {
    case 'integer':
      return [3, 4];
    case 'number':
      return [1.5, 2.25];
    case 'array': {
      const [one, other] = samples(resolved(items as Schema));
      return [[one, other], [other]];
    }
  }
  const edges = EDGES[String(format)]?.taken;
  if (edges) return [edges[0], edges.at(-1)];
  if (format === 'uuid') return [randomUUID(), randomUUID()];
  if (minLength === 3 && maxLength === 3) return ['USD', 'MXN'];
  return [`Ñandú ${newId()}`.slice(0, Number(maxLength)), `tapir ${newId()}`.slice(0, Number(maxLength))];
}
/** Of the types of contacts the one that takes any text. */
const sampleOf = (schema: Schema): unknown => samples(schema)[1];

/**
 * What the contract takes at the edges of the field's kind. Texts are neither trimmed nor are empty ones null, lists are
 * neither sorted nor made unique, and a number is the same number.
 */
function edgesOf(schema: Schema): unknown[] {
  const { minimum, maximum, minLength = 0, maxLength, maxItems, format } = schema as Record<string, number>;
  const edges = valuesOf(schema) ?? EDGES[String(format)]?.taken;
  if (edges) return edges;
  const largest = Number.MAX_VALUE;
  switch (kindOf(schema)) {
    case 'boolean':
      return [true, false];
    case 'integer':
      return [minimum ?? -Number(maximum), maximum];
    case 'number':
      return [minimum ?? 5e-324, 0.1, 0.30000000000000004, 1e-7, 1e21, Number.MAX_SAFE_INTEGER, largest];
    case 'array': {
      // The text of a product has a limit of its own: plain letters in one list, which it just holds.
      const { maxLength: length = 1 } = resolved(schema.items as Schema) as Record<string, number>;
      return [
        [],
        [''],
        ['b ', 'a', 'b '],
        Array(maxItems).fill((length > 255 ? 'x' : ASTRAL).repeat(length)),
      ];
    }
    default: {
      const full = ASTRAL.repeat(Number(maxLength));
      const hostile = `'; -- "$1" \\u0041 %s {"a":1} Bogota\u0301 👩‍👩‍👧 עברית \u2028\u001f\u007f`.slice(
        0,
        maxLength,
      );
      return minLength === 3
        ? ['€UR', '   ', full]
        : [ASTRAL.repeat(minLength), full, ' \t a\r\n ', 'null', hostile];
    }
  }
}

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

/** The operation's request, of records and contacts that are its own each time. */
const asked = (name: string, own: Partial<Has> = {}) => requestOf(name, { ...has, word: newId(), ...own });

describe('what the document does not allow is refused, named, and changes nothing', () => {
  test.each(BODIES)('$name', async ({ name, schema }) => {
    const before = await dashboard.stored(world.agency);
    const sent = await asked(name);
    for (const [field, of] of fieldsOf(schema)) {
      const missing = ((SCHEMAS[schema]?.required ?? []) as string[]).includes(field)
        ? [at('', undefined, 'is required')]
        : [];
      for (const refusal of [...refusalsOf(resolved(of)), ...missing]) {
        const { status, body } = await send(world, {
          ...sent,
          body: { ...sent.body, [field]: refusal.value },
        });
        const path = `body.${field}${refusal.at}`;
        const said = `${path}: ${JSON.stringify(refusal.value)?.slice(0, 80)}`;
        expect(status, said).toBe(400);
        const { details } = body.error as { details: { path: string; message: string }[] };
        expect(new Set(details.map((detail) => detail.path)), said).toEqual(new Set([path]));
        if (refusal.says) expect(details[0]?.message, said).toBe(refusal.says);
      }
    }
    expect(await dashboard.stored(world.agency)).toEqual(before);
  });

  test('a number beyond all measure', async () => {
    for (const field of ['fromPrice', 'priceMax', 'durationHours', 'capacityMin'])
      for (const number of ['1e400', '-1e400']) {
        const { status, body } = await world.agency.request('POST', '/v1/catalog/products', {
          headers: { 'content-type': 'application/json' },
          body: `{"title":"x","${field}":${number}}`,
        });
        const fault = { path: `body.${field}`, message: expect.any(String) };
        expect([status, body.error.details]).toEqual([400, [fault]]);
      }
  });
});

/** Lists whose entries are records of their own. */
const PARTS = ['contacts', 'variants'];

const RESOURCES = Object.entries(LISTS).flatMap(([list, { written, make }]) =>
  written.endsWith('Create') ? [{ path: pathOf(list), schema: written.replace(/Create$/, ''), make }] : [],
);

test('every resource that /v1 creates and patches is here', () => {
  const ofV1 = PUBLIC.components.schemas;
  const patched = Object.keys(ofV1).filter((name) => `${name}Create` in ofV1 && `${name}Update` in ofV1);
  const here = RESOURCES.map(({ schema }) => schema);
  expect(here.sort(), `Write its list into LISTS of ${FILE}`).toEqual(patched.sort());
});

describe.each(RESOURCES)('$schema', ({ path, schema, make }) => {
  const written = fieldsOf(`${schema}Create`).filter(([name]) => !PARTS.includes(name));
  const parts = schema === 'CatalogProduct' ? { variants: [{ label: 'Alta' }] } : {};

  test('patches every field that create takes, and no other', () => {
    expect(written.length).toBeGreaterThan(0);
    const patched = fieldsOf(`${schema}Update`).map(([name]) => name);
    expect(patched.filter((name) => !PARTS.includes(name)).sort()).toEqual(
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
    for (const value of [
      second[name],
      first[name],
      ...edgesOf(field),
      ...(isNullable(field) ? [null] : []),
    ]) {
      const { body, text } = await agency.patch(record, { [name]: value });
      const expected = withValue(stored, name, value ?? cleared(field));
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

  test('all patched at once are there, one beside the other', async () => {
    const agency = await service.agency();
    const record = `${path}/${(await make(agency, samplesOf(0))).id}`;
    const changed = samplesOf(1);
    const patches = Object.entries(changed).map(([name, value]) => agency.patch(record, { [name]: value }));
    for (const { status } of await Promise.all(patches)) expect(status).toBe(200);
    expect((await agency.get(record)).body).toMatchObject(changed);
  });
});

test.each(fieldsOf('CatalogProductVariantCreate'))(
  '%s of a variant is stored and read back',
  async (name, field) => {
    const agency = await service.agency();
    for (const value of [...edgesOf(field), ...(isNullable(field) ? [null] : [])]) {
      const made = await product(agency, { variants: [{ label: 'Base' }, { label: 'Base', [name]: value }] });
      expect(made.variants[1][name]).toEqual(value ?? cleared(field));
      expect((await agency.get(`/v1/catalog/products/${made.id}`)).body).toEqual(made);
    }
  },
);

test.each(fieldsOf('CatalogProductVariantUpdate').filter(([name]) => name !== 'id'))(
  '%s of a variant is changed by the dashboard and read back, and cleared by null',
  async (name, field) => {
    const made = await product(world.agency, { variants: [{ label: 'Base' }] });
    const [{ id }] = made.variants;
    for (const value of [...edgesOf(field), ...(isNullable(field) ? [null] : [])]) {
      const variants = [{ id, [name]: value }, { label: 'Otra' }];
      const { body } = await dashboard.of(world.agency).patch(`/catalog/products/${made.id}`, { variants });
      expect(body.variants[0]).toEqual({ ...made.variants[0], [name]: value ?? cleared(field) });
      expect((await world.agency.get(`/v1/catalog/products/${made.id}`)).body).toEqual(body);
    }
  },
);

/** Fields with a rule of their own, beside what the document says of them. */
const OWN_RULES = ['channel', 'email', 'key', 'rotatedFrom', ...WRITTEN_ONCE];
const PUTS = BODIES.filter(({ name }) => name.startsWith(`PUT ${BELOW}`));

test.each(PUTS)('the edges of every field of $name are stored and read back', async ({ name, schema }) => {
  for (const [field, of] of fieldsOf(schema)) {
    if (OWN_RULES.includes(field) || of.format === 'uuid' || kindOf(of) === 'object') continue;
    const sent = await asked(name);
    for (const value of edgesOf(of)) {
      const { status, body } = await send(world, { ...sent, body: { ...sent.body, [field]: value } });
      expect(status, `${field}: ${JSON.stringify(value).slice(0, 80)}`).toBeLessThan(300);
      // Of a temperature the manual override is what is shown.
      if (field !== 'temperature') expect(body[field], field).toEqual(value);
    }
  }
});

test('a product and a customer take as many parts as their document says, each of its longest text', async () => {
  const most = (schema: string, list: string) => Number(SCHEMAS[schema]?.properties?.[list]?.maxItems);
  const variants = Array.from({ length: most('CatalogProductCreate', 'variants') }, () => ({ label: 'x' }));
  expect((await product(world.agency, { variants })).variants).toMatchObject(variants);
  const contacts = Array.from({ length: most('CustomerCreate', 'contacts') }, (_, index) => ({
    identifierType: 'web',
    identifierValue: index === 0 ? ASTRAL : [...`${index}${ASTRAL.repeat(320)}`].slice(0, 320).join(''),
  }));
  expect((await customer(world.agency, { contacts })).contacts).toMatchObject(contacts);
});
