import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { reopenOrganization } from '../../src/organizations/repository.ts';
import {
  INTERNAL,
  type Operation,
  operationsOf,
  PUBLIC,
  resolved,
  type Schema,
} from '../support/contract.ts';
import { useDashboard } from '../support/dashboard.ts';
import { EDGES } from '../support/edges.ts';
import { populate, type Sent, send } from '../support/operations.ts';
import type { Agency } from '../support/service.ts';
import { exchange, listen, requestBytes } from '../support/socket.ts';

/** Whatever a request is made of, it gets an answer that the document has, and never a fault of ours. */

const { service, dashboard } = useDashboard();
const operations = operationsOf(PUBLIC);
/** An upload is no JSON: test/attachments.test.ts. */
const internalOperations = operationsOf(INTERNAL).filter(({ path }) => !path.endsWith('/attachments'));

const UNKNOWN = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';

let agency: Agency;
const ids: Record<string, string> = {};
beforeAll(async () => {
  agency = await service.agency();
  Object.assign(ids, await populate({ service, agency }));
});

/** Text of every kind: long, empty, hostile, of any characters, halves of surrogate pairs among them. */
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 })
    .map((units) => String.fromCharCode(...units)),
  fc.constantFrom(
    '',
    '\u0000',
    '\ud800',
    '%',
    '_',
    '\\',
    "'",
    '"',
    '$1',
    'null',
    '0',
    '-1',
    '1e1',
    'é'.repeat(300),
  ),
  fc.integer({ min: 0, max: 60_000 }).map((length) => 'x'.repeat(length)),
);

const number = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(0, -0, 1e308, 2 ** 31, 2 ** 53, 0.1));
const json = fc.oneof(text, number, fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(null, [], {}, [[]], true));

/** Values that the schema asks for, and now and then others. */
function arbitraryOf(schemaOrReference: Schema): fc.Arbitrary<unknown> {
  const schema = resolved(schemaOrReference);
  const types = [schema.type].flat();
  const good: fc.Arbitrary<unknown>[] = [];
  if (Array.isArray(schema.enum)) good.push(fc.constantFrom(...schema.enum));
  else if (types.includes('string')) good.push(textOf(schema));
  if (types.includes('integer')) good.push(fc.integer({ min: 1, max: 2 ** 31 - 1 }));
  if (types.includes('number')) good.push(fc.double({ min: 0, noDefaultInfinity: true, noNaN: true }));
  if (types.includes('array')) good.push(fc.array(arbitraryOf(schema.items as Schema), { maxLength: 4 }));
  if (schema.properties) good.push(objectOf(schema));
  if (types.includes('null')) good.push(fc.constant(null));
  if (types.includes('boolean')) good.push(fc.boolean());
  const others = (schema.anyOf ?? schema.oneOf ?? schema.allOf ?? []) as Schema[];
  good.push(...others.map(arbitraryOf));
  if (good.length === 0) return json;
  return fc.oneof({ weight: 40, arbitrary: fc.oneof(...good) }, { weight: 1, arbitrary: json });
}

function textOf({ minLength, maxLength, format }: Schema): fc.Arbitrary<string> {
  const bounds = { minLength: Number(minLength ?? 0), maxLength: Math.min(Number(maxLength ?? 20), 20) };
  const plain = fc
    .string({ unit: 'grapheme', ...bounds })
    .map((value) => [...value].slice(0, bounds.maxLength).join(''));
  const edges = EDGES[String(format)];
  const good = edges ? fc.constantFrom(...edges.taken, ...edges.refused) : plain;
  return fc.oneof({ weight: 20, arbitrary: good }, { weight: 1, arbitrary: text });
}

function objectOf({ properties = {}, required }: Schema): fc.Arbitrary<unknown> {
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, arbitraryOf(schema)]),
  );
  const known = fc.record(fields, { requiredKeys: (required ?? []) as string[] });
  const more = fc.tuple(known, fc.dictionary(text, json, { maxKeys: 3 })).map(([a, b]) => ({ ...b, ...a }));
  const fewer = fc.record(fields, { requiredKeys: [] });
  return fc.oneof({ weight: 8, arbitrary: known }, more, fewer);
}

const bodyOf = (operation: Operation): fc.Arbitrary<string | undefined> => {
  const schema = operation.requestBody?.content['application/json']?.schema;
  const raw = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', '{', '[]', 'null', '1e999', '\ufeff{}'),
  );
  if (!schema)
    return fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: raw });
  const written = arbitraryOf(schema).map((value) => JSON.stringify(value));
  return fc.oneof({ weight: 9, arbitrary: written }, { weight: 1, arbitrary: raw });
};

/** A well-formed escape of any text, or bytes that are none. */
const escaped = fc.oneof(
  { weight: 6, arbitrary: text.map((value) => encodeURIComponent(value.slice(0, 2_000).toWellFormed())) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('%zz', '%', '%f', '%ff', '%00', '%ED%A0%80', '+', '..', '%2e%2e%2f'),
  },
);

function queryOf(operation: Operation): fc.Arbitrary<string> {
  const known = (operation.parameters ?? [])
    .filter((parameter) => parameter.in === 'query')
    .map(({ name }) => name);
  const name = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom('limit', ...known) },
    { weight: 1, arbitrary: escaped },
  );
  const value = fc.oneof(
    escaped,
    fc.integer({ min: -5, max: 300 }).map(String),
    fc.constantFrom('', 'null', '1e1', UNKNOWN, 'draft', 'active', '99999999999999999999'),
  );
  return fc
    .array(
      fc.oneof(
        fc.tuple(name, value).map(([a, b]) => `${a}=${b}`),
        name,
      ),
      { maxLength: 4 },
    )
    .map((parts) => parts.join('&').slice(0, 4_000));
}

const pathOf = (path: string): fc.Arbitrary<string> =>
  fc
    .oneof(fc.constant('ours'), fc.constantFrom(UNKNOWN, UNKNOWN.toUpperCase(), 'x', '0'), escaped)
    .map((id) =>
      path.replace(/\{(\w+)\}/g, (_all, name) =>
        id === 'ours' || name === 'organizationId' ? (ids[name] ?? UNKNOWN) : id || 'x',
      ),
    );

const headerText = fc.stringMatching(/^[\t\x20-\x7e]{0,40}$/).map((value) => value.trim());
const headers = fc.record(
  {
    'content-type': fc.oneof(
      { weight: 9, arbitrary: fc.constant('application/json') },
      { weight: 1, arbitrary: headerText },
    ),
    prefer: fc.oneof(fc.constant('handling=strict'), headerText, headerText),
    'x-request-id': headerText,
    'x-forwarded-for': headerText,
    'content-encoding': fc.constantFrom('identity', 'identity', 'identity', 'gzip', ''),
    accept: headerText,
    'if-match': headerText,
    'if-none-match': headerText,
    'idempotency-key': headerText,
    'accept-encoding': headerText,
    cookie: headerText,
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
/** Every night there are 20,000 of them. */
const RUNS = Number(process.env.FUZZ_RUNS ?? 240);
/** The same requests every time, and others with another seed. */
const SEED = Number(process.env.FUZZ_SEED ?? 20_261_122);
const SETTINGS = { seed: SEED, numRuns: RUNS, endOnFailure: true };

type Request = ReturnType<typeof requestTo> extends fc.Arbitrary<infer Generated> ? Generated : never;

const asked = (method: string, url: string, body?: string, more: Record<string, string> = {}): [Request] => [
  { method, url, body, headers: { 'content-type': 'application/json', ...more } } as Request,
];

/** What has made this service or a part of it fail or falter. It comes first in every run. */
const CORPUS: [Request][] = [
  asked('GET', '/v1/customers/%zz'),
  asked('GET', '/v1/customers/%ED%A0%80'),
  asked('GET', '/v1/customers/%00'),
  asked('GET', `/v1/customers/${'x'.repeat(15_000)}`),
  asked('GET', '/v1/customers?query=%00'),
  asked('GET', '/v1/customers?query=%ED%A0%80&tag=%'),
  asked('GET', '/v1/customers?offset=2147483648'),
  asked('GET', '/v1/customers?limit=1e1&limit=0x10'),
  asked('GET', '/v1/customers?__proto__=1&constructor=2'),
  asked('DELETE', `/v1/customers/${UNKNOWN}`, ''),
  asked('POST', '/v1/catalog/products', '{"title":"\\u0000"}'),
  asked('POST', '/v1/catalog/products', '{"title":"\\ud800"}'),
  asked('POST', '/v1/catalog/products', '{"title":"x","fromPrice":1e400}'),
  asked('POST', '/v1/catalog/products', '{"title":"x","capacityMin":2147483648}'),
  asked('POST', '/v1/catalog/products', '{"title":"x","__proto__":{"a":1}}'),
  asked('POST', '/v1/catalog/products', '\ufeff{"title":"x"}'),
  asked('POST', '/v1/catalog/products', '['.repeat(100_000)),
  asked('POST', '/v1/catalog/products', `{"title":"x","variants":[${Array(5_000).fill('{}')}]}`),
  asked('POST', '/v1/customers', `{${Array.from({ length: 20_000 }, (_, n) => `"unknown${n}":1`)}}`),
  asked('POST', '/v1/customers', '{"contacts":[]}', { 'idempotency-key': 'x'.repeat(256) }),
  asked('POST', '/v1/customers', '{"contacts":[]}', { 'content-encoding': 'gzip' }),
];

test.each([
  ['an integrator', operations, CORPUS, [200, 201, 400, 404]],
  // Which operations the seed leads to changes with each new one: whether a creation is among the good ones is chance.
  ['the dashboard', internalOperations, [], [200, 400, 404]],
] as const)(
  'any request of %s gets an answer that its document has, and none of them a 5xx',
  async (_whose, chosen, corpus, statuses) => {
    const seen = new Set<number>();
    const world = { service, dashboard, agency };
    await fc.assert(
      fc.asyncProperty(requestTo(chosen), async ({ method, url: path, body, headers }) => {
        const sent = { method, path, body, headers } as unknown as Sent;
        const { status } = await send(world, sent);
        seen.add(status);
        expect(status).toBeLessThan(500);
        // Whoever closes the organization takes all other writes away.
        if (method === 'DELETE') await reopenOrganization(agency.scope);
      }),
      { ...SETTINGS, examples: [...corpus] },
    );
    // The requests are neither all good nor all bad.
    for (const status of statuses) expect(seen).toContain(status);
  },
);

test('any path, of any method, outside of the document too, gets an answer that is no 5xx', async () => {
  const segment = fc.oneof(
    escaped,
    fc.constantFrom('v1', 'docs', 'files', 'static', 'customers', 'openapi.json', '..'),
  );
  const path = fc.array(segment, { maxLength: 4 }).map((segments) => `/${segments.join('/')}`);
  const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS');
  const range = fc.constantFrom('bytes=0-1', 'bytes=9-', 'x');
  await fc.assert(
    fc.asyncProperty(method, path, headers, range, async (method, url, headers, range) => {
      const { statusCode, headers: answered } = await service.app.inject({
        method: method as 'GET',
        url,
        headers: { ...headers, range } as Record<string, string>,
      });
      expect(statusCode).toBeLessThan(500);
      expect(answered['x-content-type-options']).toBe('nosniff');
    }),
    SETTINGS,
  );
});

describe('over a connection', () => {
  let port: number;
  beforeAll(async () => {
    port = (await listen(service)).port;
  });

  const expectNoFault = async (bytes: Buffer) => {
    const answer = await exchange(port, bytes, null);
    if (answer === undefined) return;
    expect(answer.status).toBeLessThan(500);
    expect(answer.headers['x-request-id']).toMatch(/^[\w-]{8,64}$/);
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
    if (answer.status >= 400) expect(JSON.parse(answer.text).error.code).toMatch(/^[A-Z_]+$/);
  };

  test('any bytes are answered in the error shape, or the connection is closed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 400 }), (bytes) =>
        expectNoFault(Buffer.from(bytes)),
      ),
      { ...SETTINGS, numRuns: RUNS / 8 },
    );
  });

  test('a good request with some bytes changed is one too', async () => {
    const change = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
        const body = '{"contacts":[{"identifierType":"web","identifierValue":"x"}]}';
        const bytes = requestBytes(
          'POST',
          '/v1/customers?limit=5',
          { 'x-api-key': agency.key, 'Content-Type': 'application/json' },
          body,
        );
        for (const [position, value] of changes) bytes[position % bytes.length] = value;
        await expectNoFault(bytes);
      }),
      { ...SETTINGS, numRuns: RUNS / 8 },
    );
  });
});
