import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { breakingChanges, promisesOf } from '../../tools/breaking-changes.ts';

/** The gate of `npm run verify`: it stops what would break a client, and nothing else. */

const published = JSON.parse(readFileSync(new URL('../../openapi/released.json', import.meta.url), 'utf8'));
/** Comparing takes long: these paths and answers have everything that is changed here. */
const CHANGED = ['/v1/team', '/v1/catalog/products', '/v1/customers'];
const ANSWERS = ['200', '201', '429'];

// biome-ignore lint/suspicious/noExplicitAny: a document is changed in one place, as somebody would by mistake.
type Document = any;

const only = (value: Document, names: readonly string[]): Document =>
  Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)));
const paths = only(published.paths, CHANGED);
for (const operation of Object.values(paths).flatMap((path: Document) => Object.values(path)) as Document[])
  operation.responses = only(operation.responses, ANSWERS);
const text = JSON.stringify({ ...published, paths });

type Change = readonly [name: string, at: string, value?: unknown];

/** The document with these changes: each is the value at the end of a way, or takes it away. */
function changed(...changes: readonly Change[]): Document {
  const document = JSON.parse(text);
  for (const [, at, value] of changes) {
    const way = at.split(' ');
    const last = String(way.pop());
    const place = way.reduce((part, key) => part[key], document);
    if (value === undefined) delete place[last];
    else place[last] = value;
  }
  return document;
}

const LIST = 'paths /v1/catalog/products get parameters';
const { parameters } = paths['/v1/catalog/products'].get;
const others = parameters.filter(({ name }: { name: string }) => name !== 'type');
const TYPE = `${LIST} ${parameters.findIndex(({ name }: { name: string }) => name === 'type')}`;
const type = parameters.find(({ name }: { name: string }) => name === 'type');
const { Customer, CatalogProduct, CustomerCreate } = published.components.schemas;
const statuses: string[] = CatalogProduct.properties.status.enum;
const schema = (name: string) => `components schemas ${name}`;
const AGE = { type: 'integer' };

const BREAKING: Change[] = [
  ['an operation is gone', 'paths /v1/team'],
  ['an operation has another name', 'paths /v1/team get operationId', 'listMembers'],
  ['a parameter is gone', LIST, others],
  ['a parameter is required', `${TYPE} required`, true],
  ['a parameter takes fewer values', `${TYPE} schema enum`, type.schema.enum.slice(1)],
  ['a field of an answer is gone', `${schema('Customer')} properties city`],
  ['a field of an answer can be missing', `${schema('Customer')} required`, Customer.required.slice(1)],
  [
    'a field of an answer can be null',
    `${schema('CatalogProduct')} properties title type`,
    ['string', 'null'],
  ],
  ['a field of an answer has another type', `${schema('CatalogProduct')} properties title type`, 'integer'],
  [
    'a closed list has a new value',
    `${schema('CatalogProduct')} properties status enum`,
    [...statuses, 'sold'],
  ],
  [
    'a body needs another field',
    `${schema('CustomerCreate')} required`,
    [...CustomerCreate.required, 'city'],
  ],
  ['a body takes a field no more', `${schema('CustomerCreate')} properties city`],
  ['a body takes shorter text', `${schema('CustomerCreate')} properties city maxLength`, 10],
  ['a body takes null no more', `${schema('CustomerCreate')} properties city type`, 'string'],
  ['a status is gone', 'paths /v1/team get responses 429'],
  ['a header is gone', 'paths /v1/team get responses 200 headers RateLimit'],
  ['a way to send the key is gone', 'security', published.security.slice(1)],
];

const HARMLESS: Change[] = [
  ['a new operation', 'paths /v1/tags', { get: { ...paths['/v1/team'].get, operationId: 'listTags' } }],
  ['a new parameter', `${LIST} ${parameters.length}`, { ...type, name: 'operator' }],
  ['more values of a parameter', `${TYPE} schema enum`, [...type.schema.enum, 'cruise']],
  ['a new field of an answer', `${schema('Customer')} properties age`, AGE],
  ['that is always there', `${schema('Customer')} required`, [...Customer.required, 'age']],
  ['a new field of a body', `${schema('CustomerCreate')} properties age`, AGE],
  ['longer text of a body', `${schema('CustomerCreate')} properties city maxLength`, 1_000],
  ['other words', `${schema('Customer')} properties city description`, 'Where they live.'],
];

test.each(BREAKING.map((change) => [change[0], change] as const))('the gate stops: %s', (_name, change) => {
  expect(breakingChanges(JSON.parse(text), changed(change))).not.toEqual([]);
});

test(`the gate lets pass ${HARMLESS.map(([name]) => name).join(', ')}`, () => {
  expect(breakingChanges(JSON.parse(text), changed(...HARMLESS))).toEqual([]);
});

test('what is kept of a release says no less than its document, and says it without words', () => {
  const kept = promisesOf({ ...published, paths });
  expect(breakingChanges(JSON.parse(text), JSON.parse(kept))).toEqual([]);
  expect(breakingChanges(JSON.parse(kept), JSON.parse(text))).toEqual([]);
  const fewer = changed(['', `${TYPE} schema enum`, type.schema.enum.slice(1)]);
  expect(breakingChanges(JSON.parse(kept), fewer)).not.toEqual([]);
  expect(kept).not.toMatch(/"description":"|"examples?":/);
});

test('a client may leave out of a body what has a default: no generator takes it for a field that must be there', () => {
  const { components } = JSON.parse(
    readFileSync(new URL('../../openapi/openapi.json', import.meta.url), 'utf8'),
  );
  const bodies = Object.entries(components.schemas).filter(([name]) => /(Create|Update)$/.test(name));
  expect(bodies.length).toBeGreaterThan(5);
  for (const [name, body] of bodies) expect(JSON.stringify(body), name).not.toContain('"default":');
  expect(components.schemas.CatalogProductCreate.properties.status.description).toContain(
    'Default: `active`.',
  );
});
