import { describe, expect, test } from 'vitest';
import { type Agency, useService } from './support/service.ts';

const service = useService();

const PRODUCTS = '/v1/catalog/products';
const UNKNOWN = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';

const EMPTY_PRODUCT = {
  type: 'package',
  status: 'active',
  pricingMode: 'per_person',
  budgetTier: null,
  capacityMin: null,
  capacityMax: null,
  coverImage: null,
  currency: null,
  description: null,
  shortDescription: null,
  specialConditions: null,
  destinations: [],
  durationDays: null,
  durationHours: null,
  includes: [],
  excludes: [],
  gallery: [],
  externalReferenceCode: null,
  fromPrice: null,
  priceMax: null,
  operator: null,
  priceBasis: null,
  validFrom: null,
  validUntil: null,
  variants: [],
};

const FULL = {
  title: 'Patagonia Norte en 8 días',
  type: 'expedition',
  status: 'draft',
  pricingMode: 'per_group',
  budgetTier: 'premium',
  capacityMin: 2,
  capacityMax: 16,
  currency: 'USD',
  description: 'Lagos, bosques\ny volcanes.',
  shortDescription: 'Lagos y volcanes',
  specialConditions: 'Sujeto a clima',
  operator: 'Andes Travel',
  priceBasis: 'por persona en doble',
  externalReferenceCode: 'PAT-08',
  durationDays: 8,
  durationHours: 2.5,
  includes: ['Hotel', 'Traslados'],
  excludes: ['Vuelos'],
  fromPrice: 1450.5,
  priceMax: 2900,
  validFrom: '2027-01-01',
  validUntil: 'fin de marzo',
};

const FULL_VARIANT = {
  label: 'Temporada alta',
  status: 'paused',
  capacityMin: 1,
  capacityMax: 4,
  currency: 'ARS',
  description: 'Enero y febrero',
  shortDescription: 'Verano',
  durationDays: 9,
  includes: ['Desayuno'],
  excludes: ['Cena'],
  fromPrice: 1790.25,
  priceMax: 3100,
};

const EMPTY_VARIANT = {
  status: 'active',
  capacityMin: null,
  capacityMax: null,
  currency: null,
  description: null,
  shortDescription: null,
  durationDays: null,
  durationHours: null,
  includes: [],
  excludes: [],
  fromPrice: null,
  priceMax: null,
};

/** A value of each field that PATCH takes, other than FULL's, and the stored form of null. */
const CHANGES: [field: string, value: unknown, cleared?: unknown][] = [
  ['title', 'Otro título'],
  ['type', 'custom'],
  ['status', 'paused'],
  ['pricingMode', 'total'],
  ['budgetTier', 'economic', null],
  ['capacityMin', 3, null],
  ['capacityMax', 2_147_483_647, null],
  ['currency', '€UR', null],
  ['description', 'Otra', null],
  ['shortDescription', '', null],
  ['specialConditions', 'Ninguna', null],
  ['operator', 'Otro', null],
  ['priceBasis', 'total', null],
  ['externalReferenceCode', 'X-1', null],
  ['durationDays', 1, null],
  ['durationHours', 0.25, null],
  ['includes', [], []],
  ['excludes', ['a', 'a'], []],
  ['fromPrice', 0, null],
  ['priceMax', 0.1, null],
  ['validFrom', 'mañana', null],
  ['validUntil', '', null],
];

const create = async (agency: Agency, body: object) => (await agency.post(PRODUCTS, body)).body;

const storedProduct = async (id: string) =>
  (await service.query('select *, xmin::text as version from products where id = $1', [id]))[0];

const titles = (body: { data: { title: string }[] }): string[] => body.data.map(({ title }) => title);

describe('createCatalogProduct', () => {
  test('fills in the defaults of the contract', async () => {
    const agency = await service.agency();
    const { status, body } = await agency.post(PRODUCTS, { title: 'Oaxaca' });
    expect(status).toBe(201);
    expect(body).toEqual({
      ...EMPTY_PRODUCT,
      id: expect.any(String),
      title: 'Oaxaca',
      createdAt: expect.any(String),
      updatedAt: body.createdAt,
    });
    expect((await agency.get(`${PRODUCTS}/${body.id}`)).body).toEqual(body);
  });

  test('answers every field as it was sent, and reads the same back alone and in the list', async () => {
    const agency = await service.agency();
    const { status, body } = await agency.post(PRODUCTS, {
      ...FULL,
      variants: [FULL_VARIANT, { label: 'Base' }],
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      ...EMPTY_PRODUCT,
      ...FULL,
      id: expect.any(String),
      variants: [
        { ...FULL_VARIANT, id: expect.any(String), position: 0, durationHours: null },
        { ...EMPTY_VARIANT, id: expect.any(String), position: 1, label: 'Base' },
      ],
      createdAt: expect.any(String),
      updatedAt: body.createdAt,
    });
    expect((await agency.get(`${PRODUCTS}/${body.id}`)).body).toEqual(body);
    expect((await agency.get(PRODUCTS)).body).toEqual({
      data: [body],
      pagination: { limit: 25, offset: 0, total: 1 },
    });
    expect(await storedProduct(body.id)).toMatchObject({
      organization_id: agency.id,
      title: FULL.title,
      includes: FULL.includes,
      archived_at: null,
    });
  });

  test('takes null for everything that may be null, and reads null lists back as empty', async () => {
    const agency = await service.agency();
    const nulls = Object.fromEntries(
      CHANGES.filter((change) => change.length === 3).map(([field]) => [field, null]),
    );
    const variantNulls = Object.fromEntries(
      Object.keys(FULL_VARIANT)
        .filter((field) => field !== 'label' && field !== 'status')
        .map((field) => [field, null]),
    );
    const { status, body } = await agency.post(PRODUCTS, {
      ...nulls,
      title: 'Nada',
      variants: [{ ...variantNulls, label: 'Nada' }],
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      ...EMPTY_PRODUCT,
      title: 'Nada',
      variants: [{ ...EMPTY_VARIANT, label: 'Nada' }],
    });
  });

  test.each([
    'con  dos espacios ',
    '\ttab y\nlínea\r\n',
    'Bogotá',
    'Bogota\u0301',
    '🏔️👩‍👩‍👧 עברית 漢字 \u2028',
    '\u001f\u0001\u007f',
    `'; drop table products; -- "$1" \\u0041 %s`,
    '{"a":1}',
    'null',
    'NaN',
  ])('reads text back to the letter: %j', async (text) => {
    const agency = await service.agency();
    const body = await create(agency, {
      title: text,
      description: text,
      includes: [text],
      variants: [{ label: text }],
    });
    const read = (await agency.get(`${PRODUCTS}/${body.id}`)).body;
    expect(read).toMatchObject({
      title: text,
      description: text,
      includes: [text],
      variants: [{ label: text }],
    });
    expect((await storedProduct(body.id))?.title).toBe(text);
  });

  test.each([
    0,
    0.1,
    0.30000000000000004,
    1e-7,
    5e-324,
    1_234_567.89,
    1e21,
    Number.MAX_SAFE_INTEGER,
    Number.MAX_VALUE,
  ])('reads the price %d back as the same number', async (number) => {
    const agency = await service.agency();
    const body = await create(agency, { title: 'Precio', fromPrice: number, priceMax: number });
    expect((await agency.get(`${PRODUCTS}/${body.id}`)).body).toMatchObject({
      fromPrice: number,
      priceMax: number,
    });
  });

  test.each([0.1, 5e-324, 1.5, Number.MAX_VALUE])('reads %d hours back as the same number', async (hours) => {
    const agency = await service.agency();
    const body = await create(agency, { title: 'Horas', durationHours: hours });
    expect(body.durationHours).toBe(hours);
  });

  test('accepts a minimum above its maximum, and dates in any order', async () => {
    const agency = await service.agency();
    const crossed = {
      capacityMin: 9,
      capacityMax: 2,
      fromPrice: 9,
      priceMax: 2,
      validFrom: 'z',
      validUntil: 'a',
    };
    expect(await create(agency, { title: 'Cruzado', ...crossed })).toMatchObject(crossed);
  });

  test('creates nothing when one variant is not valid', async () => {
    const agency = await service.agency();
    const { status } = await agency.post(PRODUCTS, {
      title: 'A medias',
      variants: [{ label: 'buena' }, { label: '' }],
    });
    expect(status).toBe(400);
    expect(await service.query('select from products where organization_id = $1', [agency.id])).toEqual([]);
    expect((await agency.get(PRODUCTS)).body.pagination.total).toBe(0);
  });

  test('keeps the order of a hundred variants', async () => {
    const agency = await service.agency();
    const labels = Array.from({ length: 100 }, (_, index) => `v${(index * 37) % 100}`);
    const body = await create(agency, { title: 'Muchas', variants: labels.map((label) => ({ label })) });
    expect(body.variants.map((variant: { label: string }) => variant.label)).toEqual(labels);
    expect(body.variants.map((variant: { position: number }) => variant.position)).toEqual([
      ...labels.keys(),
    ]);
  });
});

describe('updateCatalogProduct', () => {
  test.each(CHANGES)('changes %s and nothing else', async (field, value) => {
    const agency = await service.agency();
    const before = await create(agency, { ...FULL, variants: [FULL_VARIANT] });
    const neighbour = await create(agency, FULL);
    const { status, body } = await agency.patch(`${PRODUCTS}/${before.id}`, { [field]: value });
    expect(status).toBe(200);
    expect(body).toEqual({ ...before, [field]: value, updatedAt: body.updatedAt });
    expect(body.updatedAt > before.updatedAt).toBe(true);
    expect((await agency.get(`${PRODUCTS}/${before.id}`)).body).toEqual(body);
    expect((await agency.get(`${PRODUCTS}/${neighbour.id}`)).body).toEqual(neighbour);
  });

  test('clears every field sent as null', async () => {
    const agency = await service.agency();
    const before = await create(agency, FULL);
    const clearable = CHANGES.filter((change) => change.length === 3);
    const { body } = await agency.patch(
      `${PRODUCTS}/${before.id}`,
      Object.fromEntries(clearable.map(([field]) => [field, null])),
    );
    expect(body).toEqual({
      ...before,
      ...Object.fromEntries(clearable.map(([field, , cleared]) => [field, cleared])),
      updatedAt: body.updatedAt,
    });
  });

  test.each([
    ['an empty body', {}],
    ['the stored values', FULL],
    ['one stored value', { fromPrice: FULL.fromPrice }],
    ['only names that have no effect', { destinations: ['Bariloche'], id: UNKNOWN, updatedAt: 'now' }],
  ])('%s changes nothing, updatedAt included', async (_name, patch) => {
    const agency = await service.agency();
    const before = await create(agency, FULL);
    const stored = await storedProduct(before.id);
    const { status, body } = await agency.patch(`${PRODUCTS}/${before.id}`, patch);
    expect(status).toBe(200);
    expect(body).toEqual(before);
    expect(await storedProduct(before.id)).toEqual(stored);
  });

  test('leaves variants alone and says that they were ignored', async () => {
    const agency = await service.agency();
    const before = await create(agency, { title: 'Con variantes', variants: [FULL_VARIANT] });
    const { status, body, headers } = await agency.patch(`${PRODUCTS}/${before.id}`, {
      title: 'Nuevo',
      variants: [{ label: 'Otra' }],
    });
    expect(status).toBe(200);
    expect(body).toEqual({ ...before, title: 'Nuevo', updatedAt: body.updatedAt });
    expect(headers['x-ignored-parameters']).toBe('body.variants');
  });

  test('moves the product to the head of the list', async () => {
    const agency = await service.agency();
    const first = await create(agency, { title: 'uno' });
    await create(agency, { title: 'dos' });
    expect(titles((await agency.get(PRODUCTS)).body)).toEqual(['dos', 'uno']);
    await agency.patch(`${PRODUCTS}/${first.id}`, { status: 'paused' });
    expect(titles((await agency.get(PRODUCTS)).body)).toEqual(['uno', 'dos']);
  });

  test('simultaneous changes of different fields all survive', async () => {
    const agency = await service.agency();
    const { id } = await create(agency, FULL);
    const answers = await Promise.all(
      CHANGES.map(([field, value]) => agency.patch(`${PRODUCTS}/${id}`, { [field]: value })),
    );
    expect(answers.map(({ status }) => status)).toEqual(CHANGES.map(() => 200));
    expect((await agency.get(`${PRODUCTS}/${id}`)).body).toMatchObject(
      Object.fromEntries(CHANGES.map(([field, value]) => [field, value])),
    );
  });

  test('updatedAt only moves forward, even after the clock was set back', async () => {
    const agency = await service.agency();
    const { id } = await create(agency, FULL);
    await service.query(`update products set updated_at = '2099-01-01T00:00:00Z' where id = $1`, [id]);
    const { body } = await agency.patch(`${PRODUCTS}/${id}`, { title: 'Otro' });
    expect(body.updatedAt).toBe('2099-01-01T00:00:00.001Z');
  });

  test('an unknown product is 404', async () => {
    const agency = await service.agency();
    const { status, body } = await agency.patch(`${PRODUCTS}/${UNKNOWN}`, { title: 'Nada' });
    expect(status).toBe(404);
    expect(body).toEqual({
      error: {
        code: 'CATALOG_PRODUCT_NOT_FOUND',
        message: `The catalog product "${UNKNOWN}" does not exist.`,
      },
    });
  });
});

describe('archiveCatalogProduct', () => {
  test('answers when the product was archived, and takes it out of the list and its total', async () => {
    const agency = await service.agency();
    const gone = await create(agency, { ...FULL, variants: [FULL_VARIANT] });
    const stays = await create(agency, FULL);
    const { status, body } = await agency.delete(`${PRODUCTS}/${gone.id}`);
    expect(status).toBe(200);
    expect(body).toEqual({ id: gone.id, archivedAt: expect.any(String) });
    const { archived_at, updated_at } = (await storedProduct(gone.id)) ?? {};
    expect(archived_at.toISOString()).toBe(body.archivedAt);
    expect(updated_at.toISOString()).toBe(gone.updatedAt);
    expect((await agency.get(PRODUCTS)).body).toEqual({
      data: [stays],
      pagination: { limit: 25, offset: 0, total: 1 },
    });
  });

  test('an archived product is 404 for every operation, and stays as it was archived', async () => {
    const agency = await service.agency();
    const { id } = await create(agency, FULL);
    await agency.delete(`${PRODUCTS}/${id}`);
    const stored = await storedProduct(id);
    const answers = [
      await agency.get(`${PRODUCTS}/${id}`),
      await agency.patch(`${PRODUCTS}/${id}`, { title: 'Otro' }),
      await agency.delete(`${PRODUCTS}/${id}`),
    ];
    for (const { status, body } of answers) {
      expect(status).toBe(404);
      expect(body.error.code).toBe('CATALOG_PRODUCT_NOT_FOUND');
    }
    expect(await storedProduct(id)).toEqual(stored);
  });

  test('of simultaneous archives exactly one succeeds, and the total loses one', async () => {
    const agency = await service.agency();
    const { id } = await create(agency, FULL);
    await create(agency, FULL);
    const answers = await Promise.all(Array.from({ length: 10 }, () => agency.delete(`${PRODUCTS}/${id}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(404)]);
    expect((await agency.get(PRODUCTS)).body.pagination.total).toBe(1);
  });
});

describe('getCatalogProduct', () => {
  test.each([UNKNOWN, '00000000-0000-0000-0000-000000000000', 'x', '1', '%00', "'", 'x'.repeat(5_000)])(
    'an id that is none of ours is 404: %s',
    async (id) => {
      const agency = await service.agency();
      const { status, body } = await agency.get(`${PRODUCTS}/${id}`);
      expect(status).toBe(404);
      expect(body.error.code).toBe('CATALOG_PRODUCT_NOT_FOUND');
    },
  );
});

describe('listCatalogProducts', () => {
  test('is empty for a new organization', async () => {
    const agency = await service.agency();
    expect((await agency.get(PRODUCTS)).body).toEqual({
      data: [],
      pagination: { limit: 25, offset: 0, total: 0 },
    });
  });

  test('shows the most recently updated first, and of one moment the highest id first', async () => {
    const agency = await service.agency();
    const ids: string[] = [];
    for (const title of ['a', 'b', 'c', 'd']) ids.push((await create(agency, { title })).id);
    await service.query(`update products set updated_at = '2026-01-01' where id = any($1)`, [
      ids.slice(0, 3),
    ]);
    await service.query(`update products set updated_at = '2025-01-01' where id = $1`, [ids[3]]);
    expect(titles((await agency.get(PRODUCTS)).body)).toEqual(['c', 'b', 'a', 'd']);
  });

  test.each([
    ['status=paused', ['pausado']],
    ['type=custom', ['a medida']],
    ['budgetTier=mid', ['medio']],
    ['externalReferenceCode=PAT-08', ['medio', 'a medida']],
    ['externalReferenceCode=PAT-0', []],
    ['externalReferenceCode=pat-08', []],
    ['externalReferenceCode=PAT%2508', []],
    ['externalReferenceCode=PAT-08&budgetTier=mid', ['medio']],
    ['query=medi', ['medio', 'a medida']],
    ['query=medi&type=custom', ['a medida']],
    ['query=medi&type=custom&status=active&budgetTier=premium', ['a medida']],
    ['query=medi&type=custom&status=draft', []],
    ['query=medi&type=custom&status=active&budgetTier=premium&externalReferenceCode=PAT-08', ['a medida']],
    ['status=active&limit=1', ['medio']],
  ])('%s narrows the list, and total counts what it left', async (filter, expected) => {
    const agency = await service.agency();
    await create(agency, { title: 'pausado', status: 'paused' });
    await create(agency, {
      title: 'a medida',
      type: 'custom',
      budgetTier: 'premium',
      externalReferenceCode: 'PAT-08',
    });
    await create(agency, { title: 'medio', budgetTier: 'mid', externalReferenceCode: 'PAT-08' });
    const { body } = await agency.get(`${PRODUCTS}?${filter}`);
    expect(titles(body)).toEqual(expected);
    expect(body.pagination.total).toBe(filter.endsWith('limit=1') ? 2 : expected.length);
  });

  test('every filter at once narrows a later page too', async () => {
    const agency = await service.agency();
    const fields = { type: 'custom', budgetTier: 'premium', externalReferenceCode: 'X' };
    await create(agency, { ...fields, title: 'medio' });
    await create(agency, { ...fields, title: 'a medida' });
    const filters = 'query=medi&type=custom&status=active&budgetTier=premium&externalReferenceCode=X';
    const { body } = await agency.get(`${PRODUCTS}?${filters}&offset=1`);
    expect([titles(body), body.pagination.total]).toEqual([['medio'], 2]);
  });

  test('query looks in title, short description and description, and nowhere else', async () => {
    const agency = await service.agency();
    const word = 'zanahoria';
    await create(agency, { title: `en título ${word}` });
    await create(agency, { title: 'en corta', shortDescription: word });
    await create(agency, { title: 'en larga', description: `una ${word} más` });
    await create(agency, {
      title: 'en otra parte',
      specialConditions: word,
      operator: word,
      priceBasis: word,
      externalReferenceCode: word,
      includes: [word],
      excludes: [word],
      variants: [{ label: word, description: word }],
    });
    const { body } = await agency.get(`${PRODUCTS}?query=${word}`);
    expect(titles(body)).toEqual(['en larga', 'en corta', `en título ${word}`]);
    expect(body.pagination.total).toBe(3);
  });

  test('query does not match across two fields', async () => {
    const agency = await service.agency();
    await create(agency, { title: 'sol', shortDescription: 'mar', description: 'pez' });
    for (const query of ['solmar', 'sol%20mar', 'marpez', 'solpez']) {
      expect((await agency.get(`${PRODUCTS}?query=${query}`)).body.data).toEqual([]);
    }
  });

  test('total follows every create and archive, many at once', async () => {
    const agency = await service.agency();
    const made = await Promise.all(
      Array.from({ length: 30 }, (_, index) => create(agency, { title: `p${index}` })),
    );
    await Promise.all(made.slice(0, 12).map(({ id }) => agency.delete(`${PRODUCTS}/${id}`)));
    const { body } = await agency.get(`${PRODUCTS}?limit=100`);
    expect(body.data).toHaveLength(18);
    expect(body.pagination.total).toBe(18);
  });
});
