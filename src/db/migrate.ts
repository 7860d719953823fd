import { readFileSync } from 'node:fs';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';

const folder = new URL('../../migrations', import.meta.url).pathname;

/** Any number, as long as no other application takes the same lock in this database. */
const MIGRATION_LOCK = 7_210_455_317;

/**
 * Brings the database to the schema of this version. Safe however many instances start at once: one migrates, the
 * others wait for it.
 * @param url a direct connection: a session lock means nothing behind a transaction pooler
 */
export async function migrateDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  // A connection that breaks rejects the query that waits on it; without a listener it would end the process as well.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await client.query("set lock_timeout = '10s'");
    await checkServer(client);
    await migrate(drizzle(client), { migrationsFolder: folder });
  } finally {
    await client.end();
  }
}

/** What the schema relies on and no migration can make. */
async function checkServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`,
  );
  const [{ version, encoding }] = rows as [{ version: number; encoding: string }];
  if (version < 150_000) throw new Error('The database must be PostgreSQL 15 or later.');
  if (encoding !== 'UTF8') throw new Error(`The database must have the encoding UTF8, not ${encoding}.`);
}

/** When the newest migration of this version was made; a database is up to date when it has applied that one. */
export const latestMigration: number = Math.max(
  ...(
    JSON.parse(readFileSync(`${folder}/meta/_journal.json`, 'utf8')) as { entries: { when: number }[] }
  ).entries.map(({ when }) => when),
);
