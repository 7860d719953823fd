import type { FastifyBaseLogger } from 'fastify';
import type { Queries } from '../db/client.ts';
import { KEPT_HOURS, sweepKeys } from '../db/idempotency.ts';

export type SweepKeysOptions = {
  db: Queries;
  logger: FastifyBaseLogger;
  /** Milliseconds since 1970. */
  now: number;
  /** Keys removed by one statement. */
  batchSize?: number;
  /** Ends the run after the batch that it is at; the next run goes on from there. */
  signal?: AbortSignal;
};

const HOUR_MS = 60 * 60 * 1_000;

/** Removes idempotency keys that are past their day. */
export async function sweepIdempotencyKeys(options: SweepKeysOptions): Promise<{ keys: number }> {
  const { db, logger, now, batchSize = 1_000, signal } = options;
  const before = new Date(now - KEPT_HOURS * HOUR_MS).toISOString();
  const swept = { keys: 0 };
  let more = true;
  while (more && !signal?.aborted) {
    const batch = await sweepKeys(db, before, batchSize);
    swept.keys += batch;
    more = batch === batchSize;
  }
  logger.info({ ...swept, stopped: more }, 'swept the idempotency keys');
  return swept;
}
