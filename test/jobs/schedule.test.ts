import { describe, expect, test } from 'vitest';
import { createLogger } from '../../src/http/logging.ts';
import type { JobContext } from '../../src/jobs/context.ts';
import { withJobLock } from '../../src/jobs/lock.ts';
import { type Job, startJobs } from '../../src/jobs/schedule.ts';
import { useService } from '../support/service.ts';

const service = useService();
const LOCK = 1;

const DAY_MS = 24 * 60 * 60 * 1_000;

/** An hour takes a millisecond. */
const schedule = (
  jobs: Record<string, Job>,
  write: (line: string) => void = () => undefined,
  jobFailed: () => void = () => undefined,
) =>
  startJobs({
    metrics: { jobDone: () => undefined, jobFailed },
    db: service.db,
    url: service.url,
    storage: service.storage,
    logger: createLogger('info', { write }),
    jobs,
    firstRun: 0,
    hour: 1,
  });

test('a job is repeated, also after a failure, which is logged and counted', async () => {
  const lines: string[] = [];
  let runs = 0;
  let failed = 0;
  const run = async () => {
    runs += 1;
    if (runs === 1) throw new Error('the database restarts');
    return {};
  };
  const jobs = schedule(
    { purge: { lock: LOCK, every: 1, run } },
    (line) => lines.push(line),
    () => {
      failed += 1;
    },
  );
  await expect.poll(() => runs).toBeGreaterThanOrEqual(3);
  await jobs.stop();
  expect(failed).toBe(1);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { msg: 'a job failed', job: 'purge', err: { message: 'the database restarts' } },
  ]);
});

test('a daily job that failed is retried after an hour, and then runs daily again', async () => {
  const runs: string[] = [];
  const daily = async () => {
    runs.push('daily');
    if (runs.length === 1) throw new Error('the database restarts');
    return {};
  };
  const other = Promise.withResolvers<void>();
  let others = 0;
  const often = async () => {
    if (runs.length >= 2) others += 1;
    if (others === 20) other.resolve();
    return {};
  };
  const jobs = schedule({
    daily: { lock: LOCK, every: DAY_MS, run: daily },
    often: { lock: LOCK + 1, every: 1, run: often },
  });
  await other.promise;
  await jobs.stop();
  expect(runs).toHaveLength(2);
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
  const jobs = schedule({ purge: { lock: LOCK, every: 1, run } });
  await started.promise;
  await jobs.stop();
  expect(events).toEqual(['the batch ended']);
});

test('one of three instances runs the job at a time', async () => {
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

describe('withJobLock', () => {
  const locked = <Result>(lock: number, work: (signal: AbortSignal) => Promise<Result>, stop?: AbortSignal) =>
    withJobLock(service.url, lock, work, stop ?? new AbortController().signal);
  const another = (lock = LOCK) => locked(lock, async () => 'ran as well');

  test('excludes other processes until the work ends, also if it fails', async () => {
    const finish = Promise.withResolvers<string>();
    const started = Promise.withResolvers<void>();
    const first = locked(LOCK, () => {
      started.resolve();
      return finish.promise;
    });
    await started.promise;
    expect(await another()).toBeUndefined();
    expect(await another(LOCK + 1)).toBe('ran as well');
    finish.resolve('ran');
    expect(await first).toBe('ran');
    const failing = locked(LOCK, () => Promise.reject(new Error('the disk is full')));
    await expect(failing).rejects.toThrow('the disk is full');
    expect(await another()).toBe('ran as well');
  });

  test('aborts the work on stop, and when the connection with the lock breaks', async () => {
    const untilStopped = (signal: AbortSignal) =>
      new Promise<string>((done) => {
        if (signal.aborted) done('stopped');
        signal.addEventListener('abort', () => done('stopped'));
      });
    const stop = new AbortController();
    const stopped = locked(LOCK + 1, untilStopped, stop.signal);
    const broken = locked(LOCK, async (signal) => {
      await service.query(
        `select pg_terminate_backend(pid) from pg_locks join pg_database on pg_database.oid = pg_locks.database
           where datname = current_database() and locktype = 'advisory' and granted and objid = $1`,
        [LOCK],
      );
      return untilStopped(signal);
    });
    expect(await broken).toBe('stopped');
    stop.abort();
    expect(await stopped).toBe('stopped');
  });
});
