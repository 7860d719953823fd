import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { EXAMPLE_ID } from '../../src/contract/fields.ts';
import { bodyOf, DOCUMENTED, SCHEMAS, type Schema } from '../support/contract.ts';
import { useDashboard } from '../support/dashboard.ts';
import { invalid } from '../support/faults.ts';
import { populate, requestOf, send } from '../support/operations.ts';
import { web } from '../support/records.ts';
import { EDGES, rowsOf } from '../support/values.ts';

/** docs/decisions/contract.md, "Requests", rule by rule, over every parameter that the documents have. */

const { service, dashboard } = await useDashboard();

const agency = await service.agency();
/** An organization with something in every list, which no test changes. */
const populated = { service, dashboard, agency: await service.agency() };
const has = await populate(populated);

const UNKNOWN = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';

/** Two UTF-16 units, one code point; no record has it. */
const ASTRAL = '🌋';

const contact = () => web(randomUUID());

const known = (schema: string): string =>
  `(known names: ${Object.keys(SCHEMAS[schema]?.properties ?? {}).join(', ')})`;

const EMPTY = { data: [], pagination: { limit: 25, offset: 0, total: 0 } };

const inQuery = (parameter: { in: string }) => parameter.in === 'query';
const WITH_QUERY = DOCUMENTED.filter(({ operation }) => operation.parameters?.some(inQuery));

const NOT_DECIMAL = '1e1 +1 -1 1.5 %205 5%20 0x10 1_0 abc %00 ٣ Infinity NaN NULL'.split(' ');

type Rejected = { values: string[]; message?: string };
type Values = { accepted: string[]; rejected: Rejected[] };

/** Values that a parameter accepts, and values that it rejects, with the message if that follows from the document. */
function valuesOf(name: string, schema: Schema): Values {
  const { format, minimum, maximum, minLength = 0, maxLength } = schema;
  const closed = schema.enum as string[] | undefined;
  const types = [schema.type].flat();
  if (closed) {
    const values = ['', 'ACTIVE', 'other', 'null', '%00', String(closed[0]).toUpperCase()];
    const message = closed.length > 1 ? `must be one of ${closed.join(', ')}` : `must be ${closed[0]}`;
    return { accepted: closed, rejected: [{ values, message }] };
  }
  if (types[0] === 'integer') {
    const message = `must be an integer from ${minimum} to ${maximum}, in decimal digits`;
    const values = [...NOT_DECIMAL, String(Number(maximum) + 1), '9'.repeat(20)];
    const accepted = [String(minimum), String(maximum), '007'];
    return types.includes('null')
      ? { accepted: [...accepted, '', 'null'], rejected: [{ values, message }] }
      : { accepted, rejected: [{ values: [...values, '', 'null', '0'], message }] };
  }
  const tooLong = `must have at most ${maxLength} characters`;
  if (format || name === 'before' || name === 'after') {
    const { taken = [], refused = [] } = EDGES[String(format ?? 'date-time')] ?? {};
    const long = `2026-11-21T08:25:00.${'0'.repeat(Number(maxLength ?? 0))}Z`;
    const rejected: Rejected[] = [{ values: [...refused, '%00', 'a%00b', 'yesterday'] }];
    if (maxLength) rejected.push({ values: [long], message: tooLong });
    return { accepted: taken, rejected };
  }
  const empty = { values: [''], message: 'must have at least 1 character' };
  if (name === 'ids') {
    const values = ['null', `${EXAMPLE_ID},`, `${EXAMPLE_ID};${EXAMPLE_ID}`, 'nothing-has-this'];
    const accepted = [EXAMPLE_ID, `${EXAMPLE_ID},%20${EXAMPLE_ID}`];
    return { accepted, rejected: [empty, { values, message: 'must be ids, separated by commas' }] };
  }
  const textOf = (count: number) => encodeURIComponent(ASTRAL.repeat(count));
  const rejected = [
    empty,
    { values: [textOf(Number(maxLength) + 1)], message: tooLong },
    { values: ['%00', 'a%00b'], message: 'must not contain U+0000 or a lone surrogate' },
  ];
  const marks = [`a${encodeURIComponent('\u0301'.repeat(31))}`];
  if (Number(maxLength) > 31)
    rejected.push({ values: marks, message: 'must not contain more than 30 combining marks in a row' });
  const texts = ['nothing-has-this', UNKNOWN, "'", '{}', '%25'];
  return { accepted: [textOf(Number(minLength)), textOf(Number(maxLength)), ...texts], rejected };
}

test.each(WITH_QUERY)(
  'each parameter of $name accepts what the document allows, rejects everything else, and can be sent only once',
  async ({ name: operation, operation: { parameters = [] } }) => {
    const sent = await requestOf(operation, has);
    const [path = '', needed = ''] = sent.path.split('?');
    const read = (...parts: string[]) => {
      const isSent = parts.some((part) => needed.startsWith(part.replace(/=.*/, '=')));
      const others = [...(isSent ? [] : [needed]), ...parts].filter(Boolean);
      // A contactType is accepted only beside a contact.
      if (parts.some((one) => one.startsWith('contactType')) && !parts.some((one) => /^contact=/.test(one)))
        others.push('contact=x');
      return send(populated, { ...sent, path: `${path}?${others.join('&')}` });
    };
    const found = parameters
      .filter(inQuery)
      .map(({ name, schema }) => ({ name, schema, ...valuesOf(name, schema) }));
    for (const { name, schema, accepted } of found) {
      const isOpenText = !schema.enum && [schema.type].flat()[0] === 'string' && !schema.format;
      for (const value of accepted) {
        const { status, body } = await read(`${name}=${value}`);
        // A public link of no quote.
        expect(status, `${name}=${value}`).toBe(operation === 'GET /dashboard/v1/quotes' ? 404 : 200);
        if (isOpenText && 'pagination' in body) expect(body, `${name}=${value}`).toEqual(EMPTY);
      }
    }
    const rejections = found.map(({ name, rejected }) =>
      rejected.flatMap(({ values, message = expect.any(String) }) =>
        values.map((value) => ({ part: `${name}=${value}`, path: `query.${name}`, message })),
      ),
    );
    for (const together of rowsOf(rejections)) {
      const parts = together.map(({ part }) => part);
      const { status, body } = await read(...parts);
      expect(status, parts.join('&')).toBe(400);
      const expected = Object.fromEntries(together.map(({ path, message }) => [path, message]));
      const details = body.error.details as { path: string; message: string }[];
      expect(Object.fromEntries(details.map(({ path, message }) => [path, message]))).toEqual(expected);
    }
    const names = found.map(({ name }) => name);
    const repeated = names.map((name) => `${name}=1&x=1&${name}=1&${name}=3`);
    const { body } = await read(...repeated);
    const message = 'must not be repeated';
    expect(body.error.details).toEqual(
      expect.arrayContaining(names.map((name) => ({ path: `query.${name}`, message }))),
    );
  },
);

test('a filter accepts the longest value that its field can have', () => {
  const compared = WITH_QUERY.flatMap(({ name, path, operation }) =>
    (operation.parameters ?? []).filter(inQuery).flatMap((filter) =>
      DOCUMENTED.filter((other) => other.path.includes(`/${path.split('/').at(-1)}`)).flatMap((other) => {
        const field = SCHEMAS[bodyOf(other.operation) ?? '']?.properties?.[filter.name];
        const isLonger = Number(field?.maxLength) > Number(filter.schema.maxLength);
        return field?.maxLength ? [`${name} ${filter.name} ${isLonger ? 'is too short' : 'is enough'}`] : [];
      }),
    ),
  );
  expect(compared).toContain('GET /v1/opportunities salesStage is enough');
  expect(compared.filter((each) => each.endsWith('short'))).toEqual([]);
});

test('at most twenty errors are reported at once', async () => {
  const variants = Array.from({ length: 50 }, () => ({ status: 'x', currency: '' }));
  const { body } = await agency.post('/v1/catalog/products', { variants });
  expect([body.error.details.length, body.error.message.split('; ').length]).toEqual([20, 20]);
});

describe('unknown names are ignored and reported', () => {
  const strictly = { headers: { prefer: 'handling=strict' } };

  test('in the query and in nested fields, also when the request is rejected, and names such as __proto__', async () => {
    const variants = [{ label: 'Base', durationHours: 2 }];
    const sent = { title: 'Oaxaca', destinations: ['Oaxaca'], variants };
    const { status, headers, body } = await agency.post('/v1/catalog/products?organizationId=x', sent);
    expect([status, body.destinations, body.variants[0].durationHours]).toEqual([201, [], null]);
    const inBody = ['body.destinations', 'body.variants[0].durationHours'];
    expect(headers['x-ignored-parameters']).toBe(['organizationId', ...inBody].join(', '));
    const rejected = await agency.get('/v1/customers?limit=0&quer=ana');
    expect([rejected.status, rejected.headers['x-ignored-parameters']]).toEqual([400, 'quer']);
    const odd = await agency.request('POST', '/v1/customers?__proto__=1&constructor=2', {
      headers: { 'content-type': 'application/json' },
      body: `{"__proto__":{"firstName":"x"},"toString":1,"contacts":[${JSON.stringify(contact())}]}`,
    });
    expect(odd.status).toBe(201);
    expect(odd.headers['x-ignored-parameters']).toBe('__proto__, constructor, body.__proto__, body.toString');
  });

  test('at most twenty, each shortened to what a header can hold', async () => {
    const long = Array.from({ length: 30 }, (_, index) => [`${'漢'.repeat(200)}${index}`, 1]);
    const body = { contacts: [contact()], ...Object.fromEntries(long) };
    const { status, headers } = await agency.post('/v1/customers', body);
    const named = headers['x-ignored-parameters']?.split(', ') ?? [];
    expect([status, named.length]).toEqual([201, 20]);
    for (const name of named) expect(name).toMatch(/^body\.[%\dA-F]{95}$/);
  });

  test('Prefer is a list in which handling=strict counts, and nothing like it', async () => {
    const statusOf = async (prefer: string) =>
      (await agency.get('/v1/customers?limits=5', { headers: { prefer } })).status;
    for (const prefer of ['respond-async, handling=strict', 'HANDLING="strict"; x=1', 'handling = strict'])
      expect(await statusOf(prefer), prefer).toBe(400);
    for (const prefer of ['handling=lenient', 'handling=strictly', 'nothandling=strict', ''])
      expect(await statusOf(prefer), prefer).toBe(200);
  });

  test('a create with strict handling rejects every name that it would ignore, and says who sets the field or which name is similar', async () => {
    const own = await service.agency();
    const variants = [{ label: 'Base', currencies: 'USD', durationHours: 2 }];
    const sent = { titel: 'x', title: '', zzz: 1, destinations: ['Oaxaca'], updatedAt: 'x', variants };
    const { body } = await own.post('/v1/catalog/products?limit=5', sent, strictly);
    expect(body).toEqual(
      invalid(
        ['body.title', 'must have at least 1 character'],
        ['query.limit', 'is unknown'],
        ['body.titel', 'is unknown (did you mean title?)'],
        ['body.zzz', `is unknown ${known('CatalogProductCreate')}`],
        ['body.destinations', 'is read-only: only responses have it'],
        ['body.updatedAt', 'is read-only: only responses have it'],
        ['body.variants[0].currencies', 'is unknown (did you mean currency?)'],
        ['body.variants[0].durationHours', 'is read-only: only responses have it'],
      ),
    );
    const long = await own.post('/v1/customers', { ['x'.repeat(200_000)]: 1 }, strictly);
    expect([long.status, long.text.length < 1_000]).toEqual([400, true]);
    for (const path of ['/v1/catalog/products', '/v1/customers'])
      expect((await own.get(path)).body.data).toEqual([]);
  });

  test('strict handling accepts a record as it was read, and reports the fields without effect; it rejects an unknown name behind any number of them', async () => {
    const { body: read } = await agency.post('/v1/customers', { contacts: [contact()], firstName: 'Ana' });
    const path = `/v1/customers/${read.id}`;
    const { status, headers, body } = await agency.patch(path, read, strictly);
    expect([status, body]).toEqual([200, read]);
    const ofContact = ['displayName', 'id', 'phoneNumber'].map((name) => `contacts[0].${name}`);
    expect(headers['x-ignored-parameters']?.split(', ').sort()).toEqual(
      [...ofContact, 'createdAt', 'displayName', 'id', 'updatedAt'].map((name) => `body.${name}`),
    );
    const contacts = Array.from({ length: 7 }, () => ({ ...read.contacts[0], ...contact() }));
    const unknown = await agency.patch(path, { ...read, contacts, citty: 'x' }, strictly);
    expect(unknown.body).toEqual(invalid(['body.citty', 'is unknown (did you mean city?)']));
  });

  test('variants in a PATCH have no effect, with strict handling too, and are named', async () => {
    const variants = [{ label: 'A' }];
    const { body: read } = await agency.post('/v1/catalog/products', { title: 'Oaxaca', variants });
    const path = `/v1/catalog/products/${read.id}`;
    const { status, headers, body } = await agency.patch(path, { variants: [{ label: 'B' }] }, strictly);
    expect([status, body, headers['x-ignored-parameters']]).toEqual([200, read, 'body.variants']);
  });
});

test('a PATCH may be sent as application/merge-patch+json', async () => {
  const { body: made } = await agency.post('/v1/customers', { contacts: [contact()], city: 'Lima' });
  for (const type of ['application/merge-patch+json', 'Application/Merge-Patch+JSON; charset=utf-8']) {
    const change = { city: null, country: type };
    const headers = { 'content-type': type };
    const { status, body } = await agency.patch(`/v1/customers/${made.id}`, change, { headers });
    expect([status, body]).toMatchObject([200, change]);
  }
});

test('an error of a limit says the limit, and what it counts', async () => {
  const many = { tags: Array(101).fill('a'), contacts: [] };
  const tooMany = ['body.tags', 'must have at most 100 entries'] as const;
  const none = ['body.contacts', 'must have at least 1 entry'] as const;
  expect((await agency.post('/v1/customers', many)).body).toEqual(invalid(none, tooMany));
  const { body } = await agency.post('/v1/catalog/products', { title: 'x', durationDays: 2 ** 31 });
  expect(body).toEqual(invalid(['body.durationDays', 'must be at most 2147483647']));
});
