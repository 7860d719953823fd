import type { FileStorage } from '../files/storage.ts';
import {
  type ClaimedOrganization,
  claimOrganizations,
  purgeRows,
  removeOrganization,
} from '../organizations/purge.repository.ts';
import type { JobContext } from './context.ts';

type Context = JobContext & { storage: FileStorage };

/** Files first: while one is left, so is what says whose it is. Returns how many went, and how many the storage refused. */
async function purgeFiles({ storage, logger, signal }: Context, organizationId: string) {
  const done = { files: 0, left: 0 };
  for await (const { key } of storage.list(organizationId)) {
    if (signal?.aborted) break;
    try {
      await storage.remove(key);
      done.files += 1;
    } catch (err) {
      logger.warn({ err, file: key }, 'a file of a closed organization stays for now');
      done.left += 1;
    }
  }
  return done;
}

/** @returns what went of the organization: all of it, or what went before a stop or a refusal */
async function purgeOne(context: Context, organization: ClaimedOrganization) {
  const { db, logger, batchSize = 500, signal } = context;
  const { id: organizationId, closedAt } = organization;
  const { files, left } = await purgeFiles(context, organizationId);
  const rows: Record<string, number> = {};
  const isGone =
    left === 0 &&
    !signal?.aborted &&
    (await purgeRows(db, organizationId, batchSize, (table, count) => {
      if (count > 0) rows[table] = (rows[table] ?? 0) + count;
      return !signal?.aborted;
    }));
  if (isGone) await removeOrganization(db, organization);
  logger.info(
    { organizationId, closedAt, files, rows },
    isGone ? 'purged an organization' : 'purged a part of an organization; the next run goes on',
  );
  const records = Object.values(rows).reduce((sum, count) => sum + count, 0);
  return { organizations: Number(isGone), records, purgedFiles: files };
}

/**
 * Removes the organizations that were closed more than 30 days ago, by the clock of the database, with all that they have. A
 * fault of one does not stop the others; the next run goes on with it.
 */
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
      logger.error({ err, organizationId: organization.id }, 'an organization is not purged yet');
    }
  }
  logger.info({ ...purged, stopped: signal?.aborted ?? false }, 'purged closed organizations');
  return purged;
}
