import { fileURLToPath } from 'node:url';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';
import { OperatorError } from '../../contract/errors.ts';
import { isLockTimeout, sqlState } from '../pool/errors.ts';

const FOLDER = fileURLToPath(new URL('../../../migrations/', import.meta.url));

/** Milliseconds since 1970. */
export const latestMigration: number = Math.max(
  ...readMigrationFiles({ migrationsFolder: FOLDER }).map(({ folderMillis }) => folderMillis),
);

/** An arbitrary advisory lock. */
const MIGRATION_LOCK = 7_210_455_317;
/** All statements on a table wait behind a migration that waits for it: so it gives up soon, and retries. */
const LOCK_TIMEOUT_MS = 1_000;
const LOCK_ATTEMPTS = 60;

/**
 * Applies pending migrations, all in one transaction. Of several instances, one migrates and the others wait. If none is
 * pending, the role needs no rights to the schema.
 * @param url not of a transaction pooler, which breaks session locks
 * @param variable has the URL
 * @throws OperatorError
 */
export async function migrateDatabase(
  url: string,
  variable = 'DATABASE_URL',
  migrationsFolder = FOLDER,
): Promise<void> {
  let client: pg.Client | undefined;
  try {
    client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 5_000,
      application_name: 'travel-agency-crm-api migrations',
    });
    // Without a listener, a broken connection ends the process.
    client.on('error', () => undefined);
    await client.connect();
    await checkServer(client);
    if (!(await isPending(client, migrationsFolder))) return;
    // A role with a schema of its own name would get the tables there.
    await client.query('set search_path = public; set statement_timeout = 0');
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    // Another instance may have migrated meanwhile.
    if (await isPending(client, migrationsFolder)) await apply(client, migrationsFolder);
  } catch (cause) {
    if (cause instanceof OperatorError) throw cause;
    throw new OperatorError(`The database at ${variable} cannot be used: ${reasonOf(cause as Error)}.`, {
      cause,
    });
  } finally {
    await client?.end();
  }
}

function reasonOf(error: Error & { code?: string }): string {
  // PostgreSQL asks for a password, and pg has none.
  if (/password must be a/.test(error.message)) return 'it has no password, and PGPASSWORD is not set';
  if (sqlState(error) === '42501')
    return `${error.message}; deploy/service-role.sql has the rights that its role needs`;
  return error.message || String(error.code);
}

async function checkServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: number; encoding: string }>(
    `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`,
  );
  const [{ version, encoding } = { version: 0, encoding: '' }] = rows;
  if (version < 150_000) throw new OperatorError('The database must be PostgreSQL 15 or later.');
  if (encoding !== 'UTF8')
    throw new OperatorError(`The database must have the encoding UTF8, not ${encoding}.`);
}

/** Migrations newer than this version's are allowed: an old instance works beside a new one. */
async function isPending(client: pg.Client, migrationsFolder: string): Promise<boolean> {
  const { rowCount: exists } = await client.query(
    `select from pg_tables where schemaname = 'drizzle' and tablename = '__drizzle_migrations'`,
  );
  if (!exists) return true;
  const { rows } = await client.query<{ when: string; hash: string }>(
    'select created_at as when, hash from drizzle.__drizzle_migrations',
  );
  const applied = new Map(rows.map(({ when, hash }) => [Number(when), hash]));
  const latest = Math.max(...applied.keys());
  const own = readMigrationFiles({ migrationsFolder });
  if (own.some(({ folderMillis, hash }) => folderMillis <= latest && applied.get(folderMillis) !== hash))
    throw new OperatorError(
      'The database was made by other migrations than this version has. Nothing was changed: use an empty database, or the version that made this one.',
    );
  return own.some(({ folderMillis }) => folderMillis > latest);
}

async function apply(client: pg.Client, migrationsFolder: string): Promise<void> {
  await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await migrate(drizzle(client), { migrationsFolder });
    } catch (error) {
      // Drizzle's own message has the whole statement.
      const { cause = error } = error as Error;
      if (isLockTimeout(cause) && attempt < LOCK_ATTEMPTS) continue;
      throw new OperatorError(
        `The migrations were not applied. PostgreSQL says: ${(cause as Error).message} (${sqlState(cause)}). Nothing was changed: ${advice(cause)}`,
        { cause },
      );
    }
  }
}

function advice(error: unknown): string {
  if (sqlState(error) === '42501')
    return 'migrations need the owner of the schema. Run `npm run migrate` with DATABASE_DIRECT_URL set to a URL of that role.';
  if (isLockTimeout(error))
    return 'another session holds one of the tables. End long transactions, and start again.';
  return 'put that right, and start again.';
}
