import type { FastifyBaseLogger } from 'fastify';
import type { Database } from '../db/pool/client.ts';

/** The surroundings of one run of a job. */
export type JobContext = {
  db: Database;
  logger: FastifyBaseLogger;
  /** Milliseconds since 1970. */
  now?: number;
  /** Records that one statement takes. */
  batchSize?: number;
  /** Ends the run after its current batch. The next run goes on from there. */
  signal?: AbortSignal;
};
