import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Config, readConfig } from '../config.ts';
import { ApiError, OperatorError } from '../contract/errors.ts';
import { type Database, joinEmbeddedPostgres, migrateDatabase, openDatabase } from '../db/index.ts';

/**
 * Migrates the service's database, and runs a command on it. The service may be running. Prints an error in one line.
 * @param parse reads the arguments, before the database is opened; without parameters, there may be none
 */
export async function runCommand<Options>(
  parse: (...names: string[]) => Options,
  work: (options: Options, db: Database, url: string) => Promise<void>,
): Promise<void> {
  try {
    const options = parse(...parseArgs({ allowPositionals: parse.length > 0 }).positionals);
    const config = readConfig();
    const embedded = config.DATABASE_URL ? undefined : await joinDemo(config);
    const url = config.DATABASE_DIRECT_URL ?? config.DATABASE_URL ?? embedded?.url ?? '';
    try {
      await migrateDatabase(url, config.DATABASE_DIRECT_URL && 'DATABASE_DIRECT_URL');
      const db = openDatabase({ url, poolSize: 2, statementTimeout: config.DATABASE_TIMEOUT_MS });
      await work(options, db, url).finally(db.close);
    } finally {
      await embedded?.stop();
    }
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    const isExpected =
      String(code).startsWith('ERR_PARSE_ARGS') ||
      error instanceof OperatorError ||
      error instanceof ApiError;
    console.error(isExpected ? message : `The command failed: ${message}`);
    process.exitCode = 1;
  }
}

/** The embedded database, if a start of the service has created it. */
async function joinDemo({ DATA_DIR }: Config) {
  const directory = resolve(DATA_DIR, 'postgres');
  if (!existsSync(join(directory, 'PG_VERSION')))
    throw new OperatorError(
      `DATABASE_URL is not set, and ${directory} is not the embedded database of a service. Set DATABASE_URL to the database of the service; its variables are not those of this shell.`,
    );
  return joinEmbeddedPostgres(directory);
}
