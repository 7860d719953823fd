import { sweepKeys } from '../db/index.ts';
import { inBatches, type JobContext } from './context.ts';

export async function sweepIdempotencyKeys(context: JobContext): Promise<{ keys: number }> {
  const swept = { keys: 0 };
  await inBatches(context, 1_000, async (limit) => {
    const { found, removed } = await sweepKeys(context.db, limit);
    swept.keys += removed;
    return found;
  });
  return swept;
}
