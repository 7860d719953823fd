import { createLogger } from '../http/logging.ts';
import { JOB_LOCKS, withJobLock } from '../jobs/lock.ts';
import { sweepIdempotencyKeys } from '../jobs/sweep-idempotency-keys.ts';
import { runCommand, stopSignal } from './database.ts';

/** Removes idempotency keys that are past their day; the service does so every hour as well. */
await runCommand(async (db, url) => {
  const logger = createLogger('info');
  const sweep = (signal: AbortSignal) => sweepIdempotencyKeys({ db, logger, signal });
  const swept = await withJobLock(url, JOB_LOCKS.sweepIdempotencyKeys, sweep, stopSignal());
  if (!swept) console.log('The idempotency keys are being swept already, by another process.');
});
