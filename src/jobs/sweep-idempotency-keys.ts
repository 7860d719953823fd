import { sweepKeys } from '../db/index.ts';
import { inBatches, type JobContext } from './context.ts';

export async function sweepIdempotencyKeys(context: JobContext): Promise<{ keys: number }> {
  const { db, logger } = context;
  const swept = { keys: 0 };
  const stopped = await inBatches(context, 1_000, async (limit) => {
    const { found, removed } = await sweepKeys(db, limit);
    swept.keys += removed;
    return found;
  });
  logger.info({ ...swept, stopped }, 'swept the idempotency keys');
  return swept;
}
