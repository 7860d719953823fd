import { beforeEach, expect, test } from 'vitest';
import type { Database } from '../../src/db/index.ts';
import { sweepIdempotencyKeys } from '../../src/jobs/purge.ts';
import { countAtWork, hold } from '../support/databases.ts';
import { ownLog } from '../support/instance.ts';
import { type Agency, useService } from '../support/service.ts';

const service = await useService();
// The sweep deletes from all organizations.
beforeEach(() => service.query('truncate idempotency_keys'));

/** Uses an idempotency key of this name, and dates the use back. */
async function useKey(agency: Agency, name: string, age: string): Promise<void> {
  const headers = { 'idempotency-key': name };
  const { body } = await agency.post('/v1/catalog/products', { title: name }, { headers });
  await service.query(
    'update idempotency_keys set created_at = now() - $2::interval where organization_id = $1 and record_id = $3',
    [agency.id, age, body.id],
  );
}

const remaining = async (): Promise<string[]> => {
  const rows = await service.query<{ title: string }>(
    `select title from idempotency_keys join products
      on products.organization_id = idempotency_keys.organization_id and id = record_id order by title`,
  );
  return rows.map(({ title }) => title);
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
  const stopping: Database = {
    ...service.db,
    write: (statement, values) => service.db.write(statement, values).finally(() => stop.abort()),
  };
  const run = { logger: ownLog().logger, batchSize: 2 };
  expect(await sweepIdempotencyKeys({ ...run, db: stopping, signal: stop.signal })).toEqual({ keys: 2 });
  expect(await remaining()).toEqual(['less than a day', "neighbour's new", 'new', 'planted']);
  expect(await sweepIdempotencyKeys({ ...run, db: service.db })).toEqual({ keys: 1 });
  expect(await remaining()).toEqual(['less than a day', "neighbour's new", 'new']);
  expect((await agency.get('/v1/catalog/products')).body.pagination.total).toBe(4);
});

test('the sweep keeps a key that is used again at the same time', async () => {
  const agency = await service.agency();
  await useKey(agency, 'used again', '25 h');
  const commit = await hold(service.ownerUrl, 'update idempotency_keys set created_at = now()');
  const sweeping = sweepIdempotencyKeys({ db: service.db, logger: ownLog().logger });
  await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
  await commit();
  expect(await sweeping).toEqual({ keys: 0 });
  expect(await remaining()).toEqual(['used again']);
});
