import { createLogger } from '../http/logging.ts';
import { JOB_LOCKS, withJobLock } from '../jobs/lock.ts';
import { purgeProducts } from '../jobs/purge.ts';
import { runCommand, stopSignal } from './database.ts';

/** Removes the products that can no longer be restored. The service does the same every hour. */
await runCommand(async (db, url) => {
  const logger = createLogger('info');
  const purge = (signal: AbortSignal) => purgeProducts({ db, logger, now: Date.now(), signal });
  const purged = await withJobLock(url, JOB_LOCKS.purge, purge, stopSignal());
  if (!purged) console.log('A purge is running already, in another process.');
});
