import { join } from 'node:path';
import { ConfigError, readConfig } from '../config.ts';
import { ApiError } from '../contract/errors.ts';
import { type Database, joinEmbeddedPostgres, migrateDatabase, openDatabase } from '../db/index.ts';
import { allOrganizations } from '../organizations/repository.ts';
import type { Organization } from '../organizations/schema.ts';

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

/** Open or closed. */
export async function findOrganization(db: Database, wanted: string): Promise<Organization> {
  const found = (await allOrganizations(db)).filter(({ id, name }) => id === wanted || name === wanted);
  const [organization] = found;
  if (!organization)
    throw new UsageError(
      `The organization ${JSON.stringify(wanted)} does not exist. \`npm run keys -- organizations\` lists them.`,
    );
  if (found.length > 1) throw new UsageError(`${found.length} organizations have this name. Use the id.`);
  return organization;
}

/** Aborts on Ctrl-C or SIGTERM. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  return stop.signal;
}
