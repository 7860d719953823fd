import { parseArgs } from 'node:util';
import { createLogger } from '../http/logging.ts';
import { compareCopies } from '../jobs/keep-copies.ts';
import { JOB_LOCKS, withJobLock } from '../jobs/lock.ts';
import { recountLive } from '../jobs/recount.ts';
import { runCommand, stopSignal } from './database.ts';

/**
 * Compares what is kept beside the records with the records: live counts, read rows and search rows. With --fix it mends
 * what is wrong; without, it fails then.
 */
const { values } = parseArgs({ options: { fix: { type: 'boolean', default: false } } });
await runCommand(async (db, url) => {
  const logger = createLogger('info');
  const recount = async (signal: AbortSignal) => {
    const { drifts } = await recountLive({ db, logger, fix: values.fix, signal });
    const records = await compareCopies({ db, logger, fix: values.fix, signal });
    return { faults: drifts + records };
  };
  const recounted = await withJobLock(url, JOB_LOCKS.recount, recount, stopSignal());
  if (!recounted) console.log('A recount is running already, in another process.');
  if (recounted && recounted.faults > 0 && !values.fix) process.exitCode = 1;
});
