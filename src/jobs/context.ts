import type { FastifyBaseLogger } from 'fastify';
import type { Database } from '../db/index.ts';

export type JobContext = {
  db: Database;
  logger: FastifyBaseLogger;
  /** Milliseconds since 1970. */
  now?: number;
  /** Records per statement. */
  batchSize?: number;
  /** Ends the run after its current batch; the next run continues. */
  signal?: AbortSignal;
};
