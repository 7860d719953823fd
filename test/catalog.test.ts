import { describe, expect, test } from 'vitest';
import { emptyOf } from './support/contract.ts';
import { withoutTriggers } from './support/databases.ts';
import { type Agency, useService } from './support/service.ts';

const service = useService();

const PRODUCTS = '/v1/catalog/products';
const UNKNOWN = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';

const EMPTY_PRODUCT = {
  ...emptyOf('CatalogProduct'),
  type: 'package',
  status: 'active',
  pricingMode: 'per_person',
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

const EMPTY_VARIANT = { ...emptyOf('CatalogProductVariant'), status: 'active' };

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

  test('takes null for everything of a variant that may be null, and reads null lists back as empty', async () => {
    const agency = await service.agency();
    const { label: _, status: __, ...others } = FULL_VARIANT;
    const nulls = Object.fromEntries(Object.keys(others).map((field) => [field, null]));
    const { status, body } = await agency.post(PRODUCTS, {
      title: 'Nada',
      variants: [{ ...nulls, label: 'Nada' }],
    });
    expect(status).toBe(201);
    expect(body.variants).toMatchObject([{ ...EMPTY_VARIANT, label: 'Nada' }]);
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
  test.each([
    ['an empty body', {}],
    ['the stored values', FULL],
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

  test('moves the product to the head of the list', async () => {
    const agency = await service.agency();
    const first = await create(agency, { title: 'uno' });
    await create(agency, { title: 'dos' });
    expect(titles((await agency.get(PRODUCTS)).body)).toEqual(['dos', 'uno']);
    await agency.patch(`${PRODUCTS}/${first.id}`, { status: 'paused' });
    expect(titles((await agency.get(PRODUCTS)).body)).toEqual(['uno', 'dos']);
  });

  test('updatedAt only moves forward, even after the clock was set back', async () => {
    const agency = await service.agency();
    const { id } = await create(agency, FULL);
    await withoutTriggers(service.ownerUrl, (client) =>
      client.query(`update products set updated_at = '2099-01-01T00:00:00Z' where id = $1`, [id]),
    );
    const { body } = await agency.patch(`${PRODUCTS}/${id}`, { title: 'Otro' });
    expect(body.updatedAt).toBe('2099-01-01T00:00:00.001Z');
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
    expect(updated_at.toISOString() > gone.updatedAt).toBe(true);
    expect((await agency.get(PRODUCTS)).body).toEqual({
      data: [stays],
      pagination: { limit: 25, offset: 0, total: 1 },
    });
  });
});
