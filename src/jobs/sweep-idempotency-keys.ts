import { sweepKeys } from '../db/index.ts';
import { inBatches, type JobContext } from './context.ts';

export async function sweepIdempotencyKeys(context: JobContext): Promise<{ keys: number }> {
  const swept = { keys: 0 };
  await inBatches(context, 1_000, async (limit) => {
    const keys = await sweepKeys(context.db, limit);
    swept.keys += keys;
    return keys;
  });
  return swept;
}
