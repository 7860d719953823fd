import { parseArgs } from 'node:util';
import { createLogger } from '../http/logging.ts';
import { keepCopies } from '../jobs/keep-copies.ts';
import { withJobLock } from '../jobs/lock.ts';
import { RECOUNT_LOCK, recountLive } from '../jobs/recount.ts';
import { runCommand, stopSignal } from './database.ts';

/**
 * Compares what is kept beside the records with the records: live counts, read rows and search rows. With --fix it mends
 * what is wrong; without, it fails then.
 */
const parse = () => parseArgs({ options: { fix: { type: 'boolean', default: false } } }).values;

await runCommand(parse, async ({ fix }, db, url) => {
  const logger = createLogger('info');
  const recount = async (signal: AbortSignal) => {
    const { drifts } = await recountLive({ db, logger, fix, signal });
    const { records } = await keepCopies({ db, logger, find: 'wrong', fix, signal });
    return { faults: drifts + records };
  };
  const recounted = await withJobLock(url, RECOUNT_LOCK, recount, stopSignal());
  if (!recounted) console.log('A recount is running already, in another process.');
  if (recounted && recounted.faults > 0 && !fix) process.exitCode = 1;
});
