import { readConfig } from '../config.ts';
import { openFiles } from '../files/open.ts';
import { createLogger } from '../http/logging.ts';
import { withJobLock } from '../jobs/lock.ts';
import { JOBS } from '../jobs/schedule.ts';
import { runCommand, stopSignal, UsageError } from './database.ts';

/** Runs the job that is named, which the service does at its intervals too. */

const RUNNING_ALREADY = {
  purge: 'A purge is running already, in another process.',
  'purge-organizations': 'Closed organizations are being purged already, by another process.',
  'erase-files': 'The files of erased customers are being removed already, by another process.',
  'sweep-files': 'The files are being swept already, by another process.',
  'sweep-idempotency-keys': 'The idempotency keys are being swept already, by another process.',
};

function parse(): keyof typeof RUNNING_ALREADY {
  const name = process.argv[2] ?? '';
  if (name in RUNNING_ALREADY) return name as keyof typeof RUNNING_ALREADY;
  throw new UsageError(`Name one of the jobs: ${Object.keys(RUNNING_ALREADY).join(', ')}.`);
}

await runCommand(parse, async (name, db, url) => {
  const { lock, run } = JOBS[name];
  const logger = createLogger('info');
  const { storage, close } = await openFiles(readConfig(), '');
  const work = (signal: AbortSignal) => run({ db, storage, logger, signal });
  const counts = await withJobLock<object>(url, lock, work, stopSignal()).finally(close);
  if (!counts) console.log(RUNNING_ALREADY[name]);
});
