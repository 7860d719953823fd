import { expect, test } from 'vitest';
import { useDashboard } from './support/dashboard.ts';
import { product } from './support/records.ts';
import type { Agency } from './support/service.ts';

const MONTH = 30 * 24 * 60 * 60 * 1_000;
const clock = { now: Date.now() };
const { service, dashboard } = useDashboard(() => ({ now: () => clock.now }));

const PRODUCTS = '/v1/catalog/products';

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

test('products can be restored to the last moment of the 30 days and not later, and are listed the latest archived first', async () => {
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

test('20 requests at once restore it once, and the count of /v1 stays true', async () => {
  const agency = await service.agency();
  const { restore } = await archived(agency, MONTH / 2);
  const answers = await Promise.all(Array.from({ length: 20 }, restore));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)]);
  expect((await agency.get(PRODUCTS)).body.pagination.total).toBe(1);
});
