import { readConfig } from '../config.ts';
import { openFiles } from '../files/open.ts';
import { createLogger } from '../http/logging.ts';
import { JOB_LOCKS, withJobLock } from '../jobs/lock.ts';
import { sweepFiles } from '../jobs/sweep-files.ts';
import { runCommand, stopSignal } from './database.ts';

/** Removes files that no attachment has. The service does the same every day. */
await runCommand(async (db, url) => {
  const logger = createLogger('info');
  const { storage, close } = await openFiles(readConfig(), '');
  const sweep = (signal: AbortSignal) => sweepFiles({ db, storage, logger, now: Date.now(), signal });
  const swept = await withJobLock(url, JOB_LOCKS.sweepFiles, sweep, stopSignal()).finally(close);
  if (!swept) console.log('The files are being swept already, by another process.');
});
