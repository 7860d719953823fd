import { newId } from '../../src/db/index.ts';
import { resolved, type Schema } from './contract.ts';

/** What becomes of a value of each kind. A list and an object get what became of their parts. */
export type Kinds<Value> = {
  /** Decides instead of the kind, unless it returns undefined. */
  own?: (schema: Schema, name: string) => Value | undefined;
  closed: (schema: Schema, values: unknown[]) => Value;
  boolean: (schema: Schema) => Value;
  integer: (schema: Schema) => Value;
  number: (schema: Schema) => Value;
  string: (schema: Schema, name: string) => Value;
  array: (schema: Schema, entry: Value) => Value;
  object: (schema: Schema, fields: Record<string, Value>) => Value;
  /** Changes every value, such as for null. */
  around?: (value: Value, schema: Schema) => Value;
};

export const kindOf = ({ type }: Schema): unknown => [type].flat()[0];

/** The one walk over a schema of the documents: by it the tests make what they send, generate and expect. */
export function madeOf<Value>(kinds: Kinds<Value>, unresolved: Schema, name = ''): Value {
  const schema = resolved(unresolved);
  const value = kinds.own?.(schema, name) ?? ofKind(kinds, schema, name);
  return kinds.around ? kinds.around(value, schema) : value;
}

export const fieldsMadeOf = <Value>(kinds: Kinds<Value>, { properties = {} }: Schema) =>
  Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, madeOf(kinds, field, name)]));

function ofKind<Value>(kinds: Kinds<Value>, schema: Schema, name: string): Value {
  if (Array.isArray(schema.enum)) return kinds.closed(schema, schema.enum);
  const kind = kindOf(schema) as 'array' | 'object' | 'string';
  if (kind === 'array') return kinds.array(schema, madeOf(kinds, schema.items as Schema, `${name}[]`));
  if (kind === 'object') return kinds.object(schema, fieldsMadeOf(kinds, schema));
  return kinds[kind](schema, name);
}

/** The first or least value of each kind. */
export const LEAST: Kinds<unknown> = {
  closed: (_schema, values) => values[0],
  boolean: () => true,
  integer: ({ minimum = 1 }) => minimum,
  number: ({ minimum = 1 }) => minimum,
  string: () => 'text',
  array: (_schema, entry) => [entry],
  object: (_schema, fields) => fields,
};

const EXAMPLES: Kinds<unknown> = {
  ...LEAST,
  own: ({ examples }) => (examples as unknown[] | undefined)?.[0],
  array: ({ items }, entry) => ((items as Schema).$ref ? [entry] : []),
  around: (value, { type, examples, enum: closed, properties }) =>
    Array.isArray(type) && !examples && !closed && !properties ? null : value,
};

/** A value of a schema, built from the examples of its fields, as tools build one. */
export const exampleOf = (schema: Schema): unknown => madeOf(EXAMPLES, schema);

/** One of two different values of a field, neither of them null or the default, with the word in their texts. */
export const samplesWith = (word: string, which: 0 | 1): Kinds<unknown> => ({
  closed: (_schema, values) => [values[0], values.at(-1)][which],
  boolean: () => [true, false][which],
  integer: () => [3, 4][which],
  number: () => [1.5, 2890.25][which],
  string: ({ format, maxLength }, name) => {
    if (format === 'uuid') return newId();
    if (format === 'date') return ['2027-03-31', '2027-01-15'][which];
    if (format === 'date-time') return ['2026-11-19T10:00:00.000Z', '2026-11-20T10:00:00.123Z'][which];
    return maxLength === 3 ? ['MXN', 'USD'][which] : [`Ñandú ${word}`, `${name} ${word}`][which];
  },
  array: (_schema, entry) => [[entry, entry], [entry]][which],
  object: (_schema, fields) => fields,
});

/** The first items of all lists, then the second ones, eight at most: a response names up to twenty errors. */
export function rowsOf<Item>(lists: readonly (readonly Item[])[]): Item[][] {
  const length = Math.max(0, ...lists.map((list) => list.length));
  const rows = Array.from({ length }, (_, place) => lists.flatMap((list) => list.slice(place, place + 1)));
  return rows.flatMap((row) => row.flatMap((_, at) => (at % 8 === 0 ? [row.slice(at, at + 8)] : [])));
}

/** By the formats of the documents: values that a field stores as they are, and values that it rejects. */
export const EDGES: Record<string, { taken: string[]; refused: string[] }> = {
  'date-time': {
    taken: ['0001-01-01T00:00:00.000Z', '2028-02-29T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    refused: [
      ...['0000-12-31T23:59:59Z', '0001-01-01T00:00:00+00:01', '9999-12-31T23:59:59-00:01'],
      ...['2026-02-30T00:00:00Z', '2026-11-21T10:00:00', '2026-11-21', ''],
    ],
  },
};
