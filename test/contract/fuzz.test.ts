import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { reopenOrganization } from '../../src/organizations/repository.ts';
import {
  INTERNAL,
  isNullable,
  type Operation,
  operationsOf,
  PUBLIC,
  type Schema,
} from '../support/contract.ts';
import { useDashboard } from '../support/dashboard.ts';
import { populate, type Sent, send } from '../support/operations.ts';
import type { Agency } from '../support/service.ts';
import { exchange, listen, requestBytes } from '../support/socket.ts';
import { EDGES, type Kinds, madeOf } from '../support/values.ts';

/** Generates requests from the documents. The client compares each response with its document. */

const { service, dashboard } = useDashboard();
const operations = operationsOf(PUBLIC);
/** An upload is not JSON: test/attachments.test.ts. */
const internalOperations = operationsOf(INTERNAL).filter(({ path }) => !path.endsWith('/attachments'));

const UNKNOWN = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';

let agency: Agency;
let port: number;
const ids: Record<string, string> = {};
beforeAll(async () => {
  agency = await service.agency();
  port = (await listen(service)).port;
  Object.assign(ids, await populate({ service, agency }));
});

/** Text of every kind: long, empty, hostile, with any characters, also lone surrogates. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.array(fc.nat(0xffff), { maxLength: 20 }).map((units) => String.fromCharCode(...units)),
  fc.constantFrom('', '\u0000', '\ud800', ...`%_\\'"`, '$1', 'null', '-1', '1e1', 'é'.repeat(300)),
  fc.nat(60_000).map((length) => 'x'.repeat(length)),
);

const number = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(0, -0, 1e308, 2 ** 31, 2 ** 53, 0.1));
const json = fc.oneof(text, number, fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(null, [], {}, [[]], true));

const mostly = <Good, Bad>(weight: number, good: fc.Arbitrary<Good>, bad: fc.Arbitrary<Bad>) =>
  fc.oneof({ weight, arbitrary: good }, { weight: 1, arbitrary: bad });

/** Mostly values that the schema accepts, and sometimes others. */
const ARBITRARIES: Kinds<fc.Arbitrary<unknown>> = {
  closed: (_schema, values) => fc.constantFrom(...values, null),
  boolean: () => fc.boolean(),
  integer: () => fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  number: () => fc.double({ min: 0, noDefaultInfinity: true, noNaN: true }),
  string: textOf,
  array: (_schema, entry) => fc.array(entry, { maxLength: 4 }),
  object: objectOf,
  around: (value, schema) =>
    mostly(40, isNullable(schema) ? fc.oneof(value, fc.constant(null)) : value, json),
};

function textOf({ minLength = 0, maxLength = 20, format }: Schema): fc.Arbitrary<string> {
  const [min, max] = [Number(minLength), Math.min(Number(maxLength), 20)];
  const plain = fc
    .string({ unit: 'grapheme', minLength: min, maxLength: max })
    .map((value) => [...value].slice(0, max).join(''));
  const edges = EDGES[String(format)];
  return mostly(20, edges ? fc.constantFrom(...edges.taken, ...edges.refused) : plain, text);
}

function objectOf(
  { required }: Schema,
  fields: Record<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<unknown> {
  const known = fc.record(fields, { requiredKeys: (required ?? []) as string[] });
  const more = fc.tuple(known, fc.dictionary(text, json, { maxKeys: 3 })).map(([a, b]) => ({ ...b, ...a }));
  const fewer = fc.record(fields, { requiredKeys: [] });
  return fc.oneof({ weight: 8, arbitrary: known }, more, fewer);
}

const bodyOf = ({ requestBody }: Operation): fc.Arbitrary<string | undefined> => {
  const { schema } = requestBody?.content['application/json'] ?? {};
  const written = schema
    ? madeOf(ARBITRARIES, schema).map((value) => JSON.stringify(value))
    : fc.constant(undefined);
  const raw = fc.constantFrom('', '{', '[]', 'null', '1e999', '\ufeff{}');
  return mostly(9, written, fc.oneof(fc.string({ unit: 'binary' }), raw));
};

/** Any text, percent-encoded, or sometimes a malformed escape. */
const escaped = mostly(
  6,
  text.map((value) => encodeURIComponent(value.slice(0, 2_000).toWellFormed())),
  fc.constantFrom('%zz', '%', '%f', '%ff', '%00', '%ED%A0%80', '+', '..', '%2e%2e%2f'),
);

function queryOf({ parameters = [] }: Operation): fc.Arbitrary<string> {
  const known = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  const name = mostly(5, fc.constantFrom('limit', ...known), escaped);
  const value = fc.oneof(
    escaped,
    fc.integer({ min: -5, max: 300 }).map(String),
    fc.constantFrom('', 'null', '1e1', UNKNOWN, 'draft', 'active', '99999999999999999999'),
  );
  const part = fc.oneof(
    fc.tuple(name, value).map((pair) => pair.join('=')),
    name,
  );
  return fc.array(part, { maxLength: 4 }).map((parts) => parts.join('&').slice(0, 4_000));
}

const pathOf = (path: string): fc.Arbitrary<string> =>
  fc
    .oneof(fc.constant('known'), fc.constantFrom(UNKNOWN, UNKNOWN.toUpperCase(), 'x', '0'), escaped)
    .map((id) =>
      path.replace(/\{(\w+)\}/g, (_all, name) =>
        id === 'known' || name === 'organizationId' ? (ids[name] ?? UNKNOWN) : id || 'x',
      ),
    );

const headerText = fc.stringMatching(/^[\t\x20-\x7e]{0,40}$/).map((value) => value.trim());
const headers = fc.record(
  {
    'content-type': mostly(9, fc.constant('application/json'), headerText),
    'content-encoding': mostly(3, fc.constant('identity'), fc.constantFrom('gzip', '')),
    prefer: mostly(1, fc.constant('handling=strict'), headerText),
    ...Object.fromEntries(
      'x-request-id x-forwarded-for accept if-match if-none-match idempotency-key accept-encoding cookie'
        .split(' ')
        .map((name) => [name, headerText]),
    ),
  },
  { requiredKeys: ['content-type'] },
);

const requestTo = (chosen: readonly (typeof operations)[number][]) =>
  fc.constantFrom(...chosen).chain(({ method, path, operation }) =>
    fc.record({
      method: fc.constant(method),
      url: fc
        .tuple(pathOf(path), queryOf(operation))
        .map(([to, query]) => (query === '' ? to : `${to}?${query}`)),
      body: bodyOf(operation),
      headers,
    }),
  );
/** 20,000 every night. */
const RUNS = Number(process.env.FUZZ_RUNS ?? 240);
/** A seed always generates the same requests. */
const SEED = Number(process.env.FUZZ_SEED ?? 20_261_122);
const SETTINGS = { seed: SEED, numRuns: RUNS, endOnFailure: true };

type Request = ReturnType<typeof requestTo> extends fc.Arbitrary<infer Generated> ? Generated : never;

const example = (method: string, url: string, body?: string): [Request] => [
  { method, url, body, headers: { 'content-type': 'application/json' } } as Request,
];

/** Requests that have made this service fail, and that no walk sends. Every run begins with them. */
const CORPUS: [Request][] = [
  example('GET', '/v1/customers?query=%ED%A0%80&tag=%'),
  example('POST', '/v1/catalog/products', '\ufeff{"title":"x"}'),
  example('POST', '/v1/customers', `{${Array.from({ length: 20_000 }, (_, n) => `"unknown${n}":1`)}}`),
];

test.each([
  ['/v1', operations, CORPUS, [200, 201, 400, 404]],
  // Whether a create succeeds depends on the seed.
  ['the dashboard API', internalOperations, [], [200, 400, 404]],
] as const)(
  'any request of %s gets a response that its document has, and that is not a 5xx',
  async (_api, chosen, corpus, statuses) => {
    const seen = new Set<number>();
    const world = { service, dashboard, agency };
    await fc.assert(
      fc.asyncProperty(requestTo(chosen), async ({ method, url: path, body, headers }) => {
        const { status } = await send(world, { method, path, body, headers } as unknown as Sent);
        seen.add(status);
        expect(status).toBeLessThan(500);
        // A closed organization would reject all later writes.
        if (method === 'DELETE') await reopenOrganization(agency.scope);
      }),
      { ...SETTINGS, examples: [...corpus] },
    );
    // Some requests succeed, and some do not.
    for (const status of statuses) expect(seen).toContain(status);
  },
);

test('any path and method, also outside of the documents, gets a response that is not a 5xx', async () => {
  const segment = fc.oneof(
    escaped,
    fc.constantFrom('v1', 'docs', 'files', 'static', 'customers', 'openapi.json', '..'),
  );
  const path = fc.array(segment, { maxLength: 4 }).map((segments) => `/${segments.join('/')}`);
  const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS');
  const range = fc.constantFrom('bytes=0-1', 'bytes=9-', 'x');
  await fc.assert(
    fc.asyncProperty(method, path, headers, range, async (method, url, headers, range) => {
      const response = await service.app.inject({
        method: method as 'GET',
        url,
        headers: { ...headers, range } as Record<string, string>,
      });
      expect(response.statusCode).toBeLessThan(500);
      expect(response.headers['x-content-type-options']).toBe('nosniff');
    }),
    SETTINGS,
  );
});

const validRequest = (): Buffer =>
  requestBytes(
    'POST',
    '/v1/customers?limit=5',
    { 'x-api-key': agency.key, 'Content-Type': 'application/json' },
    '{"contacts":[{"identifierType":"web","identifierValue":"x"}]}',
  );
const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 });

test.each<[string, fc.Arbitrary<Uint8Array>]>([
  ['any bytes', fc.uint8Array({ minLength: 1, maxLength: 400 })],
  [
    'a valid request with some bytes changed',
    changes.map((all) => {
      const bytes = validRequest();
      for (const [position, value] of all) bytes[position % bytes.length] = value;
      return bytes;
    }),
  ],
])('%s on a connection: a response that is not a 5xx, or the connection is closed', async (_name, sent) => {
  await fc.assert(
    fc.asyncProperty(sent, async (bytes) => {
      const response = await exchange(port, Buffer.from(bytes), null);
      if (response === undefined) return;
      expect(response.status).toBeLessThan(500);
      expect(response.headers).toMatchObject({
        'x-request-id': expect.stringMatching(/^[\w-]{8,64}$/),
        'x-content-type-options': 'nosniff',
      });
      if (response.status >= 400) expect(JSON.parse(response.text).error.code).toMatch(/^[A-Z_]+$/);
    }),
    { ...SETTINGS, numRuns: RUNS / 8 },
  );
});
