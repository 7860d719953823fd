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
 * Repeats the work, which returns how many records it removed, until a batch is not full, or the run is to end.
 * @returns how many records were removed
 */
export async function inBatches(
  { batchSize, signal }: JobContext,
  size: number,
  work: (limit: number) => Promise<number>,
): Promise<number> {
  const limit = batchSize ?? size;
  let total = 0;
  for (let isFull = true; isFull && !signal?.aborted; ) {
    const removed = await work(limit);
    total += removed;
    isFull = removed >= limit;
  }
  return total;
}
