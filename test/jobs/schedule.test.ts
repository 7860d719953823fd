import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createMetrics } from '../../src/http/metrics.ts';
import type { JobContext } from '../../src/jobs/context.ts';
import { withJobLock } from '../../src/jobs/lock.ts';
import { JOBS, type Job, startJobs } from '../../src/jobs/schedule.ts';
import { ownLog } from '../support/instance.ts';
import { startProxy } from '../support/proxy.ts';
import { useService } from '../support/service.ts';

const service = await useService();
const LOCK = 1;
const HOUR_MS = 3_600_000;

function schedule(jobs: Record<string, Job>) {
  const { logger, lines } = ownLog();
  const metrics = createMetrics(service.db);
  const { db, url, storage } = service;
  const { stop } = startJobs({ metrics, db, url, storage, logger, jobs, firstRun: 0 });
  return { stop, lines, metrics };
}

test('a job is repeated, after a failure within an hour; what failed is logged and counted, and what was removed is logged', async () => {
  const wait = vi.spyOn(timers, 'setTimeout').mockImplementation(async (_ms, value, { signal } = {}) => {
    signal?.throwIfAborted();
    return value as never;
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    wait.mockRestore();
    syncBuiltinESMExports();
  });
  let runs = 0;
  const run = async () => {
    runs += 1;
    if (runs === 1) throw new Error('the database restarts');
    return { keys: 2 };
  };
  const { stop, metrics, lines } = schedule({ purge: { lock: LOCK, every: 24 * HOUR_MS, run } });
  await expect.poll(() => runs).toBeGreaterThanOrEqual(3);
  await stop();
  expect(wait.mock.calls.map(([ms]) => ms).slice(0, 3)).toEqual([0, HOUR_MS, 24 * HOUR_MS]);
  const counted = await metrics.text();
  expect(counted).toContain('failed_jobs_total 1\n');
  expect(counted).toContain(`jobs_removed_total{kind="keys"} ${2 * (runs - 1)}\n`);
  expect(lines.slice(0, 2)).toMatchObject([
    { msg: 'a job failed', job: 'purge', err: { message: 'the database restarts' } },
    { msg: 'a job ran', job: 'purge', keys: 2 },
  ]);
});

test('stop waits until a run has finished its batch', async () => {
  const events: string[] = [];
  const started = Promise.withResolvers<void>();
  const run = async ({ signal }: JobContext) => {
    started.resolve();
    await new Promise((done) => signal?.addEventListener('abort', done));
    await service.query('select 1');
    events.push('the batch ended');
    return {};
  };
  const { stop } = schedule({ purge: { lock: LOCK, every: 1, run } });
  await started.promise;
  await stop();
  expect(events).toEqual(['the batch ended']);
});

test('one of three instances runs the job at a time, and each job has a lock of its own', async () => {
  const locks = Object.values(JOBS).map(({ lock }) => lock);
  expect(new Set(locks).size).toBe(locks.length);
  let running = 0;
  let most = 0;
  let runs = 0;
  const run = async () => {
    running += 1;
    most = Math.max(most, running);
    await service.query('select 1');
    running -= 1;
    runs += 1;
    return {};
  };
  const instances = [1, 2, 3].map(() => schedule({ purge: { lock: LOCK, every: 1, run } }));
  await expect.poll(() => runs).toBeGreaterThanOrEqual(20);
  await Promise.all(instances.map(({ stop }) => stop()));
  expect(most).toBe(1);
});

test('a run is stopped when the connection with its lock breaks', async () => {
  const { signal } = new AbortController();
  const work = async (signal: AbortSignal) => {
    const broken = new Promise((done) => signal.addEventListener('abort', () => done('stopped')));
    await service.query(
      `select pg_terminate_backend(pid) from pg_locks join pg_database on pg_database.oid = pg_locks.database
         where datname = current_database() and locktype = 'advisory' and granted and objid = $1`,
      [LOCK + 2],
    );
    return broken;
  };
  expect(await withJobLock(service.url, LOCK + 2, work, signal)).toBe('stopped');
});

test('a run ends although the connection with its lock hangs', async () => {
  const proxy = await startProxy(service.url);
  onTestFinished(proxy.close);
  const work = async () => proxy.freeze();
  await withJobLock(proxy.url, LOCK + 1, work, new AbortController().signal);
});
