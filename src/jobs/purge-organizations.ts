import type { FileStorage } from '../files/storage.ts';
import {
  type ClaimedOrganization,
  claimOrganizations,
  deleteRows,
  removeOrganization,
} from '../organizations/purge.repository.ts';
import type { JobContext } from './context.ts';

type Context = JobContext & { storage: FileStorage };

/**
 * Files first: the rows remain until every file is removed.
 * @returns whether it was completed
 */
async function purgeOne(context: Context, organization: ClaimedOrganization): Promise<boolean> {
  const { db, storage, logger, batchSize = 1_000, signal } = context;
  const { id: organizationId, closedAt } = organization;
  let files = 0;
  for await (const { key } of storage.list(organizationId)) {
    if (signal?.aborted) break;
    await storage.remove(key);
    files += 1;
  }
  const rows: Record<string, number> = {};
  if (!signal?.aborted)
    for await (const batch of deleteRows({ db, organizationId }, batchSize)) {
      if (batch.rows > 0) rows[batch.table] = (rows[batch.table] ?? 0) + batch.rows;
      if (signal?.aborted) break;
    }
  const isComplete = !signal?.aborted;
  if (isComplete) await removeOrganization(db, organization);
  logger.info(
    { organizationId, closedAt, files, rows },
    isComplete ? 'purged an organization' : 'purged a part of an organization; the next run continues',
  );
  return isComplete;
}

/**
 * Removes organizations that were closed more than 30 days ago, with all their data. One that fails is retried in the next run.
 * @throws the first error, after the others were purged
 */
export async function purgeOrganizations(context: Context): Promise<{ organizations: number }> {
  const purged = { organizations: 0 };
  const errors: unknown[] = [];
  for (const organization of await claimOrganizations(context.db)) {
    if (context.signal?.aborted) break;
    try {
      if (await purgeOne(context, organization)) purged.organizations += 1;
    } catch (err) {
      const organizationId = organization.id;
      context.logger.error({ err, organizationId }, 'an organization could not be purged yet');
      errors.push(err);
    }
  }
  if (errors.length > 0) throw errors[0];
  return purged;
}
