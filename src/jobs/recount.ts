import { findDrift, mendDrift } from '../db/copies/recount.ts';
import { scopeTo } from '../db/run/scope.ts';
import { allOrganizations } from '../organizations/repository.ts';
import type { JobContext } from './context.ts';

/** Held by those who mend counts: two at once would both add the difference. */
export const RECOUNT_LOCK = 7_210_455_320;

/**
 * Compares every live count with its rows, one organization after another, and logs each that is wrong.
 * @param context with `fix`, which needs the lock, it mends the counts too
 */
export async function recountLive(
  context: JobContext & { fix: boolean },
): Promise<{ organizations: number; drifts: number }> {
  const { db, logger, fix, signal } = context;
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
