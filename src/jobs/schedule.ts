import { setTimeout } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import type { Database } from '../db/run/client.ts';
import type { FileStorage } from '../files/storage.ts';
import { keepCopies } from './keep-copies.ts';
import { JOB_LOCKS, withJobLock } from './lock.ts';
import { type Purged, purgeProducts } from './purge.ts';
import { sweepFiles } from './sweep-files.ts';
import { sweepIdempotencyKeys } from './sweep-idempotency-keys.ts';

export type JobsOptions = {
  db: Database;
  /** A direct connection to the database, for the locks. */
  url: string;
  storage: FileStorage;
  logger: FastifyBaseLogger;
  now?: () => number;
  onPurged?: (purged: Purged) => void;
  onSwept?: (swept: { files: number }) => void;
  onKeysSwept?: (swept: { keys: number }) => void;
};

/** A task that runs again and again, on one instance at a time. */
export type Job = {
  name: string;
  lock: number;
  /** Milliseconds from the end of one run to the start of the next. */
  every: number;
  /** The first runs after a start, so many, are an hour apart at most. */
  hourly?: number;
  run: (signal: AbortSignal) => Promise<void>;
};

const HOUR_MS = 60 * 60 * 1_000;

/** Soon after the start: a service that is restarted every day must do its daily work too. */
const FIRST_RUN_MS = 60_000;

/** The jobs of this process. `stop` lets each finish its current batch. */
export function startJobs(options: JobsOptions): { stop: () => Promise<void> } {
  const { db, url, storage, logger, now = Date.now } = options;
  return scheduleJobs({ url, logger }, [
    {
      name: 'purge',
      lock: JOB_LOCKS.purge,
      every: HOUR_MS,
      run: async (signal) => options.onPurged?.(await purgeProducts({ db, logger, now: now(), signal })),
    },
    {
      name: 'sweep-files',
      lock: JOB_LOCKS.sweepFiles,
      every: 24 * HOUR_MS,
      run: async (signal) => options.onSwept?.(await sweepFiles({ db, storage, logger, now: now(), signal })),
    },
    {
      name: 'keep-copies',
      lock: JOB_LOCKS.keepCopies,
      every: 24 * HOUR_MS,
      // A release begins with a start. For some time an older one writes beside it, and knows nothing of its copies.
      hourly: 24,
      run: async (signal) => {
        await keepCopies({ db, logger, signal });
      },
    },
    {
      name: 'sweep-idempotency-keys',
      lock: JOB_LOCKS.sweepIdempotencyKeys,
      every: HOUR_MS,
      run: async (signal) => options.onKeysSwept?.(await sweepIdempotencyKeys({ db, logger, signal })),
    },
  ]);
}

/** Runs each job soon, and then at its interval. A job that fails is logged, and tried again after an hour at most. */
export function scheduleJobs(
  options: { url: string; logger: FastifyBaseLogger; firstRun?: number; hour?: number },
  jobs: readonly Job[],
): { stop: () => Promise<void> } {
  const { url, logger, firstRun = FIRST_RUN_MS, hour = HOUR_MS } = options;
  const stopping = new AbortController();
  const loops = jobs.map(async ({ name, lock, every, hourly = 0, run }) => {
    let runs = 0;
    for (let wait = firstRun; await pause(wait, stopping.signal); runs += 1) {
      wait = runs < hourly ? Math.min(every, hour) : every;
      try {
        await withJobLock(url, lock, run, stopping.signal);
      } catch (error) {
        logger.error({ err: error, job: name }, 'a job failed');
        wait = Math.min(every, hour);
      }
    }
  });
  return {
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

/** Waits. Returns whether to go on. */
const pause = (ms: number, signal: AbortSignal): Promise<boolean> =>
  setTimeout(ms, true, { signal, ref: false }).catch(() => false);
