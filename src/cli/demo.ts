import { loadAgency } from '../../demo/load.ts';
import { readConfig } from '../config.ts';
import { newId } from '../db/index.ts';
import { openFiles } from '../files/open.ts';
import { runCommand } from './database.ts';

/** Creates an organization with the records and a key of the demo agency. */
await runCommand(
  () => undefined,
  async (_options, db) => {
    const { storage, close } = await openFiles(readConfig(), '');
    const { scope, key } = await db
      .transaction((loading) => loadAgency(loading, storage, newId()))
      .finally(close);
    console.log(`Organization: ${scope.organizationId}\nKey: ${key}`);
  },
);
