import { MAX_LIMIT } from '../src/contract/fields.ts';
import { type Database, type OrganizationScope, parseJson, scopeTo } from '../src/db/index.ts';
import type { FileStorage } from '../src/files/storage.ts';
import { deleteRows, hasRecords } from '../src/organizations/purge.repository.ts';
import { listTeamMembers } from '../src/team/repository.ts';
import { fillAgency } from './load.ts';
import { demoRecords } from './records.ts';

export type FillOptions = {
  db: Database;
  storage: FileStorage;
  organizationId: string;
  /** Removes all records first, if the organization has the demo. */
  reset: boolean;
};

/** Whether the organization has the demo: one of the demo's team members is among its oldest. */
async function wasFilled(scope: OrganizationScope): Promise<boolean> {
  const { data } = parseJson(await listTeamMembers(scope, { limit: MAX_LIMIT, offset: 0 }));
  const members = new Set(demoRecords('agency').flatMap(({ kind, id }) => (kind === 'member' ? id : [])));
  return data.some(({ id }) => members.has(id));
}

/**
 * Fills an organization with the records of the demo agency, all or none. Its keys stay. Files of removed attachments
 * stay until the next sweep.
 * @returns why nothing was done: `filled`, it already has the demo; `used`, it has other records, which are never removed
 */
export const fillOrganization = ({
  db,
  storage,
  organizationId,
  reset,
}: FillOptions): Promise<'done' | 'filled' | 'used'> =>
  db.transaction(async (filling) => {
    const scope = scopeTo({ for: () => filling }, organizationId);
    if (await hasRecords(scope)) {
      if (!(await wasFilled(scope))) return 'used';
      if (!reset) return 'filled';
      for await (const _ of deleteRows(scope, null, { withApiKeys: false }));
    }
    await fillAgency(scope, storage);
    return 'done';
  });
