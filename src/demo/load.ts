import type { Database } from '../db/client.ts';
import { scopeTo } from '../db/scope.ts';
import type { FileStorage } from '../files/storage.ts';
import { issueApiKey } from '../keys/repository.ts';
import { allOrganizations, createOrganization } from '../organizations/repository.ts';

export async function loadDemo({
  db,
}: {
  db: Database;
  storage: FileStorage;
  dataDir: string;
}): Promise<string> {
  const [first] = await allOrganizations(db);
  const org = first ?? (await createOrganization(db, 'Demo'));
  return JSON.parse(await issueApiKey(scopeTo(db, org.id), { name: 'demo' })).key;
}
