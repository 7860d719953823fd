import type { FileStorage } from '../files/storage.ts';
import {
  type ClaimedOrganization,
  claimOrganizations,
  deleteRows,
  removeOrganization,
} from '../organizations/purge.repository.ts';
import type { JobContext } from './context.ts';

type Context = JobContext & { storage: FileStorage };

/** Files first: the rows remain until every file is removed. */
async function purgeOne(context: Context, organization: ClaimedOrganization) {
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
  const records = Object.values(rows).reduce((sum, count) => sum + count, 0);
  return { organizations: Number(isComplete), records, purgedFiles: files };
}

/** Removes organizations that were closed more than 30 days ago, with all their data. One that fails is retried in the next run. */
export async function purgeOrganizations(
  context: Context,
): Promise<{ organizations: number; records: number; purgedFiles: number }> {
  const { db, logger, signal } = context;
  const purged = { organizations: 0, records: 0, purgedFiles: 0 };
  for (const organization of await claimOrganizations(db)) {
    if (signal?.aborted) break;
    try {
      const one = await purgeOne(context, organization);
      purged.organizations += one.organizations;
      purged.records += one.records;
      purged.purgedFiles += one.purgedFiles;
    } catch (err) {
      logger.error({ err, organizationId: organization.id }, 'an organization could not be purged yet');
    }
  }
  logger.info({ ...purged, stopped: signal?.aborted ?? false }, 'purged closed organizations');
  return purged;
}
