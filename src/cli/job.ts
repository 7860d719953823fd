import { readConfig } from '../config.ts';
import { OperatorError } from '../contract/errors.ts';
import { openFiles } from '../files/open.ts';
import { createLogger } from '../http/logging.ts';
import { JOBS, runJob } from '../jobs/schedule.ts';
import { runCommand } from './database.ts';

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());

function parse(name: string, ...more: string[]): keyof typeof JOBS {
  if (more.length === 0 && Object.hasOwn(JOBS, name)) return name as keyof typeof JOBS;
  throw new OperatorError(`Name a job: ${Object.keys(JOBS).join(', ')}.`);
}

await runCommand(parse, async (name, db, url) => {
  const { storage, close } = await openFiles(readConfig(), '');
  const context = { db, url, storage, logger: createLogger('info') };
  const counts = await runJob(name, JOBS[name], context, stop.signal).finally(close);
  if (!counts) console.log(`Another process is already running ${name}.`);
});
