import { join } from 'node:path';
import { ConfigError, readConfig } from '../config.ts';
import { ApiError } from '../contract/errors.ts';
import { type Database, joinEmbeddedPostgres, migrateDatabase, openDatabase } from '../db/index.ts';

/** Wrong arguments of a command. Only the message is printed. */
export class UsageError extends Error {}

/** A command may read all rows of an organization in one statement. */
const STATEMENT_MS = 600_000;

/**
 * Migrates the service's database, and runs a command on it. The service may be running. Prints an error in one line.
 * @param parse reads the arguments, before the database is opened
 */
export async function runCommand<Options>(
  parse: () => Options,
  work: (options: Options, db: Database, url: string) => Promise<void>,
): Promise<void> {
  try {
    const options = parse();
    const config = readConfig();
    const embedded = config.DATABASE_URL
      ? undefined
      : await joinEmbeddedPostgres(join(config.DATA_DIR, 'postgres'));
    const url = config.DATABASE_DIRECT_URL ?? config.DATABASE_URL ?? embedded?.url ?? '';
    try {
      await migrateDatabase(url);
      const db = openDatabase({
        url,
        poolSize: 2,
        maxWaiting: 10,
        statementTimeout: STATEMENT_MS,
        lockTimeout: config.DATABASE_TIMEOUT_MS,
      });
      await work(options, db, url).finally(db.close);
    } finally {
      await embedded?.stop();
    }
  } catch (error) {
    const expected = error instanceof UsageError || error instanceof ConfigError || error instanceof ApiError;
    console.error(expected ? error.message : `The command failed: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}

/** Aborts on Ctrl-C or SIGTERM. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  return stop.signal;
}
