import { describe, expect, test } from 'vitest';
import { productStatements, updateCatalogProduct } from '../src/catalog/repository.ts';
import { parseJson } from '../src/db/index.ts';
import { useDashboard } from './support/dashboard.ts';
import { failed, rejected } from './support/faults.ts';
import { interrupted } from './support/races.ts';
import { product } from './support/records.ts';
import type { Agency } from './support/service.ts';

const DAYS_30 = 30 * 24 * 60 * 60 * 1_000;
const { service, dashboard } = await useDashboard();

test('the story of a product: create, read, change, list, archive', async () => {
  const agency = await service.agency();

  // Create. A field that is not sent has its default, or is null or an empty list.
  const sent = {
    title: 'Oaxaca, Día de Muertos',
    type: 'experience',
    currency: 'MXN',
    fromPrice: 14_900,
    includes: ['hotel'],
    variants: [{ label: 'Habitación doble', fromPrice: 14_900 }],
  };
  const created = await agency.post('/v1/catalog/products', sent);
  expect(created.status).toBe(201);
  expect(created.body).toMatchObject({
    ...sent,
    ...{ status: 'active', pricingMode: 'per_person', budgetTier: null, priceMax: null, excludes: [] },
    variants: [{ ...sent.variants[0], id: expect.any(String), position: 0 }],
  });

  // Read.
  const { id } = created.body;
  expect(await agency.get(`/v1/catalog/products/${id}`)).toMatchObject({ status: 200, body: created.body });

  // PATCH changes one field, clears another with null, and leaves the rest as it is, variants too.
  const changed = await agency.patch(`/v1/catalog/products/${id}`, { status: 'paused', fromPrice: null });
  const changes = { status: 'paused', fromPrice: null, updatedAt: expect.any(String) };
  expect(changed.status).toBe(200);
  expect(changed.body).toEqual({ ...created.body, ...changes });

  // List: most recently updated first. The total counts what the filter matches, on all pages.
  const { body: lima } = await agency.post('/v1/catalog/products', { title: 'Lima' });
  const pagination = { limit: 1, offset: 0, total: 2 };
  expect((await agency.get('/v1/catalog/products?limit=1')).body).toEqual({ data: [lima], pagination });

  const notFound = failed(404, 'CATALOG_PRODUCT_NOT_FOUND');
  // Archive: the product is gone. The dashboard can restore it for 30 days.
  const archived = { status: 200, body: { id, archivedAt: expect.any(String) } };
  expect(await agency.delete(`/v1/catalog/products/${id}`)).toMatchObject(archived);
  expect(await agency.get(`/v1/catalog/products/${id}`)).toMatchObject(notFound);
  expect((await agency.get('/v1/catalog/products')).body.data).toEqual([lima]);
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

test('a PATCH that finds its product archived, and then restored, is written; one that changes nothing is not repeated', async () => {
  const agency = await service.agency();
  const { created, restore } = await archivedProduct(agency, 1_000);
  const { scope, ran } = interrupted(agency.scope, 'products.get', restore);
  const update = async (id: string) =>
    parseJson(await updateCatalogProduct(scope, productStatements, id, { title: 'Mérida' }));
  expect(await update(created.id)).toMatchObject({ title: 'Mérida' });
  const repeated = ran.splice(0);
  await update(created.id);
  expect([repeated, ran]).toEqual([
    [ran[0], 'products.get', ran[0]],
    [ran[0], 'products.get'],
  ]);
});

test('a destination can have 1,000 characters of any script; the filter finds it up to 600', async () => {
  const agency = await service.agency();
  // PostgreSQL cannot compress them.
  const han = (length: number) =>
    String.fromCodePoint(...Array.from({ length }, (_, at) => 0x20000 + ((at * 7_919) % 40_000)));
  const destinations = [han(600), han(1_000)];
  const made = await product(agency, { destinations });
  expect(made.destinations).toEqual(destinations);
  const list = await agency.get(`/v1/catalog/products?destination=${encodeURIComponent(han(600))}`);
  expect(list.body.data).toEqual([made]);
});

describe('variants in a PATCH of the dashboard', () => {
  async function productWithVariants() {
    const agency = await service.agency();
    const variant = { fromPrice: 10.5, includes: ['Hotel'], currency: 'USD', status: 'paused' };
    const variants = ['Alta', 'Media', 'Baja'].map((label) => ({ label, ...variant }));
    const created = await product(agency, { variants });
    const path = `/catalog/products/${created.id}`;
    const patch = (body: object) => dashboard.of(agency).patch(path, body);
    const read = async () => (await agency.get(`/v1${path}`)).body;
    const ids: string[] = created.variants.map(({ id }: { id: string }) => id);
    return { agency, created, patch, read, ids };
  }

  test('change nothing if they are sent as they were read, by their ids alone, or not at all', async () => {
    const { created, patch, read, ids } = await productWithVariants();
    for (const variants of [created.variants, ids.map((id) => ({ id })), undefined])
      expect((await patch({ variants })).body).toMatchObject(created);
    expect(await read()).toEqual(created);
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
    const again = ids[0]?.toUpperCase();
    const variants = [{ id: other.variants[0].id }, { id: ids[0] }, { id: again }, { durationHours: 2 }];
    const errors = rejected(
      ['body.variants[0].id', 'is not the id of a variant of this product'],
      ['body.variants[2].id', 'must not be repeated'],
      ['body.variants[3].label', 'is required'],
    );
    expect(await patch({ destinations: ['Oaxaca'], variants })).toMatchObject(errors);
    expect(await read()).toEqual(created);
  });
});
