import { readConfig } from '../config.ts';
import { openFiles } from '../files/open.ts';
import { createLogger } from '../http/logging.ts';
import { withJobLock } from '../jobs/lock.ts';
import { JOBS } from '../jobs/schedule.ts';
import { runCommand, UsageError } from './database.ts';

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());

function parse(): keyof typeof JOBS {
  const name = process.argv[2] ?? '';
  if (name in JOBS) return name as keyof typeof JOBS;
  throw new UsageError(`Name a job: ${Object.keys(JOBS).join(', ')}.`);
}

await runCommand(parse, async (name, db, url) => {
  const { lock, run } = JOBS[name];
  const logger = createLogger('info');
  const { storage, close } = await openFiles(readConfig(), '');
  const work = (signal: AbortSignal) => run({ db, storage, logger, signal });
  const counts = await withJobLock<object>(url, lock, work, stop.signal).finally(close);
  if (!counts) console.log(`Another process is already running ${name}.`);
});
