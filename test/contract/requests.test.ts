import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { operationsOf, readDocument, type Schema } from '../support/contract.ts';
import { EDGES } from '../support/edges.ts';
import { type Agency, useService } from '../support/service.ts';
import { listen } from '../support/socket.ts';

/** docs/decisions/contract.md, "Requests", rule by rule, over every field and parameter that the document has. */

const service = useService();

let agency: Agency;
beforeAll(async () => {
  agency = await service.agency();
});

const UNKNOWN = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';
const TRANSCRIPT = `/v1/conversations/${UNKNOWN}/messages`;

/** Two UTF-16 units, one code point. */
const ASTRAL = '𝒳';

const fault = (path: string, message: string) => ({ path, message });
const invalid = (...faults: { path: string; message: string }[]) => ({
  error: {
    code: 'VALIDATION_FAILED',
    // A hint for newcomers may follow the faults: test/newcomers.test.ts.
    message: expect.stringMatching(
      new RegExp(
        `^The request is not valid: ${faults.map(({ path, message }) => RegExp.escape(`${path} ${message}`)).join('; ')}\\.( |$)`,
      ),
    ),
    details: faults,
  },
});

/** A contact that nobody has. */
const contact = () => ({ identifierType: 'web', identifierValue: randomUUID() });

/** The bodies that a field can stand in, each with what it needs beside the field. */
const PLACES = {
  'product create': {
    path: 'body',
    send: (fields: object) => agency.post('/v1/catalog/products', { title: 'Oaxaca', ...fields }),
  },
  'product update': {
    path: 'body',
    send: async (fields: object) => {
      const { body } = await agency.post('/v1/catalog/products', { title: 'Oaxaca' });
      return agency.patch(`/v1/catalog/products/${body.id}`, fields);
    },
  },
  variant: {
    path: 'body.variants[0]',
    send: (fields: object) =>
      agency.post('/v1/catalog/products', { title: 'Oaxaca', variants: [{ label: 'Base', ...fields }] }),
  },
  'customer create': {
    path: 'body',
    send: (fields: object) => agency.post('/v1/customers', { contacts: [contact()], ...fields }),
  },
  'customer update': {
    path: 'body',
    send: async (fields: object) => {
      const { body } = await agency.post('/v1/customers', { contacts: [contact()] });
      return agency.patch(`/v1/customers/${body.id}`, fields);
    },
  },
  contact: {
    path: 'body.contacts[0]',
    send: (fields: object) => agency.post('/v1/customers', { contacts: [{ ...contact(), ...fields }] }),
  },
} as const;
type Place = keyof typeof PLACES;

const PRODUCT_PLACES: Place[] = ['product create', 'product update'];
const PRICED_PLACES: Place[] = [...PRODUCT_PLACES, 'variant'];
const CUSTOMER_PLACES: Place[] = ['customer create', 'customer update'];

const inEach = <Rest extends unknown[]>(places: Place[], rows: Rest[]): [Place, ...Rest][] =>
  places.flatMap((place) => rows.map((row): [Place, ...Rest] => [place, ...row]));

/** Text fields: the fewest and the most characters. */
const TEXTS: [place: Place, field: string, min: number, max: number][] = [
  ...inEach(PRODUCT_PLACES, [
    ['title', 1, 500],
    ['description', 0, 50_000],
    ['shortDescription', 0, 2_000],
    ['specialConditions', 0, 50_000],
    ['operator', 0, 255],
    ['priceBasis', 0, 255],
    ['externalReferenceCode', 0, 255],
    ['currency', 3, 3],
    ['validFrom', 0, 64],
    ['validUntil', 0, 64],
  ] as [string, number, number][]),
  ...inEach(['variant'], [
    ['label', 1, 500],
    ['description', 0, 50_000],
    ['shortDescription', 0, 2_000],
    ['currency', 3, 3],
  ] as [string, number, number][]),
  ...inEach(CUSTOMER_PLACES, [
    ['firstName', 0, 255],
    ['lastName', 0, 255],
    ['city', 0, 255],
    ['country', 0, 255],
    ['summary', 0, 50_000],
  ] as [string, number, number][]),
  ['contact', 'identifierValue', 1, 320],
];

/** Lists of text: the most entries, and the most characters of one. */
const TEXT_LISTS: [place: Place, field: string, entries: number, characters: number][] = [
  ...inEach(PRICED_PLACES, [
    ['includes', 200, 1_000],
    ['excludes', 200, 1_000],
  ] as [string, number, number][]),
  ...inEach(CUSTOMER_PLACES, [['tags', 100, 100]] as [string, number, number][]),
];

const document = readDocument('openapi/openapi.json');
const operations = operationsOf(document);
const propertiesOf = (schema: string): Record<string, Schema> =>
  document.components.schemas[schema]?.properties ?? {};
const BODIES: Record<Place, string> = {
  'product create': 'CatalogProductCreate',
  'product update': 'CatalogProductUpdate',
  variant: 'CatalogProductVariantCreate',
  'customer create': 'CustomerCreate',
  'customer update': 'CustomerUpdate',
  contact: 'CustomerContactCreate',
};

/** The fields that are days or moments. They need no table here. */
const DATES: [place: Place, field: string, format: string][] = (Object.keys(BODIES) as Place[]).flatMap(
  (place) =>
    Object.entries(propertiesOf(BODIES[place]))
      .filter(([, { format }]) => String(format) in EDGES)
      .map(([field, { format }]): [Place, string, string] => [place, field, String(format)]),
);

/** The lists with pages. */
const LISTS = operations
  .filter(({ operation }) => operation.parameters?.some(({ name }) => name === 'offset'))
  .map(({ path }) => path);

/** Parameters that take a moment, or the id of a message. */
const isMoment = (name: string): boolean => ['createdSince', 'updatedSince', 'before'].includes(name);

const texts = operations.flatMap(({ path, operation }) =>
  (operation.parameters ?? [])
    .filter(({ in: place, schema }) => place === 'query' && schema.type === 'string' && !schema.enum)
    .map(({ name }) => ({ path, name })),
);

const MOST: Readonly<Record<string, number>> = { externalReferenceCode: 255, contact: 320, ids: 3_700 };

/** Text parameters of the lists, and the most characters of one. */
const FILTERS = texts
  .filter(({ name }) => !isMoment(name))
  .map(({ path, name }): [path: string, parameter: string, characters: number] => [
    path,
    name,
    MOST[name] ?? 200,
  ]);
const MOMENTS = texts
  .filter(({ name }) => isMoment(name))
  .map(({ path, name }): [path: string, parameter: string] => [path, name]);

const CLOSED: [path: string, parameter: string, allowed: string][] = [
  ['/v1/catalog/products', 'status', 'active, paused, draft'],
  ['/v1/catalog/products', 'type', 'package, experience, expedition, custom'],
  ['/v1/catalog/products', 'budgetTier', 'economic, mid, premium'],
  ['/v1/customers', 'contactType', 'whatsapp, instagram, messenger, email, telefono, web'],
  ['/v1/opportunities', 'temperature', 'hot, warm, cold, unknown, discarded'],
  ['/v1/quotes', 'status', 'draft, published, disabled'],
];

const CLOSED_FIELDS: [place: Place, field: string, allowed: string][] = [
  ...inEach(PRODUCT_PLACES, [
    ['type', 'package, experience, expedition, custom'],
    ['status', 'active, paused, draft'],
    ['pricingMode', 'per_person, per_group, total'],
    ['budgetTier', 'economic, mid, premium'],
  ] as [string, string][]),
  ['variant', 'status', 'active, paused, draft'],
  ...inEach(CUSTOMER_PLACES, [['preferredLanguage', 'es, pt, en']] as [string, string][]),
  ['contact', 'identifierType', 'whatsapp, instagram, messenger, email, telefono, web'],
];

const INTEGERS: [place: Place, field: string][] = [
  ...inEach(PRICED_PLACES, [['capacityMin'], ['capacityMax'], ['durationDays']] as [string][]),
];
const PRICES: [place: Place, field: string][] = inEach(PRICED_PLACES, [['fromPrice'], ['priceMax']] as [
  string,
][]);
const NUMBERS: [place: Place, field: string][] = [
  ...PRICES,
  ...inEach(PRODUCT_PLACES, [['durationHours']] as [string][]),
];

const characters = (count: number): string => `${count} character${count === 1 ? '' : 's'}`;
const lengthFault = (rule: 'least' | 'most', min: number, max: number): string =>
  min === max
    ? `must have exactly ${characters(min)}`
    : `must have at ${rule} ${characters(rule === 'least' ? min : max)}`;

describe('the tables of this file', () => {
  test('have every parameter and every field of a body that the document has', () => {
    const inDocument = operationsOf(document).flatMap(({ path, operation }) =>
      (operation.parameters ?? [])
        .filter((parameter) => parameter.in === 'query' && !['limit', 'offset'].includes(parameter.name))
        .map(({ name }) => `${path} ${name}`),
    );
    expect(
      [...FILTERS, ...MOMENTS, ...CLOSED].map(([path, name]) => `${path} ${name}`).sort(),
      'Write each parameter whose values are a closed list into CLOSED of this file',
    ).toEqual(inDocument.sort());
    for (const [place, schema] of Object.entries(BODIES)) {
      const fields = [...TEXTS, ...TEXT_LISTS, ...CLOSED_FIELDS, ...INTEGERS, ...NUMBERS, ...DATES]
        .filter(([of]) => of === place)
        .map(([, field]) => field);
      const lists = ['variants', 'contacts'].filter((list) => list in propertiesOf(schema));
      expect(
        [...fields, ...lists].sort(),
        `Write each field of ${schema} into TEXTS, TEXT_LISTS, CLOSED_FIELDS, INTEGERS or PRICES of this file, for '${place}'`,
      ).toEqual(Object.keys(propertiesOf(schema)).sort());
    }
  });

  test('agree with the lengths that the document publishes', () => {
    for (const [place, field, min, max] of TEXTS) {
      expect(propertiesOf(BODIES[place])[field]).toMatchObject({
        maxLength: max,
        ...(min > 0 && { minLength: min }),
      });
    }
    for (const [place, field, maxItems, maxLength] of TEXT_LISTS) {
      expect(propertiesOf(BODIES[place])[field]).toMatchObject({ maxItems, items: { maxLength } });
    }
    expect(propertiesOf('CatalogProductCreate').variants).toMatchObject({ maxItems: 100 });
    expect(propertiesOf('CustomerCreate').contacts).toMatchObject({ minItems: 1, maxItems: 50 });
    expect(propertiesOf('CustomerUpdate').contacts).toMatchObject({ minItems: 1, maxItems: 50 });
    for (const [path, name, maxLength] of FILTERS) {
      const { parameters } = document.paths[path]?.get ?? {};
      expect(parameters?.find((parameter) => parameter.name === name)?.schema).toMatchObject({
        minLength: 1,
        maxLength,
      });
    }
  });
});

describe('lengths count code points', () => {
  test.each(TEXTS)(
    '%s: %s takes from %d to %d characters, not one more or less',
    async (place, field, min, max) => {
      const { send, path } = PLACES[place];
      for (const length of new Set([min, max])) {
        const { status, body } = await send({ [field]: ASTRAL.repeat(length) });
        expect(status).toBeLessThan(300);
        expect(JSON.stringify(body)).toContain(`"${ASTRAL.repeat(length)}"`);
      }
      const over = await send({ [field]: ASTRAL.repeat(max + 1) });
      expect(over.status).toBe(400);
      expect(over.body).toEqual(invalid(fault(`${path}.${field}`, lengthFault('most', min, max))));
      if (min === 0) return;
      const under = await send({ [field]: ASTRAL.repeat(min - 1) });
      expect(under.status).toBe(400);
      expect(under.body).toEqual(invalid(fault(`${path}.${field}`, lengthFault('least', min, max))));
    },
  );

  test.each(TEXT_LISTS)('%s: %s takes %d entries of %d characters', async (place, field, entries, length) => {
    const { send, path } = PLACES[place];
    // The text of a product has a limit of its own: there, plain letters in one list, which it just holds.
    const character = field === 'tags' ? ASTRAL : 'x';
    const full = Array(entries).fill(character.repeat(length));
    const { status, body } = await send({ [field]: full });
    expect(status).toBeLessThan(300);
    const read = (place === 'variant' ? body.variants[0] : body)[field];
    expect(JSON.stringify(read) === JSON.stringify(full)).toBe(true);
    expect((await send({ [field]: [...full, ''] })).body).toEqual(
      invalid(fault(`${path}.${field}`, `must have at most ${entries} entries`)),
    );
    expect((await send({ [field]: ['', ASTRAL.repeat(length + 1)] })).body).toEqual(
      invalid(fault(`${path}.${field}[1]`, `must have at most ${characters(length)}`)),
    );
  });

  test('a product takes 100 variants, not one more', async () => {
    const variants = Array.from({ length: 101 }, () => ({ label: 'x' }));
    expect((await PLACES['product create'].send({ variants: variants.slice(1) })).status).toBe(201);
    expect((await PLACES['product create'].send({ variants })).body).toEqual(
      invalid(fault('body.variants', 'must have at most 100 entries')),
    );
  });

  test.each(CUSTOMER_PLACES)('%s takes 1 to 50 contacts', async (place) => {
    const contacts = Array.from({ length: 51 }, contact);
    const { status, body } = await PLACES[place].send({ contacts: contacts.slice(1) });
    expect(status).toBeLessThan(300);
    expect(body.contacts).toHaveLength(50);
    expect((await PLACES[place].send({ contacts })).body).toEqual(
      invalid(fault('body.contacts', 'must have at most 50 entries')),
    );
    expect((await PLACES[place].send({ contacts: [] })).body).toEqual(
      invalid(fault('body.contacts', 'must have at least 1 entry')),
    );
  });

  test.each(FILTERS)('%s: %s takes from 1 to %d characters', async (path, parameter, characters) => {
    const own = await service.agency();
    const ask = (text: string) => own.get(`${path}?${parameter}=${encodeURIComponent(text)}`);
    expect((await ask(ASTRAL.repeat(characters))).body.data).toEqual([]);
    expect((await ask(ASTRAL.repeat(characters + 1))).body).toEqual(
      invalid(fault(`query.${parameter}`, `must have at most ${characters} characters`)),
    );
    expect((await ask('')).body).toEqual(
      invalid(fault(`query.${parameter}`, 'must have at least 1 character')),
    );
  });
});

describe('text that PostgreSQL cannot store is refused', () => {
  const UNSTORABLE = ['\u0000', 'a\u0000b', '\ud800', 'a\udc00', '\udc00\ud800'];
  const message = 'must not contain U+0000 or a lone surrogate';

  test.each(TEXTS)('%s: %s', async (place, field) => {
    const { send, path } = PLACES[place];
    for (const text of UNSTORABLE) {
      const { status, body } = await send({ [field]: text });
      expect(status).toBe(400);
      expect(body.error.details[0]).toEqual(fault(`${path}.${field}`, message));
    }
  });

  test.each(TEXT_LISTS)('%s: %s', async (place, field) => {
    const { send, path } = PLACES[place];
    const { body } = await send({ [field]: UNSTORABLE });
    expect(body).toEqual(
      invalid(...UNSTORABLE.map((_text, index) => fault(`${path}.${field}[${index}]`, message))),
    );
  });

  test.each(FILTERS)('%s: %s', async (path, parameter) => {
    for (const text of ['%00', 'a%00b']) {
      expect((await agency.get(`${path}?${parameter}=${text}`)).body).toEqual(
        invalid(fault(`query.${parameter}`, message)),
      );
    }
  });

  test.each(MOMENTS)('%s: %s takes a moment, and no other text', async (path, parameter) => {
    for (const text of ['', '%00', 'a%00b', 'yesterday', '2026-11-21', '2026-13-01T00:00:00Z']) {
      const { status, body } = await agency.get(`${path}?${parameter}=${text}`);
      expect(status, text).toBe(400);
      const paths = body.error.details.map((one: { path: string }) => one.path);
      expect([...new Set(paths)]).toEqual([`query.${parameter}`]);
    }
  });

  test.each(DATES)('%s: %s, a %s that no calendar has', async (place, field, format) => {
    const { send, path } = PLACES[place];
    for (const value of EDGES[format]?.refused ?? []) {
      const { status, body } = await send({ [field]: value });
      expect(status, value).toBe(400);
      expect(body.error.details[0].path, value).toBe(`${path}.${field}`);
    }
  });

  test('in a name it means nothing, as any unknown name', async () => {
    const { status, headers } = await PLACES['customer create'].send({ 'a\u0000': 1, '\ud800': 1 });
    expect(status).toBe(201);
    expect(headers['x-ignored-parameters']).toBe('body.a%00, body.%EF%BF%BD');
  });
});

describe('numbers in a body', () => {
  const OTHER_TYPES = ['5', true, [], {}, [5]];

  test.each(INTEGERS)('%s: %s is an integer from 1 to 2147483647', async (place, field) => {
    const { send, path } = PLACES[place];
    const at = `${path}.${field}`;
    const errorOf = async (value: unknown) => (await send({ [field]: value })).body;
    for (const value of [1, 2_147_483_647]) expect((await send({ [field]: value })).status).toBeLessThan(300);
    for (const value of [0, -1, -2_147_483_648])
      expect(await errorOf(value)).toEqual(invalid(fault(at, 'must be greater than 0')));
    for (const value of [1.5, ...OTHER_TYPES])
      expect(await errorOf(value)).toEqual(invalid(fault(at, 'must be an integer')));
    for (const value of [2_147_483_648, 1e21])
      expect(await errorOf(value)).toEqual(invalid(fault(at, 'must be at most 2147483647')));
  });

  test.each(PRICES)('%s: %s is a finite number from 0', async (place, field) => {
    const { send, path } = PLACES[place];
    const at = `${path}.${field}`;
    const errorOf = async (value: unknown) => (await send({ [field]: value })).body;
    expect((await send({ [field]: 0 })).status).toBeLessThan(300);
    for (const value of [-0.01, -1e308])
      expect(await errorOf(value)).toEqual(invalid(fault(at, 'must be at least 0')));
    for (const value of OTHER_TYPES)
      expect(await errorOf(value)).toEqual(invalid(fault(at, 'must be a finite number')));
  });

  test.each(PRODUCT_PLACES)('%s: durationHours is a finite number above 0', async (place) => {
    const { send } = PLACES[place];
    for (const value of [0, -1, -0.5]) {
      expect((await send({ durationHours: value })).body).toEqual(
        invalid(fault('body.durationHours', 'must be greater than 0')),
      );
    }
    expect((await send({ durationHours: '8' })).body).toEqual(
      invalid(fault('body.durationHours', 'must be a finite number')),
    );
  });

  test.each(['fromPrice', 'priceMax', 'durationHours', 'capacityMin'])(
    'a number beyond all measure is refused: %s',
    async (field) => {
      for (const number of ['1e400', '-1e400']) {
        const { status, body } = await agency.request('POST', '/v1/catalog/products', {
          headers: { 'content-type': 'application/json' },
          body: `{"title":"x","${field}":${number}}`,
        });
        expect(status).toBe(400);
        expect(body.error.details).toHaveLength(1);
        expect(body.error.details[0].path).toBe(`body.${field}`);
      }
    },
  );
});

describe('null where it is not allowed is refused', () => {
  test.each<[Place, string]>([
    ['product create', 'title'],
    ['product create', 'type'],
    ['product create', 'status'],
    ['product create', 'pricingMode'],
    ['product create', 'variants'],
    ['product update', 'title'],
    ['product update', 'type'],
    ['product update', 'status'],
    ['product update', 'pricingMode'],
    ['variant', 'label'],
    ['variant', 'status'],
    ['customer create', 'contacts'],
    ['customer create', 'tags'],
    ['customer update', 'contacts'],
    ['customer update', 'tags'],
    ['contact', 'identifierType'],
    ['contact', 'identifierValue'],
  ])('%s: %s', async (place, field) => {
    const { send, path } = PLACES[place];
    const { status, body } = await send({ [field]: null });
    expect(status).toBe(400);
    expect(body).toEqual(invalid(fault(`${path}.${field}`, 'must not be null')));
  });

  test('in a list', async () => {
    expect((await PLACES['product create'].send({ includes: [null], variants: [null] })).body).toEqual(
      invalid(fault('body.includes[0]', 'must not be null'), fault('body.variants[0]', 'must not be null')),
    );
    expect((await PLACES['customer create'].send({ contacts: [null], tags: [null] })).body).toEqual(
      invalid(fault('body.contacts[0]', 'must not be null'), fault('body.tags[0]', 'must not be null')),
    );
  });
});

describe('what is required is asked for', () => {
  test('in a product, its variants and a customer', async () => {
    const { body } = await agency.post('/v1/catalog/products', { variants: [{}] });
    expect(body).toEqual(
      invalid(fault('body.title', 'is required'), fault('body.variants[0].label', 'is required')),
    );
    expect((await agency.post('/v1/customers', {})).body).toEqual(
      invalid(fault('body.contacts', 'is required')),
    );
    expect((await agency.post('/v1/customers', { contacts: [{}] })).body).toEqual(
      invalid(
        fault('body.contacts[0].identifierType', 'is required'),
        fault('body.contacts[0].identifierValue', 'is required'),
      ),
    );
  });
});

describe('closed lists', () => {
  test.each(CLOSED)(
    '%s: %s answers another value with those allowed: %s',
    async (path, parameter, allowed) => {
      for (const value of ['', 'ACTIVE', 'other', 'null', '%00', allowed.split(',')[0]?.toUpperCase()]) {
        const { status, body } = await agency.get(`${path}?${parameter}=${value}`);
        expect(status).toBe(400);
        expect(body).toEqual(invalid(fault(`query.${parameter}`, `must be one of ${allowed}`)));
      }
      // A type of contact is asked for beside a contact.
      const beside = parameter === 'contactType' ? '&contact=x' : '';
      for (const value of allowed.split(', '))
        expect((await agency.get(`${path}?${parameter}=${value}${beside}`)).status).toBe(200);
    },
  );

  test.each(CLOSED_FIELDS)(
    '%s: %s answers another value with those allowed: %s',
    async (place, field, allowed) => {
      const { send, path } = PLACES[place];
      for (const value of ['', 'other', 5, true, {}, [], '\u0000']) {
        const { status, body } = await send({ [field]: value });
        expect(status).toBe(400);
        expect(body).toEqual(invalid(fault(`${path}.${field}`, `must be one of ${allowed}`)));
      }
    },
  );

  test('open filters answer a value that nothing has with an empty list', async () => {
    for (const [path, parameter] of FILTERS) {
      for (const value of ['nothing-has-this', UNKNOWN, "'", '{}', '%25']) {
        const { status, body } = await agency.get(`${path}?${parameter}=${value}`);
        expect(status).toBe(200);
        expect(body).toEqual({ data: [], pagination: { limit: 25, offset: 0, total: 0 } });
      }
    }
  });
});

describe('a value of another type is refused', () => {
  test.each(TEXTS)('%s: %s', async (place, field) => {
    const { send, path } = PLACES[place];
    for (const value of [5, true, {}, ['x']]) {
      const { status, body } = await send({ [field]: value });
      expect(status).toBe(400);
      expect(body).toEqual(invalid(fault(`${path}.${field}`, 'must be a string')));
    }
  });

  test.each(TEXT_LISTS)('%s: %s', async (place, field) => {
    const { send, path } = PLACES[place];
    for (const value of ['x', 5, {}]) {
      expect((await send({ [field]: value })).body).toEqual(
        invalid(fault(`${path}.${field}`, 'must be an array')),
      );
    }
    expect((await send({ [field]: [5] })).body).toEqual(
      invalid(fault(`${path}.${field}[0]`, 'must be a string')),
    );
  });
});

describe('limit and offset', () => {
  const NO_NUMBERS = [
    '1e1',
    '+1',
    '-1',
    '1.5',
    '%205',
    '5%20',
    '0x10',
    '1_0',
    'abc',
    '%00',
    '٣',
    'Infinity',
    'NaN',
  ];

  test.each(LISTS)('%s: limit is 1 to 100 in decimal digits, 25 when absent', async (path) => {
    for (const [value, limit] of [
      ['1', 1],
      ['100', 100],
      ['007', 7],
    ]) {
      const { body } = await agency.get(`${path}?limit=${value}`);
      expect(body.pagination).toEqual({ limit, offset: 0, total: body.pagination.total });
    }
    expect((await agency.get(path)).body.pagination).toMatchObject({ limit: 25, offset: 0 });
    for (const value of [...NO_NUMBERS, '', 'null', '0', '101', '2147483648', '99999999999999999999']) {
      const { status, body } = await agency.get(`${path}?limit=${value}`);
      expect(status).toBe(400);
      expect(body).toEqual(
        invalid(fault('query.limit', 'must be an integer from 1 to 100, in decimal digits')),
      );
    }
  });

  test.each(LISTS)(
    '%s: offset is from 0 to 2147483647 in decimal digits; empty or null is 0',
    async (path) => {
      for (const [value, offset] of [
        ['', 0],
        ['null', 0],
        ['0', 0],
        ['2147483647', 2_147_483_647],
      ]) {
        const { status, body } = await agency.get(`${path}?offset=${value}`);
        expect(status).toBe(200);
        expect(body.pagination).toMatchObject({ limit: 25, offset });
      }
      for (const value of [...NO_NUMBERS, 'NULL', '2147483648', '9007199254740993', '99999999999999999999']) {
        const { status, body } = await agency.get(`${path}?offset=${value}`);
        expect(status).toBe(400);
        expect(body).toEqual(
          invalid(fault('query.offset', 'must be an integer from 0 to 2147483647, in decimal digits')),
        );
      }
    },
  );

  test('the limit of a transcript is 1 to 200; what is no limit is a 400 before an unknown id is a 404', async () => {
    for (const value of ['1', '200', '0050'])
      expect((await agency.get(`${TRANSCRIPT}?limit=${value}`)).status).toBe(404);
    for (const value of [...NO_NUMBERS, '', 'null', '0', '201']) {
      const { status, body } = await agency.get(`${TRANSCRIPT}?limit=${value}`);
      expect(status).toBe(400);
      expect(body).toEqual(
        invalid(fault('query.limit', 'must be an integer from 1 to 200, in decimal digits')),
      );
    }
  });

  test('a transcript has no offset: it is an ignored name', async () => {
    const { status, headers } = await agency.get(`${TRANSCRIPT}?offset=5`);
    expect(status).toBe(404);
    expect(headers['x-ignored-parameters']).toBe('offset');
  });
});

describe('a repeated parameter is refused', () => {
  test.each([
    ...FILTERS.map(([path, parameter]) => [path, parameter]),
    ...MOMENTS,
    ...CLOSED,
    ...LISTS.flatMap((path) => [
      [path, 'limit'],
      [path, 'offset'],
    ]),
  ])('%s: %s', async (path, parameter) => {
    const value = parameter === 'status' ? 'draft' : '1';
    for (const query of [
      `${parameter}=${value}&${parameter}=${value}`,
      `${parameter}=${value}&x=1&${parameter}=2&${parameter}=3`,
    ]) {
      const { status, body } = await agency.get(`${path}?${query}`);
      expect(status).toBe(400);
      expect(body).toEqual(invalid(fault(`query.${parameter}`, 'must be given only once')));
    }
  });
});

describe('all faults are named at once', () => {
  test('of query and filters', async () => {
    const { body } = await agency.get(
      '/v1/catalog/products?limit=0&offset=-1&query=&status=x&type=x&budgetTier=x',
    );
    expect(body.error.details.map(({ path }: { path: string }) => path).sort()).toEqual([
      'query.budgetTier',
      'query.limit',
      'query.offset',
      'query.query',
      'query.status',
      'query.type',
    ]);
  });

  test('of a body, those of contacts beside those of fields', async () => {
    const { status, body } = await agency.post('/v1/customers', {
      firstName: 5,
      summary: '\u0000',
      preferredLanguage: 'fr',
      tags: 'x',
      contacts: [
        { identifierType: 'fax', identifierValue: '' },
        { identifierType: 'whatsapp', identifierValue: 'not a number' },
        { identifierType: 'email', identifierValue: 'ana' },
      ],
    });
    expect(status).toBe(400);
    expect(body.error.details).toHaveLength(8);
    expect(body.error.details).toEqual(
      expect.arrayContaining([
        fault('body.firstName', 'must be a string'),
        fault('body.summary', 'must not contain U+0000 or a lone surrogate'),
        fault('body.preferredLanguage', 'must be one of es, pt, en'),
        fault('body.tags', 'must be an array'),
        fault(
          'body.contacts[0].identifierType',
          'must be one of whatsapp, instagram, messenger, email, telefono, web',
        ),
        fault('body.contacts[0].identifierValue', 'must have at least 1 character'),
        fault(
          'body.contacts[1].identifierValue',
          'must be a telephone number in E.164, such as +5215512345678, or a business-scoped user id',
        ),
        fault(
          'body.contacts[2].identifierValue',
          'must be an address with one @ between two parts, without spaces, <> and mailto:',
        ),
      ]),
    );
    for (const { path, message } of body.error.details) {
      expect(body.error.message).toContain(`${path} ${message}`);
    }
  });

  test('at most twenty', async () => {
    const { body } = await agency.post('/v1/catalog/products', {
      variants: Array.from({ length: 50 }, () => ({ status: 'x', currency: '' })),
    });
    expect(body.error.details).toHaveLength(20);
  });

  test('and nothing is changed', async () => {
    const own = await service.agency();
    const { body } = await own.post('/v1/catalog/products', { title: 'Oaxaca', status: 'draft' });
    expect((await own.patch(`/v1/catalog/products/${body.id}`, { status: 'active', title: '' })).status).toBe(
      400,
    );
    expect((await own.get(`/v1/catalog/products/${body.id}`)).body).toEqual(body);
  });

  test.each([
    ['whatsapp', 'must be a telephone number in E.164, such as +5215512345678, or a business-scoped user id'],
    ['telefono', 'must be a telephone number in E.164, such as +5215512345678'],
    ['email', 'must be an address with one @ between two parts, without spaces, <> and mailto:'],
    ['instagram', 'must be a handle'],
  ])('%s says what its identifier must be', async (identifierType, message) => {
    const { status, body } = await agency.post('/v1/customers', {
      contacts: [contact(), { identifierType, identifierValue: '@' }],
    });
    expect(status).toBe(400);
    expect(body).toEqual(invalid(fault('body.contacts[1].identifierValue', message)));
  });
});

describe('names that mean nothing are ignored and named', () => {
  const create = '/v1/catalog/products?organizationId=x';

  test('in query, body and lists of the body', async () => {
    const { status, headers, body } = await agency.post(create, {
      title: 'Oaxaca',
      destinations: ['Oaxaca'],
      variants: [{ label: 'Base', durationHours: 2 }],
    });
    expect(status).toBe(201);
    expect(headers['x-ignored-parameters']).toBe(
      'organizationId, body.destinations, body.variants[0].durationHours',
    );
    expect(body.destinations).toEqual([]);
    expect(body.variants[0].durationHours).toBeNull();
  });

  test('and nothing is named when there is nothing', async () => {
    const { headers } = await agency.post('/v1/catalog/products', { title: 'Oaxaca' });
    expect(headers).not.toHaveProperty('x-ignored-parameters');
  });

  test('also on an answer that refuses the rest', async () => {
    const { status, headers } = await agency.get('/v1/customers?limit=0&sort=name');
    expect(status).toBe(400);
    expect(headers['x-ignored-parameters']).toBe('sort');
  });

  test('those of JavaScript objects too', async () => {
    const { status, headers } = await agency.request('POST', '/v1/customers?__proto__=1&constructor=2', {
      headers: { 'content-type': 'application/json' },
      body: `{"__proto__":{"firstName":"x"},"toString":1,"contacts":[${JSON.stringify(contact())}]}`,
    });
    expect(status).toBe(201);
    expect(headers['x-ignored-parameters']).toBe('__proto__, constructor, body.__proto__, body.toString');
  });

  test('twenty at most, each cut to what a header can hold, so that every client can read the answer', async () => {
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

  const STRICT = [
    'handling=strict',
    'respond-async, handling=strict',
    'HANDLING="strict"; x=1',
    'handling = strict',
  ];
  test.each(STRICT)('Prefer: %s refuses them, and says which name is near', async (prefer) => {
    const own = await service.agency();
    const { status, body, headers } = await own.post(
      '/v1/catalog/products?limit=5',
      { titel: 'x', title: 'Oaxaca', zzz: 1, variants: [{ label: 'Base', currencies: 'USD' }] },
      { headers: { prefer } },
    );
    expect(status).toBe(400);
    expect(body).toEqual(
      invalid(
        fault('query.limit', 'is not a known name'),
        fault('body.titel', 'is not a known name (did you mean title?)'),
        fault(
          'body.zzz',
          `is not a known name (known are ${Object.keys(propertiesOf('CatalogProductCreate')).join(', ')})`,
        ),
        fault('body.variants[0].currencies', 'is not a known name (did you mean currency?)'),
      ),
    );
    expect(headers['preference-applied']).toBe('handling=strict');
    expect((await own.get('/v1/catalog/products')).body.data).toEqual([]);
  });

  test.each(['handling=lenient', 'handling=strictly', 'nothandling=strict', 'return=minimal', ''])(
    'Prefer: %s does not',
    async (prefer) => {
      const { status, headers } = await agency.get('/v1/customers?limits=5', { headers: { prefer } });
      expect(status).toBe(200);
      expect(headers['x-ignored-parameters']).toBe('limits');
      expect(headers).not.toHaveProperty('preference-applied');
    },
  );

  test('strict handling names the faults of values beside those of names', async () => {
    const { body } = await agency.get('/v1/customers?limit=0&quer=ana', {
      headers: { prefer: 'handling=strict' },
    });
    expect(body).toEqual(
      invalid(
        fault('query.limit', 'must be an integer from 1 to 100, in decimal digits'),
        fault('query.quer', 'is not a known name (did you mean query?)'),
      ),
    );
  });

  const strictly = { headers: { prefer: 'handling=strict' } };

  test('strict handling lets what was read be sent back, and names what had no effect', async () => {
    const own = await service.agency();
    const { body: read } = await own.post('/v1/customers', { contacts: [contact()], firstName: 'Ana' });
    const added = { ...read, contacts: [...read.contacts, contact()] };
    const { status, headers, body } = await own.patch(`/v1/customers/${read.id}`, added, strictly);
    expect(status).toBe(200);
    expect(body.contacts).toHaveLength(2);
    expect(body.contacts[0]).toEqual(read.contacts[0]);
    expect(headers['x-ignored-parameters']?.split(', ').sort()).toEqual(
      ['createdAt', 'displayName', 'id', 'updatedAt']
        .concat('contacts[0].id', 'contacts[0].displayName', 'contacts[0].phoneNumber')
        .map((name) => `body.${name}`)
        .sort(),
    );
  });

  test('what answers have elsewhere is refused under strict handling all the same', async () => {
    const { body } = await agency.post(
      '/v1/customers',
      { contacts: [{ ...contact(), createdAt: 'x' }], phoneNumber: 'x' },
      strictly,
    );
    expect(body).toEqual(
      invalid(
        fault(
          'body.contacts[0].createdAt',
          'is not a known name (known are identifierType, identifierValue)',
        ),
        fault(
          'body.phoneNumber',
          `is not a known name (known are ${Object.keys(propertiesOf('CustomerCreate')).join(', ')})`,
        ),
      ),
    );
  });

  test('variants in a PATCH have no effect; strict handling refuses others than those that were read', async () => {
    const own = await service.agency();
    const { body: read } = await own.post('/v1/catalog/products', {
      title: 'Oaxaca',
      variants: [{ label: 'A' }, { label: 'B', fromPrice: 10.5 }],
    });
    const path = `/v1/catalog/products/${read.id}`;
    const lenient = await own.patch(path, { variants: [{ label: 'B' }] });
    expect(lenient.status).toBe(200);
    expect(lenient.body).toEqual(read);
    expect(lenient.headers['x-ignored-parameters']).toBe('body.variants');
    const back = await own.patch(path, { ...read, title: 'Puebla' }, strictly);
    expect([back.status, back.body]).toEqual([
      200,
      { ...read, title: 'Puebla', updatedAt: back.body.updatedAt },
    ]);
    expect(back.headers['x-ignored-parameters']).toContain('body.variants');
    const [first, second] = read.variants;
    for (const variants of [[first, { ...second, fromPrice: 11 }], [first], [second, first], [], null, 'x']) {
      const { status, body } = await own.patch(path, { ...read, variants }, strictly);
      expect([status, body]).toEqual([
        400,
        invalid(fault('body.variants', 'cannot be changed after creation')),
      ]);
    }
    const unknown = await own.patch(`/v1/catalog/products/${UNKNOWN}`, { variants: [] }, strictly);
    expect(unknown.status).toBe(404);
    expect((await own.get(path)).body).toEqual(back.body);
  });

  test('a create under strict handling refuses every name that it would drop, also those of answers', async () => {
    const own = await service.agency();
    const product = await own.post(
      '/v1/catalog/products',
      { title: 'Oaxaca', destinations: ['Oaxaca'], variants: [{ label: 'A', durationHours: 2 }] },
      strictly,
    );
    expect(product.status).toBe(400);
    expect(product.body.error.details.map(({ path }: { path: string }) => path).sort()).toEqual([
      'body.destinations',
      'body.variants[0].durationHours',
    ]);
    const customer = await own.post(
      '/v1/customers',
      { contacts: [{ ...contact(), phoneNumber: null }], id: UNKNOWN },
      strictly,
    );
    expect(customer.body.error.details.map(({ path }: { path: string }) => path).sort()).toEqual([
      'body.contacts[0].phoneNumber',
      'body.id',
    ]);
    for (const list of ['/v1/catalog/products', '/v1/customers'])
      expect((await own.get(list)).body.pagination.total).toBe(0);
  });

  test('?stage= is told that the filter takes an id', async () => {
    const { status, body } = await agency.get('/v1/opportunities?stage=negotiation', strictly);
    expect(status).toBe(400);
    expect(body).toEqual(
      invalid(
        fault(
          'query.stage',
          'is not a known name (did you mean stageId? It takes the id of a pipeline column, not its key)',
        ),
      ),
    );
  });

  test('strict handling lets a request without unknown names pass', async () => {
    const { status, headers } = await agency.get('/v1/customers?limit=5', {
      headers: { prefer: 'handling=strict' },
    });
    expect(status).toBe(200);
    expect(headers['preference-applied']).toBe('handling=strict');
  });

  test('a name of any length is answered in few words', async () => {
    const { status, text } = await agency.post(
      '/v1/customers',
      { contacts: [contact()], ['x'.repeat(500_000)]: 1 },
      { headers: { prefer: 'handling=strict' } },
    );
    expect(status).toBe(400);
    expect(text.length).toBeLessThan(1_000);
  });

  test('every operation names them, and refuses them under strict handling', async () => {
    expect(operations.length).toBeGreaterThan(10);
    for (const { method, path } of operations) {
      const url = `${path.replace(/\{\w+\}/, UNKNOWN)}?organizationId=${UNKNOWN}`;
      const hasBody = method === 'POST' || method === 'PATCH';
      const options = hasBody ? { body: { organizationId: UNKNOWN } } : {};
      const named = hasBody ? ['organizationId', 'body.organizationId'] : ['organizationId'];
      const lenient = await agency.request(method, url, options);
      expect(lenient.headers['x-ignored-parameters']).toBe(named.join(', '));
      const strict = await agency.request(method, url, {
        ...options,
        headers: { prefer: 'handling=strict' },
      });
      expect(strict.status).toBe(400);
      const paths = strict.body.error.details.map(({ path }: { path: string }) => path);
      expect(paths).toEqual(
        expect.arrayContaining(['query.organizationId', ...(hasBody ? ['body.organizationId'] : [])]),
      );
    }
  });
});

describe('application/merge-patch+json', () => {
  const ofType = (type: string) => ({ headers: { 'content-type': type } });

  test('is taken for a PATCH as application/json is', async () => {
    const own = await service.agency();
    const { body: made } = await own.post('/v1/customers', {
      contacts: [contact()],
      city: 'Lima',
      country: 'Perú',
    });
    const path = `/v1/customers/${made.id}`;
    for (const [index, type] of [
      'application/merge-patch+json',
      'Application/Merge-Patch+JSON; charset=utf-8',
    ].entries()) {
      const { status, body } = await own.patch(path, { city: null, country: `n${index}` }, ofType(type));
      expect([status, body.city, body.country]).toEqual([200, null, `n${index}`]);
    }
  });

  test('of any other method is refused', async () => {
    const own = await service.agency();
    const { status, body } = await own.post(
      '/v1/customers',
      { contacts: [contact()] },
      ofType('application/merge-patch+json'),
    );
    expect([status, body]).toEqual([
      400,
      invalid(fault('body', 'must be sent with content-type: application/json')),
    ]);
    expect((await own.get('/v1/customers')).body.pagination.total).toBe(0);
  });
});

describe('an id in a path that is none of ours is 404, never another error', () => {
  test('of every operation that has one', async () => {
    const operations = operationsOf(readDocument('openapi/openapi.json')).filter(({ path }) =>
      path.includes('{'),
    );
    expect(operations.length).toBeGreaterThan(5);
    for (const { method, path } of operations) {
      for (const id of [
        UNKNOWN,
        UNKNOWN.toUpperCase(),
        '0',
        '-1',
        'null',
        "'",
        '%00',
        '%F0%9F%8C%8B',
        'x'.repeat(7_000),
      ]) {
        const { status, body } = await agency.request(method, path.replace(/\{\w+\}/, id), {
          ...(method === 'PATCH' && { body: {} }),
        });
        expect(status).toBe(404);
        expect(body.error.code).toMatch(/^(?!ROUTE_)[A-Z_]+_NOT_FOUND$/);
      }
    }
  });
});
