import { loadOrganization } from '../../demo/load.ts';
import { readConfig } from '../config.ts';
import { type Database, newId } from '../db/index.ts';
import { openFiles } from '../files/open.ts';
import { runCommand } from './database.ts';

/** Creates an organization with the records of the demo agency. */
async function createDemo(db: Database): Promise<void> {
  const { storage, close } = await openFiles(readConfig(), '');
  const { organizationId } = await db
    .transaction((loading) => loadOrganization('agency', loading, storage, newId()))
    .finally(close);
  console.log(`Organization: ${organizationId}`);
}

await runCommand(
  () => undefined,
  (_options, db) => createDemo(db),
);
