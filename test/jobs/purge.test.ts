import { beforeEach, expect, test } from 'vitest';
import type { Database } from '../../src/db/index.ts';
import { createLogger } from '../../src/http/logging.ts';
import type { JobContext } from '../../src/jobs/context.ts';
import { purgeProducts, sweepIdempotencyKeys } from '../../src/jobs/purge.ts';
import { countAtWork, hold } from '../support/databases.ts';
import { findDrift } from '../support/drift.ts';
import { ownLog } from '../support/instance.ts';
import { product } from '../support/records.ts';
import { type Agency, useService } from '../support/service.ts';

const service = await useService();
// Both delete from all organizations.
beforeEach(() => service.query('delete from products; truncate idempotency_keys'));

/** A product with variants that was archived so long ago, by the clock of the database. */
async function archivedProduct(agency: Agency, title: string, ago: string): Promise<string> {
  const variants = [{ label: 'Low season' }, { label: 'High season' }];
  const { id } = await product(agency, { title, variants });
  await service.query('update products set archived_at = now() - $2::interval where id = $1', [id, ago]);
  return id;
}

const titles = async (): Promise<string[]> =>
  (await service.query('select title from products order by title')).map(({ title }) => title);

const purge = (options: Partial<JobContext> = {}) =>
  purgeProducts({ db: service.db, logger: createLogger('silent'), ...options });

test('the purge deletes what was archived more than 30 days ago by the clock of the database, of every organization, oldest first, and nothing else; it logs ids without texts, and the next run resumes a stopped one', async () => {
  const [agency, neighbour] = [await service.agency(), await service.agency()];
  await product(agency, { title: 'active' });
  await archivedProduct(neighbour, 'almost', '719:30 hours');
  await archivedProduct(agency, 'new', '0 s');
  const due = [
    await archivedProduct(agency, 'oldest', '720:00:20'),
    await archivedProduct(neighbour, 'old', '720:00:10'),
    await archivedProduct(agency, 'due', '720:00'),
  ];
  const stop = new AbortController();
  const { logger, lines } = ownLog('info', () => stop.abort());
  expect(await purge({ batchSize: 2, logger, signal: stop.signal })).toEqual({ products: 2 });
  expect(lines.map(({ productId }) => productId).sort()).toEqual(due.slice(0, 2).sort());
  expect(JSON.stringify(lines)).not.toMatch(/old|season/i);
  expect(await titles()).toEqual(['active', 'almost', 'due', 'new']);
  expect(await purge({ batchSize: 2 })).toEqual({ products: 1 });
  expect(await titles()).toEqual(['active', 'almost', 'new']);
  expect(await findDrift(service, agency, neighbour)).toEqual([]);
});

// Of NO ACTION, the default, the purge would fail for each product that another record refers to.
test('every foreign key to products says what a purge does to its rows', async () => {
  const keys = `select conname from pg_constraint where confrelid = 'products'::regclass and confdeltype = 'a'`;
  expect(await service.query(keys)).toEqual([]);
});

test('the purge waits for a restore of a product, and keeps the product', async () => {
  const agency = await service.agency();
  const id = await archivedProduct(agency, 'restored', '721:00');
  await archivedProduct(agency, 'archived', '722:00');
  const commit = await hold(service.url, 'update products set archived_at = null where id = $1', [id]);
  const purging = purge();
  await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
  await commit();
  expect(await purging).toEqual({ products: 1 });
  expect(await titles()).toEqual(['restored']);
});

/** Uses an idempotency key of this name, and dates the use back. */
async function useKey(agency: Agency, name: string, age: string): Promise<void> {
  const headers = { 'idempotency-key': name };
  const { body } = await agency.post('/v1/catalog/products', { title: name }, { headers });
  const setAge = 'update idempotency_keys set created_at = now() - $2::interval where record_id = $1';
  await service.query(setAge, [body.id, age]);
}

/** The titles of the products whose keys are stored. */
const keys = async (): Promise<string[]> => {
  const stored = `select title from idempotency_keys join products using (organization_id) where id = record_id
    order by title`;
  return (await service.query(stored)).map(({ title }) => title);
};

test('the sweep removes keys that are older than a day, of every organization, in batches', async () => {
  const [agency, neighbour] = [await service.agency(), await service.agency()];
  await useKey(agency, 'new', '0 s');
  await useKey(agency, 'less than a day', '23 h 30 min');
  await useKey(agency, 'planted', '24 h 1 s');
  await useKey(agency, 'planted long ago', '30 days');
  await useKey(neighbour, "neighbour's new", '1 h');
  await useKey(neighbour, "neighbour's planted", '25 h');
  const stop = new AbortController();
  const write: Database['write'] = (...of) => service.db.write(...of).finally(() => stop.abort());
  const stopping: Database = { ...service.db, write };
  const run = { logger: createLogger('silent'), batchSize: 2 };
  expect(await sweepIdempotencyKeys({ ...run, db: stopping, signal: stop.signal })).toEqual({ keys: 2 });
  expect(await keys()).toEqual(['less than a day', "neighbour's new", 'new', 'planted']);
  expect(await sweepIdempotencyKeys({ ...run, db: service.db })).toEqual({ keys: 1 });
  expect(await keys()).toEqual(['less than a day', "neighbour's new", 'new']);
  expect((await agency.get('/v1/catalog/products')).body.pagination.total).toBe(4);
});

test('the sweep keeps a key that is used again at the same time', async () => {
  const agency = await service.agency();
  await useKey(agency, 'used again', '25 h');
  const commit = await hold(service.ownerUrl, 'update idempotency_keys set created_at = now()');
  const sweeping = sweepIdempotencyKeys({ db: service.db, logger: createLogger('silent') });
  await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
  await commit();
  expect(await sweeping).toEqual({ keys: 0 });
  expect(await keys()).toEqual(['used again']);
});
