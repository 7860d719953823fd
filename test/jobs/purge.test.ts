import { beforeEach, describe, expect, test } from 'vitest';
import { RETENTION_DAYS } from '../../src/catalog/retention.ts';
import { createLogger } from '../../src/http/logging.ts';
import { withJobLock } from '../../src/jobs/lock.ts';
import { purgeProducts } from '../../src/jobs/purge.ts';
import { JOBS } from '../../src/jobs/schedule.ts';
import { countAtWork, hold } from '../support/databases.ts';
import { type Agency, useService } from '../support/service.ts';

const DAY = 24 * 3_600_000;
const RETENTION_MS = RETENTION_DAYS * DAY;
const NOW = Date.parse('2026-11-21T12:00:00.000Z');

const service = useService();
// The purge goes over all organizations.
beforeEach(() => service.query('delete from products'));

const silent = createLogger('silent');

/** A product with two variants, archived that long before NOW; live without `ago`. */
async function product(agency: Agency, title: string, ago?: number): Promise<string> {
  const { body } = await agency.post('/v1/catalog/products', {
    title,
    variants: [{ label: 'Low season' }, { label: 'High season' }],
  });
  if (ago !== undefined) {
    await agency.delete(`/v1/catalog/products/${body.id}`);
    await service.query('update products set archived_at = $2 where id = $1', [body.id, new Date(NOW - ago)]);
  }
  return body.id;
}

const remaining = async (): Promise<{ products: string[]; variants: number }> => {
  const products = await service.query<{ title: string; variants: number }>(
    'select title, json_array_length(variants) as variants from products order by title',
  );
  const variants = products.reduce((sum, { variants }) => sum + variants, 0);
  return { products: products.map(({ title }) => title), variants };
};

describe('purgeProducts', () => {
  test('takes what was archived more than 30 days ago with its variants, of every organization, and nothing else', async () => {
    const agency = await service.agency();
    const neighbour = await service.agency();
    await product(agency, 'live');
    await product(agency, 'archived a millisecond less than 30 days ago', RETENTION_MS - 1);
    await product(agency, 'archived exactly 30 days ago', RETENTION_MS);
    await product(agency, 'archived a millisecond more than 30 days ago', RETENTION_MS + 1);
    await product(agency, 'archived a year ago', 365 * DAY);
    await product(neighbour, "neighbour's live");
    await product(neighbour, "neighbour's archived yesterday", DAY);
    await product(neighbour, "neighbour's archived 31 days ago", RETENTION_MS + DAY);

    expect(await purgeProducts({ db: service.db, logger: silent, now: NOW })).toEqual({
      products: 3,
      variants: 6,
    });
    expect(await remaining()).toEqual({
      products: [
        'archived a millisecond less than 30 days ago',
        'archived exactly 30 days ago',
        'live',
        "neighbour's archived yesterday",
        "neighbour's live",
      ],
      variants: 10,
    });
    const { body: list } = await agency.get('/v1/catalog/products');
    expect(list.pagination.total).toBe(1);
    expect(list.data[0].variants).toHaveLength(2);
  });

  test('works in bounded batches, oldest first, and a stopped run goes on where it was', async () => {
    const agency = await service.agency();
    for (let days = 31; days <= 35; days += 1) {
      await product(agency, `archived ${days} days ago`, days * DAY);
    }
    const stop = new AbortController();
    const logger = createLogger('info', {
      write: (line) => {
        if (JSON.parse(line).productId !== undefined) stop.abort();
      },
    });
    const run = { db: service.db, now: NOW, batchSize: 2 };

    expect(await purgeProducts({ ...run, logger, signal: stop.signal })).toEqual({
      products: 2,
      variants: 4,
    });
    expect(await remaining()).toEqual({
      products: ['archived 31 days ago', 'archived 32 days ago', 'archived 33 days ago'],
      variants: 6,
    });
    expect(await purgeProducts({ ...run, logger: silent })).toEqual({ products: 3, variants: 6 });
    expect(await purgeProducts({ ...run, logger: silent })).toEqual({ products: 0, variants: 0 });
    expect(await remaining()).toEqual({ products: [], variants: 0 });
  });

  test('waits for a product that is being restored at that moment, and leaves it alone', async () => {
    const agency = await service.agency();
    const id = await product(agency, 'on its way back', RETENTION_MS + 1);
    await product(agency, 'gone', RETENTION_MS + 2);
    const letGo = await hold(service.url, 'update products set archived_at = null where id = $1', [id]);
    const purging = purgeProducts({ db: service.db, logger: silent, now: NOW });
    await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
    await letGo();
    expect(await purging).toEqual({ products: 1, variants: 2 });
    expect((await remaining()).products).toEqual(['on its way back']);
  });

  test('logs each product that it removed by its ids, without its texts', async () => {
    const agency = await service.agency();
    const id = await product(agency, 'planted-title', RETENTION_MS + 1);
    const lines: string[] = [];
    const logger = createLogger('info', { write: (line) => lines.push(line) });
    await purgeProducts({ db: service.db, logger, now: NOW });
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        msg: 'purged a product',
        organizationId: agency.id,
        productId: id,
        archivedAt: new Date(NOW - RETENTION_MS - 1).toISOString(),
        variants: 2,
      },
      { products: 1, variants: 2, stopped: false },
    ]);
    expect(lines.join()).not.toMatch(/planted|season/i);
  });
});

describe('withJobLock', () => {
  const running = new AbortController().signal;

  test('lets one instance run at a time; the next one runs when it has finished', async () => {
    const finish = Promise.withResolvers<string>();
    const started = Promise.withResolvers<void>();
    const first = withJobLock(
      service.url,
      JOBS.purge.lock,
      () => {
        started.resolve();
        return finish.promise;
      },
      running,
    );
    await started.promise;
    const again = () => withJobLock(service.url, JOBS.purge.lock, async () => 'ran as well', running);
    expect(await again()).toBeUndefined();
    expect(await withJobLock(service.url, JOBS['sweep-files'].lock, async () => 'another job', running)).toBe(
      'another job',
    );
    finish.resolve('ran');
    expect(await first).toBe('ran');
    expect(await again()).toBe('ran as well');
  });

  test('is released when the work fails', async () => {
    const failing = withJobLock(
      service.url,
      JOBS.purge.lock,
      () => Promise.reject(new Error('the disk is full')),
      running,
    );
    await expect(failing).rejects.toThrow('the disk is full');
    expect(await withJobLock(service.url, JOBS.purge.lock, async () => 'ran', running)).toBe('ran');
  });

  test('tells the work to stop when asked to, and when the connection that holds the lock breaks', async () => {
    const untilStopped = (signal: AbortSignal) =>
      new Promise<string>((done) => {
        if (signal.aborted) done('stopped');
        signal.addEventListener('abort', () => done('stopped'));
      });
    const stop = new AbortController();
    const asked = withJobLock(service.url, JOBS['sweep-files'].lock, untilStopped, stop.signal);
    const broken = withJobLock(
      service.url,
      JOBS.purge.lock,
      async (signal) => {
        await service.query(
          `select pg_terminate_backend(pid) from pg_locks join pg_database on pg_database.oid = pg_locks.database
           where datname = current_database() and locktype = 'advisory' and granted and objid = $1`,
          [JOBS.purge.lock % 2 ** 32],
        );
        return untilStopped(signal);
      },
      running,
    );
    expect(await broken).toBe('stopped');
    stop.abort();
    expect(await asked).toBe('stopped');
  });
});
