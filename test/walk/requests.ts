import { bodyOf, isNullable, operationOf, SCHEMAS, type Schema } from '../support/contract.ts';
import { operationsBy, pathOf, type Sent } from '../support/operations.ts';
import { contact, type Fields } from '../support/records.ts';
import { fieldsMadeOf, type Kinds } from '../support/values.ts';

/** Random requests, generated from the OpenAPI documents: a new operation or field is generated too. */

/** A whole number from 0 to below the limit. */
export type Random = (limit: number) => number;

/** The same numbers for the same seed (mulberry32). */
export function randomOf(seed: number): Random {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}

const oneOf = <Value>(random: Random, values: readonly Value[]): Value =>
  values[random(values.length)] as Value;

/** Ids that both organizations give to records and messages. */
export const SHARED = [1, 2, 3, 4].map((n) => `01936f5e-0000-7000-8000-00000000000${n}`);
const UNKNOWN = '01936f5e-0000-7000-8000-000000000009';

/** The ids of the organization by their names in paths; those of archived records come first. */
export type Known = Record<'customerId' | 'productId' | 'variantId', string[]>;

/** Two spellings of one contact, and one value on two channels. */
const CONTACTS = [
  ['whatsapp', '+525512345678'],
  ['whatsapp', '+52 1 55 1234 5678'],
  ['telefono', '+52 (55) 1234-5678'],
  ['email', 'Ana@example.com'],
  ['email', 'ana@example.com'],
  ['instagram', '@Ana'],
  ['web', 'visitor'],
  ['messenger', 'visitor'],
].map(([type = '', value = '']) => contact(type, value));
const TEXTS = ['Oaxaca', 'Oaxaca sur', 'Bogotá', 'Ñandú 100%', 'a_b\\c', 'Ana'];
const TIMESTAMPS = ['2026-10-01T10:00:00.000Z', '2026-10-02T10:00:00.000Z', '2026-10-02T10:00:00.001Z'];
/** Fields that only a create can set, and later requests mostly without effect or rejected. */
const ONCE = ['createdAt', 'token', 'rotatedFrom'];

/** An id of a record: mostly one of the organization, sometimes of another one, or of none. */
function idOf(random: Random, known: Known, name: string): string {
  const ids = { ...known, mergedInto: known.customerId, from: known.customerId }[name] ?? SHARED;
  return random(12) === 0 || ids.length === 0 ? UNKNOWN : oneOf(random, ids);
}

function valuesOf(random: Random, known: Known): Kinds<unknown> {
  const one = <Value>(values: readonly Value[]): Value => oneOf(random, values);
  const variants = () =>
    Array.from({ length: random(3) }, (_, n) => ({
      ...(random(2) > 0 && known.variantId.length > 0 && { id: one(known.variantId) }),
      label: TEXTS[n],
    }));
  const messages = () =>
    SHARED.filter(() => random(2) > 0).map((id) => {
      const [content, createdAt] = [one(TEXTS), one(TIMESTAMPS)];
      return { id, content, createdAt, direction: 'inbound', messageType: 'text' };
    });
  const named: Record<string, () => unknown> = {
    contacts: () => {
      const first = random(CONTACTS.length);
      return CONTACTS.slice(first, first + 1 + random(2));
    },
    variants,
    data: messages,
    delivery: () => null,
    channel: () => one(['whatsapp', 'whatsapp', 'instagram', 'web']),
    contact: () => one(CONTACTS).identifierValue,
    email: () => 'ana@example.com',
    key: () => one(['new', 'won', 'lost']),
    userId: () => `user ${random(6)}`,
    rotatedFrom: () => one(SHARED),
    token: () => `token ${random(20)}`,
  };
  return {
    own: ({ format }, name) =>
      named[name]?.() ?? (format === 'uuid' || name === 'from' ? idOf(random, known, name) : undefined),
    closed: (_schema, values) => one(values),
    boolean: () => random(2) > 0,
    integer: () => one([1, 2, 12]),
    number: () => one([1, 2.5, 1200]),
    string: ({ format, maxLength }) => {
      if (format === 'date-time') return one(TIMESTAMPS);
      if (format === 'date') return '2027-03-31';
      return maxLength === 3 ? one(['USD', 'EUR']) : one(TEXTS);
    },
    array: (_schema, entry) => (random(2) > 0 ? [entry] : []),
    object: (_schema, fields) => fields,
    around: (value, schema) => (isNullable(schema) && random(4) === 0 ? null : value),
  };
}

function bodyFor(random: Random, known: Known, name: string): Fields | undefined {
  const schema: Schema | undefined = SCHEMAS[bodyOf(operationOf(name)) ?? ''];
  if (!schema) return undefined;
  const required = schema.required as string[] | undefined;
  const isSent = (field: string) =>
    required?.includes(field) || (random(2) > 0 && (random(8) === 0 || !ONCE.includes(field)));
  return Object.fromEntries(
    Object.entries(fieldsMadeOf(valuesOf(random, known), schema)).filter(([field]) => isSent(field)),
  );
}

/** Operations that the walk leaves out: keys, organizations and files have tests of their own. */
const LEFT_OUT = /api-keys|attachments|deliveries|export$|organizations(\/\{organizationId\}(\/reopen)?)?$/;
export const WRITES = operationsBy('POST', 'PUT', 'PATCH', 'DELETE').filter((name) => !LEFT_OUT.test(name));

/** The writes of each kind of record, which requests at the same time can be about. */
const RIVALS = [...Map.groupBy(WRITES, (name) => /\{(?!organizationId)(\w+)\}/.exec(name)?.[1] ?? '')].map(
  ([, names]) => names,
);

/** A random write, with the ids of the path that are given, or random ones. */
export function writeOf(
  random: Random,
  known: Known,
  organizationId: string,
  names: readonly string[] = WRITES,
  ids: Record<string, string> = {},
): Sent & { name: string } {
  const name = oneOf(random, names);
  const isRestored = name.endsWith('/restore');
  const path = pathOf(name).replace(/\{(\w+)\}/g, (_, id: string) => {
    if (id === 'organizationId') return organizationId;
    const [archived] = known[id as keyof Known] ?? [];
    return ids[id] ?? ((isRestored && archived) || idOf(random, known, id));
  });
  const body = bodyFor(random, known, name);
  return { name, method: name.slice(0, name.indexOf(' ')), path, ...(body && { body }) };
}

export function rivalsOf(random: Random, known: Known, organizationId: string) {
  const names = oneOf(random, RIVALS);
  const ids = Object.fromEntries(
    [...names.join().matchAll(/\{(?!organizationId)(\w+)\}/g)].map(([, id = '']) => [
      id,
      idOf(random, known, id),
    ]),
  );
  return Array.from({ length: 2 + random(2) }, () => writeOf(random, known, organizationId, names, ids));
}

/** The path at which the dashboard reads the record that a write returned; undefined for one without. */
export function readOf({ name, path }: { name: string; path: string }, id: string): string | undefined {
  if (/messages|erase$|^DELETE/.test(name)) return undefined;
  const [, record] = /(.*)\/(?:restore|merge|opens)$/.exec(path) ?? [];
  return record ?? (name.startsWith('POST') ? `${path}/${id}` : path);
}
