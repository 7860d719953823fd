import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
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

const changed = (change: (document: Document) => void): Document => {
  const document = JSON.parse(text);
  change(document);
  return document;
};
const products = ({ paths }: Document) => paths['/v1/catalog/products'].get;
const parameter = (document: Document, name: string) =>
  products(document).parameters.find((one: { name: string }) => one.name === name);
const schema = ({ components }: Document, name: string) => components.schemas[name];
const without = (list: string[], entry: string) => list.filter((one) => one !== entry);

const BREAKING: Record<string, (document: Document) => void> = {
  'an operation is gone': ({ paths }) => delete paths['/v1/team'],
  'an operation has another name': ({ paths }) => {
    paths['/v1/team'].get.operationId = 'listMembers';
  },
  'a parameter is gone': (document) => {
    const list = products(document);
    list.parameters = list.parameters.filter((one: { name: string }) => one.name !== 'type');
  },
  'a parameter is required': (document) => {
    parameter(document, 'type').required = true;
  },
  'a parameter takes fewer values': (document) => parameter(document, 'type').schema.enum.pop(),
  'a field of an answer is gone': (document) => {
    const customer = schema(document, 'Customer');
    delete customer.properties.city;
    customer.required = without(customer.required, 'city');
  },
  'a field of an answer can be missing': (document) => {
    const customer = schema(document, 'Customer');
    customer.required = without(customer.required, 'city');
  },
  'a field of an answer can be null': (document) => {
    schema(document, 'CatalogProduct').properties.title.type = ['string', 'null'];
  },
  'a field of an answer has another type': (document) => {
    schema(document, 'CatalogProduct').properties.title.type = 'integer';
  },
  'a closed list of an answer has a new value': (document) =>
    schema(document, 'CatalogProduct').properties.status.enum.push('sold_out'),
  'a body needs another field': (document) => {
    schema(document, 'CustomerCreate').properties.age = { type: 'integer' };
    schema(document, 'CustomerCreate').required.push('age');
  },
  'a body takes a field no more': (document) => delete schema(document, 'CustomerCreate').properties.city,
  'a body takes shorter text': (document) => {
    schema(document, 'CustomerCreate').properties.city.maxLength = 10;
  },
  'a body takes null no more': (document) => {
    schema(document, 'CustomerCreate').properties.city.type = 'string';
  },
  'a status is gone': ({ paths }) => delete paths['/v1/team'].get.responses[429],
  'a header is gone': ({ paths }) => delete paths['/v1/team'].get.responses[200].headers.RateLimit,
  'a way to send the key is gone': (document) => document.security.pop(),
};

const HARMLESS: Record<string, (document: Document) => void> = {
  'a new operation': ({ paths }) => {
    paths['/v1/tags'] = { get: { ...paths['/v1/team'].get, operationId: 'listTags' } };
  },
  'a new parameter': (document) =>
    products(document).parameters.push({ ...parameter(document, 'type'), name: 'operator' }),
  'a parameter takes more values': (document) => parameter(document, 'type').schema.enum.push('cruise'),
  'an answer has a new field': (document) => {
    schema(document, 'Customer').properties.age = { type: 'integer' };
    schema(document, 'Customer').required.push('age');
  },
  'a body takes a new field': (document) => {
    schema(document, 'CustomerCreate').properties.age = { type: 'integer' };
  },
  'a body takes longer text': (document) => {
    schema(document, 'CustomerCreate').properties.city.maxLength = 1_000;
  },
  'other words': (document) => {
    schema(document, 'Customer').properties.city.description = 'Where they live.';
  },
};

describe('the gate stops', () => {
  test.each(Object.entries(BREAKING))('%s', (_name, change) => {
    expect(breakingChanges(JSON.parse(text), changed(change))).not.toEqual([]);
  });
});

test(`the gate lets pass ${Object.keys(HARMLESS).join(', ')}`, () => {
  const all = changed((document) => {
    for (const change of Object.values(HARMLESS)) change(document);
  });
  expect(breakingChanges(JSON.parse(text), all)).toEqual([]);
});

test('what is kept of a release says no less than its document, and says it without words', () => {
  const kept = promisesOf({ ...published, paths });
  expect(breakingChanges(JSON.parse(text), JSON.parse(kept))).toEqual([]);
  expect(breakingChanges(JSON.parse(kept), JSON.parse(text))).toEqual([]);
  expect(
    breakingChanges(
      JSON.parse(kept),
      changed((document) => parameter(document, 'type').schema.enum.pop()),
    ),
  ).not.toEqual([]);
  expect(kept).not.toMatch(/"description":"|"examples?":/);
});

describe('a client made from the document', () => {
  const { components } = JSON.parse(
    readFileSync(new URL('../../openapi/openapi.json', import.meta.url), 'utf8'),
  );

  test('may leave out of a body what has a default: no generator takes it for a field that must be there', () => {
    const bodies = Object.entries(components.schemas).filter(([name]) => /(Create|Update)$/.test(name));
    expect(bodies.length).toBeGreaterThan(5);
    for (const [name, body] of bodies) expect(JSON.stringify(body), name).not.toContain('"default":');
    expect(components.schemas.CatalogProductCreate.properties.status.description).toContain(
      'Default: `active`.',
    );
  });
});
