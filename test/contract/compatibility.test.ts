import { expect, test } from 'vitest';
import { breakingChanges, promisesOf } from '../../tools/breaking-changes.ts';

/** `npm run verify` rejects a document that would break a client of a release. */

const TYPE = { name: 'type', in: 'query', required: false, schema: { enum: ['package', 'custom'] } };
const TEXT = { type: ['string', 'null'], maxLength: 200 };
const ofSchema = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const inJson = (name: string) => ({ content: { 'application/json': { schema: ofSchema(name) } } });
const RELEASED = {
  openapi: '3.1.0',
  info: { title: 'An API', version: '1.0.0' },
  security: [{ bearer: [] }, { apiKey: [] }],
  paths: {
    '/team': { get: { operationId: 'listTeam', responses: { 200: inJson('Product') } } },
    '/products': {
      post: {
        operationId: 'createProduct',
        parameters: [TYPE],
        requestBody: inJson('ProductCreate'),
        responses: {
          200: { description: 'The new product.', headers: { RateLimit: {} }, ...inJson('Product') },
          429: { description: 'Too many.' },
        },
      },
    },
  },
  components: {
    schemas: {
      Product: {
        type: 'object',
        required: ['title', 'city'],
        properties: {
          title: { type: 'string', description: 'Its name.' },
          city: TEXT,
          status: { type: 'string', enum: ['active', 'paused'] },
        },
      },
      ProductCreate: { type: 'object', required: ['title'], properties: { title: TEXT, city: TEXT } },
    },
  },
};

type Change = readonly [name: string, at: string, value?: unknown];

/** The released document with the changes: `at` is the path to the value, which is deleted where the change has none. */
function changed(...changes: readonly Change[]) {
  // Not `structuredClone`: it would copy TEXT once for all of its fields.
  const document = JSON.parse(JSON.stringify(RELEASED));
  for (const [, at, value] of changes) {
    const path = at.split(' ');
    const last = String(path.pop());
    const parent = path.reduce((part, key) => part[key], document);
    if (value === undefined) delete parent[last];
    else parent[last] = value;
  }
  return document;
}

const POST = 'paths /products post';
const RESPONSE = 'components schemas Product';
const BODY = 'components schemas ProductCreate';

const BREAKING: Change[] = [
  ['an operation is gone', 'paths /team'],
  ['an operation has another name', `${POST} operationId`, 'addProduct'],
  ['a parameter is gone', `${POST} parameters`, []],
  ['a parameter is required', `${POST} parameters 0 required`, true],
  ['a parameter accepts fewer values', `${POST} parameters 0 schema enum`, ['package']],
  ['a field of a response is gone', `${RESPONSE} properties city`],
  ['a field of a response is optional', `${RESPONSE} required`, ['title']],
  ['a field of a response can be null', `${RESPONSE} properties title type`, ['string', 'null']],
  ['a field of a response has another type', `${RESPONSE} properties title type`, 'integer'],
  ['a closed list has a new value', `${RESPONSE} properties status enum`, ['active', 'paused', 'sold']],
  ['a body needs another field', `${BODY} required`, ['title', 'city']],
  ['a field of a body is gone', `${BODY} properties city`],
  ['a text of a body must be shorter', `${BODY} properties city maxLength`, 10],
  ['a field of a body must not be null', `${BODY} properties city type`, 'string'],
  ['a status is gone', `${POST} responses 429`],
  ['a header is gone', `${POST} responses 200 headers RateLimit`],
  ['a way to send the key is gone', 'security', [{ bearer: [] }]],
];

const HARMLESS: Change[] = [
  ['a new operation', 'paths /tags', { get: { operationId: 'listTags', responses: { 200: {} } } }],
  ['a new parameter', `${POST} parameters 1`, { ...TYPE, name: 'operator' }],
  ['more values of a parameter', `${POST} parameters 0 schema enum`, ['package', 'custom', 'cruise']],
  ['a new field of a response', `${RESPONSE} properties age`, { type: 'integer' }],
  ['a new required field of a response', `${RESPONSE} required`, ['title', 'city', 'age']],
  ['a new field of a body', `${BODY} properties age`, { type: 'integer' }],
  ['longer text of a body', `${BODY} properties city maxLength`, 1_000],
  ['other words', `${RESPONSE} properties title description`, 'Its title.'],
];

test.each(BREAKING.map((change) => [change[0], change] as const))('rejected: %s', (_name, change) => {
  expect(breakingChanges(RELEASED, changed(change))).not.toEqual([]);
  expect(breakingChanges(JSON.parse(promisesOf(RELEASED)), changed(change))).not.toEqual([]);
});

test(`accepted: ${HARMLESS.map(([name]) => name).join(', ')}`, () => {
  expect(breakingChanges(RELEASED, changed(...HARMLESS))).toEqual([]);
});

test('the stored promises of a release are its document without texts', () => {
  expect(breakingChanges(JSON.parse(promisesOf(RELEASED)), RELEASED)).toEqual([]);
  expect(promisesOf(RELEASED)).not.toContain('description');
});
