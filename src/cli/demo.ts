import { parseArgs } from 'node:util';
import { readConfig } from '../config.ts';
import type { Database } from '../db/pool/client.ts';
import { openFiles } from '../files/open.ts';
import { scopeOf } from '../organizations/repository.ts';
import { runCommand, UsageError } from './database.ts';

const USAGE = `Usage: npm run demo -- --organization ID [--reset]

Fills an organization that has no records with those of the demo agency. With --reset, one that was filled like this
before loses all its records first, whoever made them. Its keys stay. An organization with other records is left alone.`;

function parse() {
  try {
    const { values } = parseArgs({
      options: { organization: { type: 'string' }, reset: { type: 'boolean', default: false } },
    });
    const { organization, reset } = values;
    if (!organization) throw new Error('--organization is missing.');
    return { organization, reset };
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${USAGE}`);
  }
}

async function fill({ organization, reset }: ReturnType<typeof parse>, db: Database): Promise<void> {
  // The image does not contain the demo: there this is the fault of the command, in one line.
  const { fillOrganization } = await import('../../demo/fill.ts');
  const { organizationId } = await scopeOf(db, organization, { isWrite: true });
  const { storage, close } = await openFiles(readConfig(), '');
  const outcome = await fillOrganization({ db, storage, organizationId, reset }).finally(close);
  if (outcome === 'used')
    throw new UsageError('The organization has records that are not of the demo; nothing was changed.');
  if (outcome === 'filled')
    throw new UsageError(
      'The organization has the demo already; --reset makes it anew, and removes all else.',
    );
  console.log('The organization has the records of the demo agency, and no others.');
}

await runCommand(parse, fill);
