import { parseArgs } from 'node:util';
import { createLogger } from '../http/logging.ts';
import { compareBodies } from '../jobs/keep-bodies.ts';
import { JOB_LOCKS, withJobLock } from '../jobs/lock.ts';
import { recountLive } from '../jobs/recount.ts';
import { runCommand, stopSignal } from './database.ts';

/**
 * Compares the live counts with the rows, and the kept bodies with what rendering gives. With --fix it mends them. It fails
 * when one stays wrong.
 */
const { values } = parseArgs({ options: { fix: { type: 'boolean', default: false } } });
await runCommand(async (db, url) => {
  const logger = createLogger('info');
  const recount = async (signal: AbortSignal) => {
    const { drifts } = await recountLive({ db, logger, fix: values.fix, signal });
    const { wrong } = await compareBodies({ db, logger, fix: values.fix, signal });
    return { faults: drifts + wrong };
  };
  const recounted = await withJobLock(url, JOB_LOCKS.recount, recount, stopSignal());
  if (!recounted) console.log('A recount is running already, in another process.');
  if (recounted && recounted.faults > 0 && !values.fix) process.exitCode = 1;
});
