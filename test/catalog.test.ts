import { describe, expect, test } from 'vitest';
import { emptyOf } from './support/contract.ts';
import { useDashboard } from './support/dashboard.ts';
import type { Agency } from './support/service.ts';

const DAY = 24 * 60 * 60 * 1_000;
const clock = { now: Date.now() };
const { service, dashboard } = useDashboard(() => ({ now: () => clock.now }));

async function agency() {
  const made = await service.agency();
  const create = async (body: object = {}) =>
    (
      await made.post('/v1/catalog/products', {
        title: 'Oaxaca',
        variants: [{ label: 'Temporada alta', fromPrice: 10.5 }],
        ...body,
      })
    ).body;
  /** Creates a product that was archived so long before the clock's now. */
  const archived = async (ago: number, body: object = {}) => {
    const product = await create(body);
    await made.delete(`/v1/catalog/products/${product.id}`);
    await service.query('update products set archived_at = $2 where id = $1', [
      product.id,
      new Date(clock.now - ago),
    ]);
    return product;
  };
  return { made, call: dashboard.of(made), create, archived };
}

const liveTotal = async (made: Agency): Promise<number> =>
  (await made.get('/v1/catalog/products')).body.pagination.total;

describe('listArchivedCatalogProducts', () => {
  test('shows archived products that can be restored, latest archived first', async () => {
    const { made, call, create, archived } = await agency();
    await create();
    const older = await archived(2 * DAY);
    const newer = await archived(DAY);
    await archived(30 * DAY + 1);
    const neighbour = await agency();
    await neighbour.archived(DAY);
    const { status, body } = await call.get('/catalog/products?archived=true');
    expect(status).toBe(200);
    expect(body).toEqual({
      data: [
        {
          ...newer,
          updatedAt: expect.any(String),
          archivedAt: new Date(clock.now - DAY).toISOString(),
          purgeAt: new Date(clock.now + 29 * DAY).toISOString(),
        },
        {
          ...older,
          updatedAt: expect.any(String),
          archivedAt: new Date(clock.now - 2 * DAY).toISOString(),
          purgeAt: new Date(clock.now + 28 * DAY).toISOString(),
        },
      ],
      pagination: { limit: 25, offset: 0, total: 2 },
    });
    expect(await liveTotal(made)).toBe(1);
  });

  test.each(['?archived=false', '?archived=1', '?archived=true&archived=true'])(
    'asks for archived=true, in so many words: %j is refused',
    async (query) => {
      const { call } = await agency();
      const { status, body } = await call.get(`/catalog/products${query}`);
      expect(status).toBe(400);
      expect(body.error.details[0].path).toBe('query.archived');
    },
  );
});

describe('updateCatalogProductMedia', () => {
  test('changes the media fields that are sent, and /v1 shows them', async () => {
    const { made, call, create } = await agency();
    const neighbour = await agency();
    await neighbour.create();
    const before = await dashboard.stored(neighbour.made);
    const product = await create();
    const media = {
      coverImage: 'https://images.example.com/oaxaca.jpg',
      gallery: ['https://images.example.com/1.jpg'],
      destinations: ['Oaxaca', 'Mitla'],
    };
    const { status, body } = await call.patch(`/catalog/products/${product.id}`, media);
    expect(status).toBe(200);
    expect(body).toEqual({ ...product, ...media, updatedAt: expect.any(String) });
    expect(Date.parse(body.updatedAt)).toBeGreaterThan(Date.parse(product.updatedAt));
    expect((await made.get(`/v1/catalog/products/${product.id}`)).body).toEqual(body);

    const some = await call.patch(`/catalog/products/${product.id}`, { gallery: null, coverImage: null });
    expect(some.body).toEqual({
      ...body,
      gallery: [],
      coverImage: null,
      updatedAt: expect.any(String),
    });
    expect(await dashboard.stored(neighbour.made)).toEqual(before);
  });

  test('with nothing, or what is stored, changes nothing', async () => {
    const { made, call, create } = await agency();
    const product = await create();
    await call.patch(`/catalog/products/${product.id}`, { destinations: ['Oaxaca'] });
    const before = await dashboard.stored(made);
    for (const body of [{}, { destinations: ['Oaxaca'], coverImage: null, gallery: [] }]) {
      expect((await call.patch(`/catalog/products/${product.id}`, body)).status).toBe(200);
    }
    expect(await dashboard.stored(made)).toEqual(before);
  });

  test('leaves every other field to /v1 and says so', async () => {
    const { call, create } = await agency();
    const product = await create();
    const { body, headers } = await call.patch(`/catalog/products/${product.id}`, { title: 'Lima' });
    expect(headers['x-ignored-parameters']).toBe('body.title');
    expect(body).toEqual(product);
  });
});

describe('restoreCatalogProduct', () => {
  test('brings a product back with everything it had, to the last moment of the 30 days, as the newest', async () => {
    const { made, call, create, archived } = await agency();
    const neighbour = await agency();
    await neighbour.archived(DAY);
    const before = await dashboard.stored(neighbour.made);
    const product = await archived(30 * DAY);
    const other = await create();
    const { status, body } = await call.post(`/catalog/products/${product.id}/restore`);
    expect(status).toBe(200);
    expect(body).toEqual({ ...product, updatedAt: expect.any(String) });
    expect(body.updatedAt > product.updatedAt).toBe(true);
    expect((await made.get(`/v1/catalog/products/${product.id}`)).body).toEqual(body);
    expect((await made.get('/v1/catalog/products')).body).toEqual({
      data: [body, other],
      pagination: { limit: 25, offset: 0, total: 2 },
    });
    expect((await call.get('/catalog/products?archived=true')).body.pagination.total).toBe(0);
    expect(await dashboard.stored(neighbour.made)).toEqual(before);
  });

  test('past the 30 days is 404 and restores nothing', async () => {
    const { made, call, archived } = await agency();
    const { id } = await archived(30 * DAY + 1);
    const before = await dashboard.stored(made);
    const { status, body } = await call.post(`/catalog/products/${id}/restore`);
    expect(status).toBe(404);
    expect(body.error.code).toBe('CATALOG_PRODUCT_NOT_FOUND');
    expect(await dashboard.stored(made)).toEqual(before);
  });

  test('of a live product is 409', async () => {
    const { call, create } = await agency();
    const { id } = await create();
    const { status, body } = await call.post(`/catalog/products/${id}/restore`);
    expect(status).toBe(409);
    expect(body.error.code).toBe('CATALOG_PRODUCT_NOT_ARCHIVED');
  });

  test('by 20 requests at once restores once, and the count of /v1 stays true', async () => {
    const { made, call, archived } = await agency();
    const { id } = await archived(DAY);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => call.post(`/catalog/products/${id}/restore`)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)]);
    expect(await liveTotal(made)).toBe(1);
  });
});

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
