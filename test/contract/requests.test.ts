import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { DOCUMENTED, SCHEMAS, type Schema } from '../support/contract.ts';
import { useDashboard } from '../support/dashboard.ts';
import { EDGES } from '../support/edges.ts';
import { invalid } from '../support/faults.ts';
import { type Has, populate, requestOf, send, type World } from '../support/operations.ts';
import type { Agency } from '../support/service.ts';
import { listen } from '../support/socket.ts';

/** docs/decisions/contract.md, "Requests", rule by rule, over every parameter that the documents have. */

const { service, dashboard } = useDashboard();

let agency: Agency;
let world: World;
/** Of an organization that has something in every list, and that no test changes. */
let furnished: World;
let has: Has;
beforeAll(async () => {
  agency = await service.agency();
  world = { service, dashboard, agency };
  furnished = { ...world, agency: await service.agency() };
  has = await populate(furnished);
});

const UNKNOWN = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';

/** Two UTF-16 units, one code point. Nothing has it. */
const ASTRAL = '🌋';

const fault = (path: string, message: string) => [path, message] as const;

/** A contact that nobody has. */
const contact = () => ({ identifierType: 'web', identifierValue: randomUUID() });

const known = (schema: string): string =>
  `(known names: ${Object.keys(SCHEMAS[schema]?.properties ?? {}).join(', ')})`;

/** Every parameter of every query, with the values that it refuses and the words for them. */
const PARAMETERS = DOCUMENTED.flatMap(({ name, operation }) =>
  (operation.parameters ?? [])
    .filter((parameter) => parameter.in === 'query')
    .map((parameter) => ({ operation: name, ...parameter })),
);

const NO_NUMBERS = '1e1 +1 -1 1.5 %205 5%20 0x10 1_0 abc %00 ٣ Infinity NaN NULL'.split(' ');

/** Values that a parameter takes, and values that it refuses. */
function valuesOf(
  parameter: string,
  { type, format, minimum, maximum, minLength = 0, maxLength, ...schema }: Schema,
) {
  const values = schema.enum as string[] | undefined;
  const encoded = (count: number) => encodeURIComponent(ASTRAL.repeat(count));
  if (values) {
    const others = ['', 'ACTIVE', 'other', 'null', '%00', String(values[0]).toUpperCase()];
    return { taken: values, refused: others, says: `must be one of ${values.join(', ')}` };
  }
  if ([type].flat()[0] === 'integer') {
    const isNullable = [type].flat().includes('null');
    return {
      taken: [String(minimum), String(maximum), '007', ...(isNullable ? ['', 'null'] : [])],
      refused: [...NO_NUMBERS, Number(maximum) + 1, '9'.repeat(20), ...(isNullable ? [] : ['', 'null', '0'])],
      says: `must be an integer from ${minimum} to ${maximum}, in decimal digits`,
    };
  }
  if (format || parameter === 'before') {
    const { taken = [], refused = [] } = EDGES[String(format ?? 'date-time')] ?? {};
    const long = `2026-11-21T08:25:00.${'0'.repeat(Number(maxLength))}Z`;
    return {
      taken,
      refused: [
        ...[...refused, '%00', 'a%00b', 'yesterday'],
        ...(maxLength ? [[long, `must have at most ${maxLength} characters`] as const] : []),
      ],
    };
  }
  return {
    taken: [
      encoded(Number(minLength)),
      encoded(Number(maxLength)),
      ...['nothing-has-this', UNKNOWN, "'", '{}', '%25'],
    ],
    refused: [
      ['', 'must have at least 1 character'],
      [encoded(Number(maxLength) + 1), `must have at most ${maxLength} characters`],
      ...['%00', 'a%00b'].map((text) => [text, 'must not contain U+0000 or a lone surrogate'] as const),
      ...(Number(maxLength) > 31
        ? [
            [
              `a${encodeURIComponent('\u0301'.repeat(31))}`,
              'must not contain more than 30 combining marks in a row',
            ] as const,
          ]
        : []),
    ] as const,
  };
}

describe('every parameter accepts what its document allows, rejects everything else, and can be sent only once', () => {
  test.each(PARAMETERS)('$name of $operation', async ({ operation, name, schema }) => {
    const sent = await requestOf(operation, has);
    const [path = '', needed] = sent.path.split('?');
    const ask = (query: string) => {
      const others = needed && !needed.startsWith(`${name}=`) ? [needed] : [];
      return send(furnished, { ...sent, path: `${path}?${[...others, query].join('&')}` });
    };
    const { taken, refused, says } = valuesOf(name, schema);
    // A type of contact is asked for beside a contact.
    const beside = name === 'contactType' ? '&contact=x' : '';
    for (const value of taken) {
      const { status, body } = await ask(`${name}=${value}${beside}`);
      expect(status, `${name}=${value}`).toBe(200);
      // An open list that has no such value is empty, and no fault.
      if (!schema.enum && [schema.type].flat()[0] === 'string' && !schema.format && 'pagination' in body)
        expect(body, `${name}=${value}`).toEqual({
          data: [],
          pagination: { limit: 25, offset: 0, total: 0 },
        });
    }
    for (const each of refused) {
      const [value, message] = Array.isArray(each) ? each : [each, says];
      const { status, body } = await ask(`${name}=${value}${beside}`);
      expect(status, `${name}=${value}`).toBe(400);
      if (message) expect(body, `${name}=${value}`).toEqual(invalid([`query.${name}`, message]));
      const paths = body.error.details.map((detail: { path: string }) => detail.path);
      expect([...new Set(paths)]).toEqual([`query.${name}`]);
    }
    for (const query of [`${name}=1&${name}=1`, `${name}=1&x=1&${name}=2&${name}=3`])
      expect((await ask(query)).body).toEqual(invalid([`query.${name}`, 'must not be repeated']));
  });

  test.each(PARAMETERS.filter(({ schema }) => 'default' in schema))(
    'without $name, $operation returns what it returns with the default',
    async ({ operation, name, schema }) => {
      const sent = await requestOf(operation, has);
      const without = await send(furnished, sent);
      const joint = sent.path.includes('?') ? '&' : '?';
      expect(without.body).toEqual(
        (await send(furnished, { ...sent, path: `${sent.path}${joint}${name}=${schema.default}` })).body,
      );
      if (without.body.pagination) expect(without.body.pagination[name]).toBe(schema.default);
    },
  );
});

describe('all validation errors are reported at once', () => {
  test('those of the query and of filters', async () => {
    const { body } = await agency.get('/v1/customers?limit=0&offset=-1&query=&tag=');
    const paths = body.error.details.map(({ path }: { path: string }) => path).sort();
    expect(paths).toEqual(['query.limit', 'query.offset', 'query.query', 'query.tag']);
  });

  test('those of contacts and those of other fields of a body', async () => {
    const { status, body } = await agency.post('/v1/customers', {
      firstName: 5,
      summary: '\u0000',
      preferredLanguage: 'fr',
      tags: 'x',
      contacts: [
        { identifierType: 'fax', identifierValue: '' },
        { identifierType: 'whatsapp', identifierValue: 'not a number' },
        { identifierType: 'email', identifierValue: 'ana' },
        { identifierType: 'telefono', identifierValue: '@' },
        { identifierType: 'instagram', identifierValue: '@' },
      ],
    });
    expect(status).toBe(400);
    const details: { path: string; message: string }[] = body.error.details;
    const E164 = 'must be a telephone number in E.164, such as +5215512345678';
    expect(Object.fromEntries(details.map(({ path, message }) => [path, message]))).toEqual({
      'body.firstName': 'must be a string',
      'body.summary': 'must not contain U+0000 or a lone surrogate',
      'body.preferredLanguage': 'must be one of es, pt, en',
      'body.tags': 'must be an array',
      'body.contacts[0].identifierType':
        'must be one of whatsapp, instagram, messenger, email, telefono, web',
      'body.contacts[0].identifierValue': 'must have at least 1 character',
      'body.contacts[1].identifierValue': `${E164}, a business-scoped user id, or a linked id that ends in @lid`,
      'body.contacts[2].identifierValue':
        'must be an address with one @ between two parts, without spaces, mailto: or <>',
      'body.contacts[3].identifierValue': E164,
      'body.contacts[4].identifierValue': 'must be a handle',
    });
    expect(details).toHaveLength(10);
    for (const { path, message } of details) expect(body.error.message).toContain(`${path} ${message}`);
  });

  test('at most twenty', async () => {
    const { body } = await agency.post('/v1/catalog/products', {
      variants: Array.from({ length: 50 }, () => ({ status: 'x', currency: '' })),
    });
    expect(body.error.details).toHaveLength(20);
    expect(body.error.message.split('; ')).toHaveLength(20);
  });
});

describe('unknown names are ignored and reported', () => {
  const strictly = { headers: { prefer: 'handling=strict' } };

  test("wherever they are, also when the request is rejected; names of JavaScript's own objects too", async () => {
    const variants = [{ label: 'Base', durationHours: 2 }];
    const sent = { title: 'Oaxaca', destinations: ['Oaxaca'], variants };
    const { status, headers, body } = await agency.post('/v1/catalog/products?organizationId=x', sent);
    expect([status, body.destinations, body.variants[0].durationHours]).toEqual([201, [], null]);
    const inBody = ['body.destinations', 'body.variants[0].durationHours'];
    expect(headers['x-ignored-parameters']).toBe(['organizationId', ...inBody].join(', '));
    const refused = await agency.get('/v1/customers?limit=0&quer=ana');
    expect([refused.status, refused.headers['x-ignored-parameters']]).toEqual([400, 'quer']);
    const ofObjects = await agency.request('POST', '/v1/customers?__proto__=1&constructor=2', {
      headers: { 'content-type': 'application/json' },
      body: `{"__proto__":{"firstName":"x"},"toString":1,"contacts":[${JSON.stringify(contact())}]}`,
    });
    expect(ofObjects.status).toBe(201);
    expect(ofObjects.headers['x-ignored-parameters']).toBe(
      '__proto__, constructor, body.__proto__, body.toString',
    );
  });

  test('at most twenty, each shortened to what a header can hold, so that every client can read the response', async () => {
    const { origin } = await listen(service);
    const long = Array.from({ length: 30 }, (_, index) => [`${'漢'.repeat(200)}${index}`, 1]);
    const response = await fetch(`${origin}/v1/customers`, {
      method: 'POST',
      headers: { 'x-api-key': agency.key, 'content-type': 'application/json' },
      body: JSON.stringify({ contacts: [contact()], ...Object.fromEntries(long) }),
    });
    expect(response.status).toBe(201);
    const named = response.headers.get('x-ignored-parameters')?.split(', ') ?? [];
    expect(named).toHaveLength(20);
    for (const name of named) {
      expect(name.length).toBeLessThanOrEqual(100);
      expect(decodeURIComponent(name)).toMatch(/^body\.漢+$/);
    }
  });

  test.each([
    ['handling=strict', 400],
    ['respond-async, handling=strict', 400],
    ['HANDLING="strict"; x=1', 400],
    ['handling = strict', 400],
    ['handling=lenient', 200],
    ['handling=strictly', 200],
    ['nothandling=strict', 200],
    ['', 200],
  ])('Prefer: %s answers %i', async (prefer, expected) => {
    const { status, headers } = await agency.get('/v1/customers?limits=5', { headers: { prefer } });
    const applied = expected === 400 ? 'handling=strict' : undefined;
    expect([status, headers['preference-applied']]).toEqual([expected, applied]);
  });

  test('a create with strict handling rejects every name that it would ignore, and says who sets the field or which name is similar', async () => {
    const own = await service.agency();
    const variants = [{ label: 'Base', currencies: 'USD', durationHours: 2, position: 0 }];
    const sent = { titel: 'x', title: '', zzz: 1, destinations: ['Oaxaca'], updatedAt: 'x', variants };
    const { body } = await own.post('/v1/catalog/products?limit=5', sent, strictly);
    expect(body).toEqual(
      invalid(
        fault('body.title', 'must have at least 1 character'),
        fault('query.limit', 'is unknown'),
        fault('body.titel', 'is unknown (did you mean title?)'),
        fault('body.zzz', `is unknown ${known('CatalogProductCreate')}`),
        fault('body.destinations', 'is set in the dashboard'),
        fault('body.updatedAt', 'is read-only: only responses have it'),
        fault('body.variants[0].currencies', 'is unknown (did you mean currency?)'),
        fault('body.variants[0].durationHours', 'is set in the dashboard'),
        fault('body.variants[0].position', 'is read-only: only responses have it'),
      ),
    );
    const named = { ...contact(), id: 'x', phoneNumber: 'x', displayName: 'Ana' };
    const person = await own.post('/v1/customers', { displayName: 'Ana', contacts: [named] }, strictly);
    expect(person.body).toEqual(
      invalid(
        fault('body.displayName', 'is read-only: only responses have it'),
        fault('body.contacts[0].id', 'is read-only: only responses have it'),
        fault('body.contacts[0].phoneNumber', 'is read-only: only responses have it'),
        fault('body.contacts[0].displayName', 'is set in the dashboard'),
      ),
    );
    const long = await own.post('/v1/customers', { ['x'.repeat(500_000)]: 1 }, strictly);
    expect([long.status, long.text.length < 1_000]).toEqual([400, true]);
    for (const path of ['/v1/catalog/products', '/v1/customers'])
      expect((await own.get(path)).body.data).toEqual([]);
  });

  test('strict handling accepts a record as it was read, and reports the fields without effect', async () => {
    const own = await service.agency();
    const { body: read } = await own.post('/v1/customers', { contacts: [contact()], firstName: 'Ana' });
    const added = { ...read, contacts: [...read.contacts, contact()] };
    const { status, headers, body } = await own.patch(`/v1/customers/${read.id}`, added, strictly);
    expect([status, headers['preference-applied']]).toEqual([200, 'handling=strict']);
    expect(body.contacts).toHaveLength(2);
    expect(body.contacts[0]).toEqual(read.contacts[0]);
    const ofContact = ['displayName', 'id', 'phoneNumber'].map((name) => `contacts[0].${name}`);
    expect(headers['x-ignored-parameters']?.split(', ').sort()).toEqual(
      [...ofContact, 'createdAt', 'displayName', 'id', 'updatedAt'].map((name) => `body.${name}`),
    );
  });

  test('variants in a PATCH have no effect; strict handling rejects variants that differ from the stored ones', async () => {
    const own = await service.agency();
    const { body: read } = await own.post('/v1/catalog/products', {
      title: 'Oaxaca',
      variants: [{ label: 'A' }, { label: 'B', fromPrice: 10.5 }],
    });
    const path = `/v1/catalog/products/${read.id}`;
    const lenient = await own.patch(path, { variants: [{ label: 'B' }] });
    expect([lenient.status, lenient.body]).toEqual([200, read]);
    expect(lenient.headers['x-ignored-parameters']).toBe('body.variants');
    const { status, body: back } = await own.patch(path, { ...read, title: 'Puebla' }, strictly);
    expect([status, back]).toEqual([200, { ...read, title: 'Puebla', updatedAt: back.updatedAt }]);
    const [first, second] = read.variants;
    const refused = invalid(
      fault('body.variants', 'cannot be changed here: change variants in the dashboard'),
    );
    for (const variants of [[first, { ...second, fromPrice: 11 }], [first], [second, first], [], null, 'x'])
      expect((await own.patch(path, { ...read, variants }, strictly)).body).toEqual(refused);
    const unknown = await own.patch(`/v1/catalog/products/${UNKNOWN}`, { variants: [] }, strictly);
    expect(unknown.status).toBe(404);
    expect((await own.get(path)).body).toEqual(back);
  });

  test('the error for ?stage= says that the filter takes an id', async () => {
    const said = 'did you mean stageId? It takes the id of a pipeline column, not its key';
    const { status, body } = await agency.get('/v1/opportunities?stage=negotiation', strictly);
    expect([status, body]).toEqual([400, invalid(fault('query.stage', `is unknown (${said})`))]);
  });
});

test('a PATCH may be sent as application/merge-patch+json', async () => {
  const { body: made } = await agency.post('/v1/customers', { contacts: [contact()], city: 'Lima' });
  for (const type of ['application/merge-patch+json', 'Application/Merge-Patch+JSON; charset=utf-8']) {
    const change = { city: null, country: type };
    const { status, body } = await agency.patch(`/v1/customers/${made.id}`, change, {
      headers: { 'content-type': type },
    });
    expect([status, body]).toMatchObject([200, change]);
  }
});
