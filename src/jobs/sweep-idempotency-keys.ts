import { sweepKeys } from '../http/idempotency.repository.ts';
import type { JobContext } from './context.ts';

export async function sweepIdempotencyKeys(context: JobContext): Promise<{ keys: number }> {
  const { db, logger, batchSize = 1_000, signal } = context;
  const swept = { keys: 0 };
  let more = true;
  while (more && !signal?.aborted) {
    const { found, removed } = await sweepKeys(db, batchSize);
    swept.keys += removed;
    more = found === batchSize;
  }
  logger.info({ ...swept, stopped: more }, 'swept the idempotency keys');
  return swept;
}
