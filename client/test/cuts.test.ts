import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CuttingProxy, startCuttingProxy } from '../../test/support/cutting-proxy.ts';
import { useService } from '../../test/support/service.ts';
import { listen } from '../../test/support/socket.ts';
import { createClient } from '../src/index.ts';

const service = useService();
let proxy: CuttingProxy;

beforeAll(async () => {
  proxy = await startCuttingProxy((await listen(service)).origin, EVERY);
});
afterAll(() => proxy.close());

const EVERY = 11;
const CREATES = 330;

test(`${CREATES} creates create ${CREATES} records although every ${EVERY}th connection is cut`, async () => {
  const agency = await service.agency();
  const crm = createClient({ apiKey: agency.key, baseUrl: proxy.origin });
  const titles = Array.from({ length: CREATES }, (_, index) => `Product ${index}`);
  const waiting = titles.values();
  const ids = new Set<string>();
  const worker = async () => {
    for (const title of waiting) ids.add((await crm.products.create({ title })).id);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  expect(proxy.cuts()).toBeGreaterThanOrEqual(CREATES / EVERY);
  expect(ids.size).toBe(CREATES);
  const stored = await service.query<{ title: string }>(
    'select title from products where organization_id = $1',
    [agency.id],
  );
  expect(stored.map(({ title }) => title).sort()).toEqual(titles.toSorted());
});
