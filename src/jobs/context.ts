import type { FastifyBaseLogger } from 'fastify';
import type { Database } from '../db/index.ts';

export type JobContext = {
  db: Database;
  logger: FastifyBaseLogger;
  /** Records per statement. */
  batchSize?: number;
  /** Ends the run after its current batch; the next run continues. */
  signal?: AbortSignal;
};

/**
 * Repeats the work until a batch is not full, or the run is to end.
 * @param work returns how many records it found
 */
export async function inBatches(
  { batchSize, signal }: Pick<JobContext, 'batchSize' | 'signal'>,
  size: number,
  work: (limit: number) => Promise<number>,
): Promise<void> {
  const limit = batchSize ?? size;
  while (!signal?.aborted) if ((await work(limit)) < limit) return;
}
