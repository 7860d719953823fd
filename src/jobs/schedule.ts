import { setTimeout } from 'node:timers/promises';
import type { FileStorage } from '../files/storage.ts';
import type { Metrics } from '../http/metrics.ts';
import type { JobContext } from './context.ts';
import { withJobLock } from './lock.ts';
import { purgeProducts, sweepIdempotencyKeys } from './purge.ts';
import { purgeOrganizations } from './purge-organizations.ts';
import { sweepFiles } from './sweep-files.ts';

export type Job = {
  /** The number of its advisory lock, unique in the database. */
  lock: number;
  /** Milliseconds from the end of one run to the start of the next. */
  every: number;
  run: (context: JobContext & { storage: FileStorage }) => Promise<Record<string, number>>;
};

const MINUTE_MS = 60 * 1_000;
const HOUR_MS = 60 * MINUTE_MS;

export const JOBS = {
  purge: { lock: 7_210_455_318, every: HOUR_MS, run: purgeProducts },
  'purge-organizations': { lock: 7_210_455_324, every: HOUR_MS, run: purgeOrganizations },
  'sweep-files': { lock: 7_210_455_319, every: 24 * HOUR_MS, run: sweepFiles },
  'sweep-idempotency-keys': { lock: 7_210_455_321, every: HOUR_MS, run: sweepIdempotencyKeys },
} satisfies Record<string, Job>;

/** Soon after the start, so that a service that restarts every day still runs its daily jobs. */
const FIRST_RUN_MS = 60_000;

/** With the URL of a direct connection, for the locks. */
type Run = Omit<Parameters<Job['run']>[0], 'signal'> & { url: string };

export type JobsOptions = Run & {
  metrics: Pick<Metrics, 'jobDone' | 'jobFailed'>;
  jobs?: Record<string, Job>;
  firstRun?: number;
};

/** Runs the job until `stop`, and logs what it removed. Undefined if it is running on any instance. */
export async function runJob(name: string, { lock, run }: Job, { url, ...context }: Run, stop: AbortSignal) {
  const counts = await withJobLock(url, lock, (signal) => run({ ...context, signal }), stop);
  if (counts) context.logger.info({ job: name, ...counts }, 'a job ran');
  return counts;
}

/** A failed job is logged, and retried after an hour at most. `stop` lets each job finish its current batch. */
export function startJobs(options: JobsOptions): { stop: () => Promise<void> } {
  const { metrics, jobs = JOBS, firstRun = FIRST_RUN_MS, ...context } = options;
  const stopping = new AbortController();
  const loops = Object.entries(jobs).map(async ([name, job]) => {
    for (let wait = firstRun; await pause(wait, stopping.signal); ) {
      wait = job.every;
      try {
        const counts = await runJob(name, job, context, stopping.signal);
        if (counts) metrics.jobDone(counts);
      } catch (error) {
        context.logger.error({ err: error, job: name }, 'a job failed');
        metrics.jobFailed();
        wait = Math.min(job.every, HOUR_MS);
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

const pause = (ms: number, signal: AbortSignal): Promise<boolean> =>
  setTimeout(ms, true, { signal, ref: false }).catch(() => false);
