import { describe, expect, test } from 'vitest';
import { emptyOf } from './support/contract.ts';
import { type Agency, useService } from './support/service.ts';

const service = useService();

const PRODUCTS = '/v1/catalog/products';
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

const create = async (agency: Agency, body: object) => (await agency.post(PRODUCTS, body)).body;

const storedProduct = async (id: string) =>
  (await service.query('select *, xmin::text as version from products where id = $1', [id]))[0];

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
