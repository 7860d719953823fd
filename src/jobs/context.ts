import type { FastifyBaseLogger } from 'fastify';
import { type Batch, type Database, NO_ID, type RecordKey, type Statement } from '../db/index.ts';

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
 * @returns whether it was stopped before the end
 */
export async function inBatches(
  { batchSize, signal }: Pick<JobContext, 'batchSize' | 'signal'>,
  size: number,
  work: (limit: number) => Promise<number>,
): Promise<boolean> {
  const limit = batchSize ?? size;
  while (!signal?.aborted) if ((await work(limit)) < limit) return false;
  return true;
}

/** Works on the rows of all organizations, in the order of their keys. */
export async function inOrderOfKeys<Row extends RecordKey>(
  context: JobContext,
  size: number,
  rowsAfter: Statement<Row, Batch>,
  work: (rows: Row[]) => Promise<void>,
): Promise<void> {
  let last: RecordKey = { organizationId: NO_ID, id: NO_ID };
  await inBatches(context, size, async (limit) => {
    const { organizationId, id } = last;
    const rows = await context.db.read(rowsAfter, { organizationId, id, limit });
    await work(rows);
    last = rows.at(-1) ?? last;
    return rows.length;
  });
}
