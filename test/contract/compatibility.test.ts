import { expect, test } from 'vitest';
import { breakingChanges, promisesOf } from '../../tools/breaking-changes.ts';

/** The gate of `npm run verify`: it stops what would break a client, and nothing else. */

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
          200: { description: 'What was made.', headers: { RateLimit: {} }, ...inJson('Product') },
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

/** The document with these changes: each is the value at the end of a way, or takes it away. */
function changed(...changes: readonly Change[]) {
  const document = JSON.parse(JSON.stringify(RELEASED));
  for (const [, at, value] of changes) {
    const way = at.split(' ');
    const last = String(way.pop());
    const place = way.reduce((part, key) => part[key], document);
    if (value === undefined) delete place[last];
    else place[last] = value;
  }
  return document;
}

const POST = 'paths /products post';
const ANSWER = 'components schemas Product';
const BODY = 'components schemas ProductCreate';

const BREAKING: Change[] = [
  ['an operation is gone', 'paths /team'],
  ['an operation has another name', `${POST} operationId`, 'makeProduct'],
  ['a parameter is gone', `${POST} parameters`, []],
  ['a parameter is required', `${POST} parameters 0 required`, true],
  ['a parameter takes fewer values', `${POST} parameters 0 schema enum`, ['package']],
  ['a field of an answer is gone', `${ANSWER} properties city`],
  ['a field of an answer can be missing', `${ANSWER} required`, ['title']],
  ['a field of an answer can be null', `${ANSWER} properties title type`, ['string', 'null']],
  ['a field of an answer has another type', `${ANSWER} properties title type`, 'integer'],
  ['a closed list has a new value', `${ANSWER} properties status enum`, ['active', 'paused', 'sold']],
  ['a body needs another field', `${BODY} required`, ['title', 'city']],
  ['a body takes a field no more', `${BODY} properties city`],
  ['a body takes shorter text', `${BODY} properties city maxLength`, 10],
  ['a body takes null no more', `${BODY} properties city type`, 'string'],
  ['a status is gone', `${POST} responses 429`],
  ['a header is gone', `${POST} responses 200 headers RateLimit`],
  ['a way to send the key is gone', 'security', [{ bearer: [] }]],
];

const HARMLESS: Change[] = [
  ['a new operation', 'paths /tags', { get: { operationId: 'listTags', responses: { 200: {} } } }],
  ['a new parameter', `${POST} parameters 1`, { ...TYPE, name: 'operator' }],
  ['more values of a parameter', `${POST} parameters 0 schema enum`, ['package', 'custom', 'cruise']],
  ['a new field of an answer', `${ANSWER} properties age`, { type: 'integer' }],
  ['that is always there', `${ANSWER} required`, ['title', 'city', 'age']],
  ['a new field of a body', `${BODY} properties age`, { type: 'integer' }],
  ['longer text of a body', `${BODY} properties city maxLength`, 1_000],
  ['other words', `${ANSWER} properties title description`, 'What it is called.'],
];

test.each(BREAKING.map((change) => [change[0], change] as const))('the gate stops: %s', (_name, change) => {
  expect(breakingChanges(RELEASED, changed(change))).not.toEqual([]);
  // What is kept of a release says no less than its document.
  expect(breakingChanges(JSON.parse(promisesOf(RELEASED)), changed(change))).not.toEqual([]);
});

test(`the gate lets pass ${HARMLESS.map(([name]) => name).join(', ')}`, () => {
  expect(breakingChanges(RELEASED, changed(...HARMLESS))).toEqual([]);
});

test('what is kept of a release says no more than its document, and says it without words', () => {
  expect(breakingChanges(JSON.parse(promisesOf(RELEASED)), RELEASED)).toEqual([]);
  expect(promisesOf(RELEASED)).not.toContain('description');
});
