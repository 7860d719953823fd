import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hashKey } from '../src/api-keys/api-key.ts';
import { findKeys, issueApiKey } from '../src/api-keys/repository.ts';
import type { Database } from '../src/db/pool/client.ts';
import { parseJson } from '../src/db/sql/json.ts';
import { readSecret } from '../src/files/secret.ts';
import type { FileStorage } from '../src/files/storage.ts';
import { allOrganizations } from '../src/organizations/repository.ts';

export type DemoOptions = { db: Database; storage: FileStorage; dataDir: string };

/** The key that an earlier start kept, as long as it opens this database. */
async function keptKey(db: Database, path: string): Promise<string | undefined> {
  const key = await readSecret(path);
  return key && (await findKeys(db, [hashKey(key)])).size > 0 ? key : undefined;
}

async function keep(path: string, key: string): Promise<void> {
  // A mode is given to new files only.
  await rm(path, { force: true });
  await writeFile(path, `${key}\n`, { mode: 0o600 });
}

/**
 * Loads the demo agency and its neighbour into a database that has no organization, in one transaction: a load that is
 * interrupted leaves nothing, and the next start begins anew.
 * @returns the agency's demo key, kept in `dataDir/demo-key`; undefined for a database that has other organizations
 */
export async function loadDemo({ db, storage, dataDir }: DemoOptions): Promise<string | undefined> {
  const path = join(dataDir, 'demo-key');
  if ((await allOrganizations(db)).length > 0) return keptKey(db, path);
  await mkdir(dataDir, { recursive: true });
  const { loadAgency, loadNeighbour } = await import('./agencies.ts');
  return db.transaction(async (loading) => {
    const scope = await loadAgency(loading, storage);
    await loadNeighbour(loading);
    const { key } = parseJson(await issueApiKey(scope, { name: 'Demo key' }));
    // Before the commit: a key in the file that the database does not know is replaced by the next load.
    await keep(path, key);
    return key;
  });
}
