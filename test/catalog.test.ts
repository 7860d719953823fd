import { describe, expect, test } from 'vitest';
import { useDashboard } from './support/dashboard.ts';
import { product } from './support/records.ts';
import type { Agency } from './support/service.ts';

const MONTH = 30 * 24 * 60 * 60 * 1_000;
const clock = { now: Date.now() };
const { service, dashboard } = useDashboard(() => ({ now: () => clock.now }));

const PRODUCTS = '/v1/catalog/products';

test('a product from its creation to its archive, as an integration sees it', async () => {
  const agency = await service.agency();
  const other = await service.agency();

  const created = await agency.post(PRODUCTS, {
    title: 'Oaxaca, Día de Muertos',
    type: 'experience',
    currency: 'MXN',
    fromPrice: 14_900,
    includes: ['hotel'],
    externalReferenceCode: 'OAX-11',
    variants: [{ label: 'Habitación doble', fromPrice: 14_900 }],
  });
  const empty = {
    budgetTier: null,
    capacityMin: null,
    capacityMax: null,
    coverImage: null,
    description: null,
    shortDescription: null,
    specialConditions: null,
    destinations: [],
    durationDays: null,
    durationHours: null,
    excludes: [],
    gallery: [],
    priceMax: null,
    operator: null,
    priceBasis: null,
    validFrom: null,
    validUntil: null,
  };
  const variant = {
    id: expect.any(String),
    label: 'Habitación doble',
    position: 0,
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
    fromPrice: 14_900,
    priceMax: null,
  };
  expect(created.status).toBe(201);
  expect(created.body).toEqual({
    ...empty,
    id: expect.any(String),
    title: 'Oaxaca, Día de Muertos',
    type: 'experience',
    status: 'active',
    pricingMode: 'per_person',
    currency: 'MXN',
    fromPrice: 14_900,
    includes: ['hotel'],
    externalReferenceCode: 'OAX-11',
    variants: [variant],
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  });
  const url = `${PRODUCTS}/${created.body.id}`;
  expect(await agency.get(url)).toMatchObject({ status: 200, body: created.body });

  // A PATCH changes one field, and null clears another; the variants stay.
  const patched = await agency.patch(url, { status: 'paused', fromPrice: null });
  expect(patched.body).toEqual({
    ...created.body,
    status: 'paused',
    fromPrice: null,
    updatedAt: expect.any(String),
  });

  // A body with errors names each of them, and changes nothing.
  expect(await agency.patch(url, { title: '', status: 'sold' })).toMatchObject({
    status: 400,
    body: {
      error: { code: 'VALIDATION_FAILED', details: [{ path: 'body.title' }, { path: 'body.status' }] },
    },
  });
  expect((await agency.get(url)).body).toEqual(patched.body);

  const { body: lima } = await agency.post(PRODUCTS, { title: 'Lima' });
  expect((await agency.get(`${PRODUCTS}?limit=1&offset=1`)).body).toEqual({
    data: [patched.body],
    pagination: { limit: 1, offset: 1, total: 2 },
  });
  expect((await agency.get(`${PRODUCTS}?status=active`)).body).toMatchObject({
    data: [lima],
    pagination: { total: 1 },
  });
  expect((await agency.get(`${PRODUCTS}?query=dia+de`)).body).toMatchObject({ data: [patched.body] });

  // Another organization sees nothing of it.
  expect((await other.get(PRODUCTS)).body.pagination.total).toBe(0);
  for (const reply of [await other.get(url), await other.patch(url, { title: 'x' }), await other.delete(url)])
    expect(reply).toMatchObject({ status: 404, body: { error: { code: 'CATALOG_PRODUCT_NOT_FOUND' } } });

  expect(await agency.delete(url)).toMatchObject({
    status: 200,
    body: { id: created.body.id, archivedAt: expect.any(String) },
  });
  expect([(await agency.get(url)).status, (await agency.delete(url)).status]).toEqual([404, 404]);
  expect((await agency.get(PRODUCTS)).body).toMatchObject({ data: [lima], pagination: { total: 1 } });
});

/** A product of the agency that was archived so long before the clock's now. */
async function archived(agency: Agency, ago: number) {
  const made = await product(agency, { variants: [{ label: 'Temporada alta', fromPrice: 10.5 }] });
  await agency.delete(`${PRODUCTS}/${made.id}`);
  const moment = new Date(clock.now - ago).toISOString();
  await service.query('update products set archived_at = $2 where id = $1', [made.id, moment]);
  const call = dashboard.of(agency);
  const list = async () => (await call.get('/catalog/products?archived=true')).body;
  const restore = () => call.post(`/catalog/products/${made.id}/restore`);
  return { made, moment, list, restore };
}

test('an archived product can be restored for exactly 30 days; archived products are listed latest first', async () => {
  const agency = await service.agency();
  const newer = await archived(agency, MONTH / 2);
  const { made, moment, list, restore } = await archived(agency, MONTH);
  const updatedAt = expect.any(String);
  const at = (milliseconds: number) => new Date(milliseconds).toISOString();
  expect((await list()).data).toEqual([
    { ...newer.made, updatedAt, archivedAt: newer.moment, purgeAt: at(clock.now + MONTH / 2) },
    { ...made, updatedAt, archivedAt: moment, purgeAt: at(clock.now) },
  ]);
  clock.now += 1;
  expect([(await list()).pagination.total, (await restore()).status]).toEqual([1, 404]);
  clock.now -= 1;
  expect(await restore()).toMatchObject({ status: 200, body: { ...made, updatedAt } });
});

test('20 simultaneous requests restore it once, and the total of /v1 stays right', async () => {
  const agency = await service.agency();
  const { restore } = await archived(agency, MONTH / 2);
  const answers = await Promise.all(Array.from({ length: 20 }, restore));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)]);
  expect((await agency.get(PRODUCTS)).body.pagination.total).toBe(1);
});

describe('variants in a PATCH of the dashboard', () => {
  const LABELS = ['Alta', 'Media', 'Baja'];
  async function offered() {
    const agency = await service.agency();
    const variants = LABELS.map((label) => ({
      label,
      fromPrice: 10.5,
      includes: ['Hotel'],
      currency: 'USD',
    }));
    const made = await product(agency, { variants });
    const path = `/catalog/products/${made.id}`;
    const patch = (body: object, headers = {}) => dashboard.of(agency).patch(path, body, { headers });
    const read = async () => (await agency.get(`/v1${path}`)).body;
    return { agency, made, patch, read, ids: made.variants.map(({ id }: { id: string }) => id) };
  }
  test('that are sent back as they were read change nothing, and stay where another field is sent', async () => {
    const { made, patch, read } = await offered();
    const strict = { prefer: 'handling=strict' };
    expect((await patch({ variants: made.variants }, strict)).body).toEqual(made);
    expect((await patch({ variants: made.variants.map(({ id }: { id: string }) => ({ id })) })).body).toEqual(
      made,
    );
    expect(await read()).toEqual(made);
    expect((await patch({ destinations: ['Oaxaca'] })).body.variants).toEqual(made.variants);
  });

  test('of another product, repeated or new without a label are 400, each named, and nothing changes', async () => {
    const { agency, made, patch, read, ids } = await offered();
    const other = await product(agency, { variants: [{ label: 'Otra' }] });
    const sent = [
      { id: other.variants[0].id },
      { id: ids[0] },
      { id: ids[0].toUpperCase() },
      { durationHours: 2 },
    ];
    const { status, body } = await patch({ destinations: ['Oaxaca'], variants: sent });
    expect([status, body.error.details]).toEqual([
      400,
      [
        { path: 'body.variants[0].id', message: 'is not the id of a variant of this product' },
        { path: 'body.variants[2].id', message: 'must not be repeated' },
        { path: 'body.variants[3].label', message: 'is required' },
      ],
    ]);
    expect(await read()).toEqual(made);
    expect((await agency.get(`/v1/catalog/products/${other.id}`)).body).toEqual(other);
  });

  test('count toward the text limit of the product, unchanged variants too', async () => {
    const { agency, patch, read, ids } = await offered();
    const description = 'x'.repeat(50_000);
    const long = (count: number) => Array.from({ length: count }, () => ({ label: 'x', description }));
    const { body: full } = await patch({ variants: [...long(4), { id: ids[0] }] });
    const kept = full.variants.map(({ id }: { id: string }) => ({ id }));
    const { status, body } = await patch({ variants: [...kept, ...long(2)] });
    expect([status, body.error.details[0].path]).toEqual([400, 'body.variants[0].description']);
    expect(await read()).toEqual(full);
    expect((await agency.patch(`/v1/catalog/products/${full.id}`, { description: 'x' })).status).toBe(200);
  });
});
