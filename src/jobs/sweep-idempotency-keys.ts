import type { FastifyBaseLogger } from 'fastify';
import type { Queries } from '../db/run/scope.ts';
import { sweepKeys } from '../idempotency/repository.ts';

export type SweepKeysOptions = {
  db: Queries;
  logger: FastifyBaseLogger;
  /** Keys removed by one statement. */
  batchSize?: number;
  /** Ends the run after the batch that it is at; the next run goes on from there. */
  signal?: AbortSignal;
};

/** Removes idempotency keys that are past their day. */
export async function sweepIdempotencyKeys(options: SweepKeysOptions): Promise<{ keys: number }> {
  const { db, logger, batchSize = 1_000, signal } = options;
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
