import { join } from 'node:path';
import { hashKey } from '../src/api-keys/api-key.ts';
import { findKey, issueApiKey } from '../src/api-keys/repository.ts';
import { type Database, type OrganizationScope, parseJson, type Queries, scopeTo } from '../src/db/index.ts';
import { readSecret, replaceSecret } from '../src/files/secret.ts';
import type { FileStorage } from '../src/files/storage.ts';
import { createOrganization, listOrganizations } from '../src/organizations/repository.ts';
import { demoRecords } from './records.ts';
import { writeRecord } from './write.ts';

export type DemoOptions = { db: Database; storage: FileStorage; dataDir: string };

/** The key that an earlier start stored, if it is valid in this database. */
async function keptKey(db: Database, path: string): Promise<string | undefined> {
  const key = await readSecret(path);
  return key && (await findKey(db, hashKey(key))) ? key : undefined;
}

/** @param id of the organization; default: that of its first line */
async function loadOrganization(
  organization: 'agency' | 'neighbour',
  db: Queries,
  storage: FileStorage,
  id?: string,
): Promise<OrganizationScope> {
  const [first, ...records] = demoRecords(organization);
  if (first?.kind !== 'organization') throw new Error('The first line is the organization.');
  const created = await createOrganization(db, first.fields.name, id ?? first.id);
  // The whole demo is written in one transaction.
  const scope = scopeTo({ for: () => db }, created.id);
  for (const record of records) await writeRecord(scope, record, storage);
  return scope;
}

/** Loads the demo agency, and issues a key. */
export async function loadAgency(db: Queries, storage: FileStorage, id?: string) {
  const scope = await loadOrganization('agency', db, storage, id);
  const { key } = parseJson(await issueApiKey(scope, { name: 'Demo key' }));
  return { scope, key };
}

/**
 * Loads the demo agency and its neighbour into a database without organizations, in one transaction: an interrupted load
 * leaves nothing, and the next start repeats it.
 * @returns the agency's demo key, stored in `dataDir/demo-key`; undefined for a database that has other organizations
 */
export async function loadDemo({ db, storage, dataDir }: DemoOptions): Promise<string | undefined> {
  const path = join(dataDir, 'demo-key');
  if ((await listOrganizations(db, { limit: 1, offset: 0 })).total > 0) return keptKey(db, path);
  return db.transaction(async (loading) => {
    const { key } = await loadAgency(loading, storage);
    // A second, small organization, which shows that organizations are isolated.
    await loadOrganization('neighbour', loading, storage);
    // Before the commit: if the commit fails, the next load replaces the file.
    await replaceSecret(path, key);
    return key;
  });
}
