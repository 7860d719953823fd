import type { FastifyBaseLogger } from 'fastify';
import { findDrift, mendDrift } from '../db/copies/recount.ts';
import type { Database } from '../db/run/client.ts';
import { scopeTo } from '../db/run/scope.ts';
import { allOrganizations } from '../organizations/repository.ts';

export type RecountOptions = {
  db: Database;
  logger: FastifyBaseLogger;
  /** Mends the counts too. Only under the job's lock. */
  fix: boolean;
  /** Ends the run after its current organization. */
  signal?: AbortSignal;
};

export type Recounted = { organizations: number; drifts: number };

/** Compares every live count with its rows, one organization after another, and logs each that is wrong. */
export async function recountLive({ db, logger, fix, signal }: RecountOptions): Promise<Recounted> {
  const recounted = { organizations: 0, drifts: 0 };
  const organizations = await allOrganizations(db);
  for (const { id } of organizations) {
    if (signal?.aborted) break;
    const drifts = await (fix ? mendDrift : findDrift)(scopeTo(db, id));
    for (const drift of drifts)
      logger.warn({ organizationId: id, ...drift, fixed: fix }, 'a count was wrong');
    recounted.organizations += 1;
    recounted.drifts += drifts.length;
  }
  logger.info({ ...recounted, stopped: recounted.organizations < organizations.length }, 'recounted');
  return recounted;
}
