import { expect, test } from 'vitest';
import { useDashboard } from './support/dashboard.ts';
import { product } from './support/records.ts';
import type { Agency } from './support/service.ts';

const MONTH = 30 * 24 * 60 * 60 * 1_000;
const clock = { now: Date.now() };
const { service, dashboard } = useDashboard(() => ({ now: () => clock.now }));

const PRODUCTS = '/v1/catalog/products';

/** A product of the agency that was archived so long before the clock's now. */
async function archived(ago: number, own?: Agency) {
  const agency = own ?? (await service.agency());
  const made = await product(agency, { variants: [{ label: 'Temporada alta', fromPrice: 10.5 }] });
  await agency.delete(`${PRODUCTS}/${made.id}`);
  const moment = new Date(clock.now - ago).toISOString();
  await service.query('update products set archived_at = $2 where id = $1', [made.id, moment]);
  const call = dashboard.of(agency);
  const list = async () => (await call.get('/catalog/products?archived=true')).body;
  const restore = () => call.post(`/catalog/products/${made.id}/restore`);
  return { agency, made, moment, list, restore };
}

test('products can be restored to the last moment of the 30 days, and are listed the latest archived first', async () => {
  const newer = await archived(MONTH / 2);
  const { made, moment, list, restore } = await archived(MONTH, newer.agency);
  const updatedAt = expect.any(String);
  const at = (milliseconds: number) => new Date(milliseconds).toISOString();
  expect((await list()).data).toEqual([
    { ...newer.made, updatedAt, archivedAt: newer.moment, purgeAt: at(clock.now + MONTH / 2) },
    { ...made, updatedAt, archivedAt: moment, purgeAt: at(clock.now) },
  ]);
  const { status, body } = await restore();
  expect([status, body]).toEqual([200, { ...made, updatedAt }]);
  expect((await list()).pagination.total).toBe(1);
});

test('past the 30 days it is not listed, and to restore it is 404 and changes nothing', async () => {
  const { agency, list, restore } = await archived(MONTH + 1);
  const before = await dashboard.stored(agency);
  expect((await list()).pagination.total).toBe(0);
  const { status, body } = await restore();
  expect([status, body.error.code]).toEqual([404, 'CATALOG_PRODUCT_NOT_FOUND']);
  expect(await dashboard.stored(agency)).toEqual(before);
});

test('20 requests at once restore it once, and the count of /v1 stays true', async () => {
  const { agency, restore } = await archived(MONTH / 2);
  const answers = await Promise.all(Array.from({ length: 20 }, restore));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)]);
  expect((await agency.get(PRODUCTS)).body.pagination.total).toBe(1);
});

test('a minimum may be above its maximum, and dates are text in any order', async () => {
  const crossed = {
    capacityMin: 9,
    capacityMax: 2,
    fromPrice: 9,
    priceMax: 2,
    validFrom: 'z',
    validUntil: 'a',
  };
  expect(await product(await service.agency(), crossed)).toMatchObject(crossed);
});

test('variants keep the order of the body, a hundred of them', async () => {
  const labels = Array.from({ length: 100 }, (_, index) => `v${(index * 37) % 100}`);
  const { variants } = await product(await service.agency(), {
    variants: labels.map((label) => ({ label })),
  });
  expect(variants.map(({ label }: { label: string }) => label)).toEqual(labels);
});
