import fc from 'fast-check';
import { expect, test } from 'vitest';
import { reopenOrganization } from '../../src/organizations/repository.ts';
import { INTERNAL, isNullable, type Operation, operationsOf, PUBLIC } from '../support/contract.ts';
import { useDashboard } from '../support/dashboard.ts';
import { populate, type Sent, send } from '../support/operations.ts';
import { EDGES, type Kinds, madeOf } from '../support/values.ts';

/** Generates requests from the documents. The client compares each response with its document. */

const { service, dashboard } = await useDashboard();
const operations = operationsOf(PUBLIC);
/** An upload is not JSON: test/attachments.test.ts. */
const internalOperations = operationsOf(INTERNAL).filter(({ path }) => !path.endsWith('/attachments'));

const UNKNOWN = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';

const agency = await service.agency();
const ids: Record<string, string> = await populate({ service, agency });

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
  string: ({ minLength = 0, maxLength = 20, format }) => {
    const plain = fc.string({ minLength: Number(minLength), maxLength: Math.min(Number(maxLength), 20) });
    const edges = EDGES[String(format)];
    return mostly(20, edges ? fc.constantFrom(...edges.taken, ...edges.refused) : plain, text);
  },
  array: (_schema, entry) => fc.array(entry, { maxLength: 4 }),
  object: ({ required }, fields) => {
    const known = fc.record(fields, { requiredKeys: (required ?? []) as string[] });
    const more = fc.tuple(known, fc.dictionary(text, json, { maxKeys: 3 })).map(([a, b]) => ({ ...b, ...a }));
    return fc.oneof({ weight: 8, arbitrary: known }, more, fc.record(fields, { requiredKeys: [] }));
  },
  around: (value, schema) =>
    mostly(40, isNullable(schema) ? fc.oneof(value, fc.constant(null)) : value, json),
};

const bodyOf = ({ requestBody }: Operation): fc.Arbitrary<string | undefined> => {
  const { schema } = requestBody?.content['application/json'] ?? {};
  const values = schema ? madeOf(ARBITRARIES, schema).map((value) => JSON.stringify(value)) : undefined;
  const malformed = fc.oneof(text, fc.constantFrom('', '{', '[]', 'null', '1e999'));
  return mostly(9, values ?? fc.constant(undefined), malformed);
};

/** Any text, percent-encoded, or sometimes a malformed escape. */
const escaped = mostly(
  6,
  text.map((value) => encodeURIComponent(value.slice(0, 2_000).toWellFormed())),
  fc.constantFrom('%zz', '%', '%f', '%ff', '%00', '%ED%A0%80', '+', '..', '%2e%2e%2f'),
);

const queryOf = ({ parameters = [] }: Operation): fc.Arbitrary<string> => {
  const known = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  const name = mostly(5, fc.constantFrom('limit', ...known), escaped);
  const value = fc.oneof(escaped, fc.constantFrom('', 'null', '1e1', '-5', '300', 'draft', '9'.repeat(20)));
  const part = fc.tuple(name, value).map((pair) => pair.join('='));
  return fc.array(part, { maxLength: 4 }).map((parts) => parts.join('&').slice(0, 4_000));
};

const headerText = fc.stringMatching(/^[\t\x20-\x7e]{0,40}$/).map((value) => value.trim());
const NAMES =
  'content-encoding prefer x-request-id accept if-match if-none-match idempotency-key cookie range';
const headers = fc.record(
  {
    'content-type': mostly(9, fc.constant('application/json'), headerText),
    ...Object.fromEntries(NAMES.split(' ').map((name) => [name, headerText])),
  },
  { requiredKeys: ['content-type'] },
);

const requestTo = (chosen: readonly (typeof operations)[number][]) =>
  fc.constantFrom(...chosen).chain(({ method, path, operation }) =>
    fc.record({
      method: fc.constant(method),
      path: fc.tuple(fc.oneof(fc.constant('known'), escaped), queryOf(operation)).map(([id, query]) => {
        const to = path.replace(/\{(\w+)\}/g, (_all, name) =>
          id === 'known' || name === 'organizationId' ? (ids[name] ?? UNKNOWN) : id || 'x',
        );
        return `${to}?${query}`;
      }),
      body: bodyOf(operation),
      headers,
    }),
  );
/** 20,000 every night. */
const RUNS = Number(process.env.FUZZ_RUNS ?? 240);
/** A seed always generates the same requests. */
const SEED = Number(process.env.FUZZ_SEED ?? 20_261_122);
const SETTINGS = { seed: SEED, numRuns: RUNS, endOnFailure: true };

/** Requests that have made this service fail, and that no walk sends. */
test.each([
  ['GET', '/v1/customers?query=%ED%A0%80&tag=%'],
  ['POST', '/v1/catalog/products', '\ufeff{"title":"x"}'],
  ['POST', '/v1/customers', `{${Array.from({ length: 20_000 }, (_, n) => `"unknown${n}":1`)}}`],
])('%s %s is not a 5xx', async (method, url, body?: string) => {
  const sent = { headers: { 'content-type': 'application/json' }, ...(body && { body }) };
  expect((await agency.request(method, url, sent)).status).toBeLessThan(500);
});

test.each([
  ['/v1', operations],
  ['the dashboard API', internalOperations],
] as const)(
  'any request of %s gets a response that its document has, and that is not a 5xx',
  async (_api, chosen) => {
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(requestTo(chosen), async (sent) => {
        const { status } = await send({ service, dashboard, agency }, sent as unknown as Sent);
        seen.add(status);
        expect(status).toBeLessThan(500);
        // A closed organization would reject all later writes.
        if (sent.method === 'DELETE') await reopenOrganization(agency.scope);
      }),
      SETTINGS,
    );
    // Some requests succeed, and some do not. Whether a create does depends on the seed.
    for (const status of [200, 400, 404]) expect(seen).toContain(status);
  },
);
