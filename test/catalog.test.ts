import { describe, expect, test } from 'vitest';
import { useDashboard } from './support/dashboard.ts';
import { product } from './support/records.ts';
import type { Agency } from './support/service.ts';

const DAYS_30 = 30 * 24 * 60 * 60 * 1_000;
const { service, dashboard } = useDashboard();

test('the story of a product: create, read, change, list, archive', async () => {
  const agency = await service.agency();

  // Create. A field that is not sent has its default, or is null or an empty list.
  const created = await agency.post('/v1/catalog/products', {
    title: 'Oaxaca, Día de Muertos',
    type: 'experience',
    currency: 'MXN',
    fromPrice: 14_900,
    includes: ['hotel'],
    variants: [{ label: 'Habitación doble', fromPrice: 14_900 }],
  });
  expect(created).toMatchObject({
    status: 201,
    body: {
      id: expect.any(String),
      title: 'Oaxaca, Día de Muertos',
      type: 'experience',
      status: 'active',
      pricingMode: 'per_person',
      budgetTier: null,
      currency: 'MXN',
      fromPrice: 14_900,
      priceMax: null,
      includes: ['hotel'],
      excludes: [],
      variants: [{ id: expect.any(String), label: 'Habitación doble', position: 0, fromPrice: 14_900 }],
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    },
  });

  // Read.
  const { id } = created.body;
  expect(await agency.get(`/v1/catalog/products/${id}`)).toMatchObject({ status: 200, body: created.body });

  // PATCH changes one field, clears another with null, and leaves the rest as it is, variants too.
  const changed = await agency.patch(`/v1/catalog/products/${id}`, { status: 'paused', fromPrice: null });
  const changes = { status: 'paused', fromPrice: null, updatedAt: expect.any(String) };
  expect(changed.status).toBe(200);
  expect(changed.body).toEqual({ ...created.body, ...changes });

  // A body with errors is rejected; the response names each of them, and nothing changes.
  const details = [{ path: 'body.title' }, { path: 'body.status' }];
  expect(await agency.patch(`/v1/catalog/products/${id}`, { title: '', status: 'sold' })).toMatchObject({
    status: 400,
    body: { error: { code: 'VALIDATION_FAILED', details } },
  });
  expect((await agency.get(`/v1/catalog/products/${id}`)).body).toEqual(changed.body);

  // List: most recently updated first. The total counts what the filter matches, on all pages.
  const { body: lima } = await agency.post('/v1/catalog/products', { title: 'Lima' });
  expect((await agency.get('/v1/catalog/products?limit=1')).body).toEqual({
    data: [lima],
    pagination: { limit: 1, offset: 0, total: 2 },
  });

  const notFound = { status: 404, body: { error: { code: 'CATALOG_PRODUCT_NOT_FOUND' } } };
  // Archive: the product is gone. The dashboard can restore it for 30 days.
  const archived = { status: 200, body: { id, archivedAt: expect.any(String) } };
  expect(await agency.delete(`/v1/catalog/products/${id}`)).toMatchObject(archived);
  expect(await agency.get(`/v1/catalog/products/${id}`)).toMatchObject(notFound);
  expect((await agency.get('/v1/catalog/products')).body).toMatchObject({
    data: [lima],
    pagination: { total: 1 },
  });
});

/** A product that was archived this many milliseconds ago. */
async function archivedProduct(agency: Agency, age: number) {
  const created = await product(agency, { variants: [{ label: 'Temporada alta', fromPrice: 10.5 }] });
  await agency.delete(`/v1/catalog/products/${created.id}`);
  const archivedAt = new Date(Date.now() - age).toISOString();
  await service.query('update products set archived_at = $2 where id = $1', [created.id, archivedAt]);
  const restore = () => dashboard.of(agency).post(`/catalog/products/${created.id}/restore`);
  return { created, archivedAt, restore };
}

test('an archived product can be read and restored for 30 days; the latest archived is listed first', async () => {
  const agency = await service.agency();
  const { get } = dashboard.of(agency);
  const older = await archivedProduct(agency, DAYS_30 - 30 * 60_000);
  const newer = await archivedProduct(agency, DAYS_30 / 2);
  const past = await archivedProduct(agency, DAYS_30);
  const shown = ({ created, archivedAt }: typeof older) => {
    const purgeAt = new Date(Date.parse(archivedAt) + DAYS_30).toISOString();
    return { ...created, updatedAt: expect.any(String), archivedAt, purgeAt };
  };
  const { data, pagination } = (await get('/catalog/products?archived=true')).body;
  expect([data, pagination.total]).toEqual([[shown(newer), shown(older)], 2]);
  expect((await get(`/catalog/products/${older.created.id}`)).body).toEqual(shown(older));
  for (const response of [get(`/catalog/products/${past.created.id}`), past.restore()])
    expect((await response).status).toBe(404);
  const restored = { ...shown(older), archivedAt: null, purgeAt: null };
  expect(await older.restore()).toMatchObject({ status: 200, body: restored });
});

test('20 simultaneous requests restore a product once, and the total of /v1 stays right', async () => {
  const agency = await service.agency();
  const { restore } = await archivedProduct(agency, DAYS_30 / 2);
  const responses = await Promise.all(Array.from({ length: 20 }, restore));
  expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)]);
  expect((await agency.get('/v1/catalog/products')).body.pagination.total).toBe(1);
});

describe('variants in a PATCH of the dashboard', () => {
  async function productWithVariants() {
    const agency = await service.agency();
    const variant = { fromPrice: 10.5, includes: ['Hotel'], currency: 'USD' };
    const variants = ['Alta', 'Media', 'Baja'].map((label) => ({ label, ...variant }));
    const created = await product(agency, { variants });
    const path = `/catalog/products/${created.id}`;
    const patch = (body: object, headers = {}) => dashboard.of(agency).patch(path, body, { headers });
    const read = async () => (await agency.get(`/v1${path}`)).body;
    const ids: string[] = created.variants.map(({ id }: { id: string }) => id);
    return { agency, created, patch, read, ids };
  }

  test('change nothing if they are sent as they were read, by their ids alone, or not at all', async () => {
    const { created, patch, read, ids } = await productWithVariants();
    const strict = { prefer: 'handling=strict' };
    expect((await patch({ variants: created.variants }, strict)).body).toMatchObject(created);
    expect((await patch({ variants: ids.map((id) => ({ id })) })).body).toMatchObject(created);
    expect(await read()).toEqual(created);
    expect((await patch({ destinations: ['Oaxaca'] })).body.variants).toEqual(created.variants);
  });

  test('are the whole list in its order: those with an id keep what is not sent, others are new', async () => {
    const { created, patch, read, ids } = await productWithVariants();
    const [alta, , baja] = created.variants;
    await patch({ variants: [{ id: ids[2] }, { label: 'Nueva' }, { id: ids[0], fromPrice: null }] });
    const fresh = { id: expect.any(String), label: 'Nueva', status: 'active', fromPrice: null, includes: [] };
    expect((await read()).variants).toEqual([
      { ...baja, position: 0 },
      expect.objectContaining({ ...fresh, position: 1 }),
      { ...alta, position: 2, fromPrice: null },
    ]);
  });

  test('are rejected if one is of another product, repeated, or new without a label; each error is named', async () => {
    const { agency, created, patch, read, ids } = await productWithVariants();
    const other = await product(agency, { variants: [{ label: 'Otra' }] });
    const variants = [
      { id: other.variants[0].id },
      { id: ids[0] },
      { id: ids[0]?.toUpperCase() },
      { durationHours: 2 },
    ];
    const details = [
      { path: 'body.variants[0].id', message: 'is not the id of a variant of this product' },
      { path: 'body.variants[2].id', message: 'must not be repeated' },
      { path: 'body.variants[3].label', message: 'is required' },
    ];
    const response = await patch({ destinations: ['Oaxaca'], variants });
    expect(response).toMatchObject({ status: 400, body: { error: { details } } });
    expect(await read()).toEqual(created);
  });
});
