import { parseArgs } from 'node:util';
import { fillOrganization } from '../../demo/fill.ts';
import { readConfig } from '../config.ts';
import type { Database } from '../db/index.ts';
import { openFiles } from '../files/open.ts';
import { organizationOf, runCommand, UsageError } from './database.ts';

const USAGE = `Usage: npm run demo -- --organization NAME [--reset]

Fills an empty organization with the records of the demo agency. --reset first deletes all records of an organization
that was filled like this before, including records that others created; its API keys stay. An organization with other
records is not changed. NAME can also be its id.`;

function parse() {
  const { values } = parseArgs({
    options: { organization: { type: 'string' }, reset: { type: 'boolean', default: false } },
  });
  const { organization, reset } = values;
  if (!organization) throw new UsageError(`--organization is required.\n\n${USAGE}`);
  return { organization, reset };
}

async function fill({ organization, reset }: ReturnType<typeof parse>, db: Database): Promise<void> {
  const { organizationId } = await organizationOf(db, organization, true);
  const { storage, close } = await openFiles(readConfig(), '');
  const outcome = await fillOrganization({ db, storage, organizationId, reset }).finally(close);
  if (outcome === 'used')
    throw new UsageError('The organization has records that are not from the demo. Nothing was changed.');
  if (outcome === 'filled')
    throw new UsageError(
      'The organization has the demo already. --reset deletes all its records and fills it again.',
    );
  console.log('The organization has exactly the records of the demo agency.');
}

await runCommand(parse, fill);
