import { beforeEach, expect, test } from 'vitest';
import { purgeCatalogProducts } from '../../src/catalog/repository.ts';
import { createLogger } from '../../src/http/logging.ts';
import type { JobContext } from '../../src/jobs/context.ts';
import { purgeProducts } from '../../src/jobs/purge.ts';
import { countAtWork, hold } from '../support/databases.ts';
import { findDrift } from '../support/drift.ts';
import { ownLog } from '../support/instance.ts';
import { product } from '../support/records.ts';
import { type Agency, useService } from '../support/service.ts';

const DAY = 24 * 3_600_000;
const RETENTION_MS = 30 * DAY;
/** Longer than a machine stands still during a test, shorter than a change of clocks. */
const MARGIN_MS = 30 * 60_000;

const service = useService();
// A purge deletes from all organizations.
beforeEach(() => service.query('delete from products'));

/** A product with two variants that was archived some milliseconds ago, by the clock of the database. */
async function archivedProduct(agency: Agency, title: string, ago: number): Promise<string> {
  const { id } = await product(agency, {
    title,
    variants: [{ label: 'Low season' }, { label: 'High season' }],
  });
  const archive = `update products set archived_at = now() - $2 * interval '1 millisecond' where id = $1`;
  await service.query(archive, [id, ago]);
  return id;
}

const titles = async (): Promise<string[]> =>
  (await service.query<{ title: string }>('select title from products order by title')).map(
    ({ title }) => title,
  );

const purge = (options: Partial<JobContext> = {}) =>
  purgeProducts({ db: service.db, logger: createLogger('silent'), ...options });

test('the purge deletes what was archived more than 30 days ago by the clock of the database, of every organization, oldest first, and nothing else', async () => {
  const [agency, neighbour] = [await service.agency(), await service.agency()];
  const { id: active } = await product(agency);
  const retained = [
    active,
    await archivedProduct(neighbour, 'retained', RETENTION_MS - MARGIN_MS),
    await archivedProduct(agency, 'retained', 0),
  ];
  const due = [
    await archivedProduct(agency, 'due', RETENTION_MS),
    await archivedProduct(neighbour, 'due', RETENTION_MS + 10_000),
    await archivedProduct(agency, 'due', RETENTION_MS + 20_000),
  ];
  const deleted = async () => (await purgeCatalogProducts(service.db, 2)).map(({ id }) => id).sort();
  expect(await deleted()).toEqual(due.slice(1).sort());
  expect(await deleted()).toEqual(due.slice(0, 1));
  expect(await deleted()).toEqual([]);
  const remaining = await service.query<{ id: string }>('select id from products order by id');
  expect(remaining.map(({ id }) => id)).toEqual(retained.sort());
  expect(await findDrift(service, agency, neighbour)).toEqual([]);
});

// Of NO ACTION, the default, the purge would fail for each product that another record refers to.
test('every foreign key to products says what a purge does to its rows', async () => {
  const keys = `select conname from pg_constraint where confrelid = 'products'::regclass and confdeltype = 'a'`;
  expect(await service.query(keys)).toEqual([]);
});

test('the purge works in batches, logs ids without texts, and the next run resumes a stopped one', async () => {
  const agency = await service.agency();
  for (let days = 31; days <= 35; days += 1) await archivedProduct(agency, `${days} days`, days * DAY);
  const stop = new AbortController();
  const { logger, lines } = ownLog('info', () => stop.abort());
  const stopped = await purge({ batchSize: 2, logger, signal: stop.signal });
  expect(stopped).toEqual({ products: 2, variants: 4 });
  const archivedAt = expect.stringMatching(/^2.*Z$/);
  const one = { organizationId: agency.id, productId: expect.any(String), variants: 2, archivedAt };
  expect(lines).toMatchObject([one, one]);
  expect(JSON.stringify(lines)).not.toMatch(/days|season/i);
  expect(await titles()).toEqual(['31 days', '32 days', '33 days']);
  expect(await purge({ batchSize: 2 })).toEqual({ products: 3, variants: 6 });
  expect(await titles()).toEqual([]);
});

test('the purge waits for a restore of a product, and keeps the product', async () => {
  const agency = await service.agency();
  const id = await archivedProduct(agency, 'restored', RETENTION_MS + 1);
  await archivedProduct(agency, 'archived', RETENTION_MS + 2);
  const commit = await hold(service.url, 'update products set archived_at = null where id = $1', [id]);
  const purging = purge();
  await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
  await commit();
  expect(await purging).toEqual({ products: 1, variants: 2 });
  expect(await titles()).toEqual(['restored']);
});
