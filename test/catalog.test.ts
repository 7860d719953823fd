import { describe, expect, test } from 'vitest';
import { useService } from './support/service.ts';

const service = useService();

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

describe('createCatalogProduct', () => {
  test('fills in the defaults of the contract', async () => {
    const agency = await service.agency();
    const { status, body } = await agency.post('/v1/catalog/products', { title: 'Oaxaca' });
    expect(status).toBe(201);
    expect(body).toEqual({
      ...EMPTY_PRODUCT,
      id: expect.any(String),
      title: 'Oaxaca',
      createdAt: expect.any(String),
      updatedAt: body.createdAt,
    });
    expect((await agency.get(`/v1/catalog/products/${body.id}`)).body).toEqual(body);
  });
});
