import pg from 'pg';
import { latestMigration } from './migrate.ts';

/** For the connection, and for each query. */
const TIMEOUT_MS = 400;

/**
 * Opens its own connection: a busy pool must not make the service unready.
 * @param timeout milliseconds
 * @returns by how many seconds the database's clock is ahead of this machine's
 * @throws Error unless the database can be written and has the latest migration
 */
export async function checkDatabase(url: string, timeout = TIMEOUT_MS): Promise<number> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: timeout,
    query_timeout: timeout,
    application_name: 'travel-agency-crm-api readiness',
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ reading: string; migrated: boolean; now: number }>(
      `select current_setting('transaction_read_only') as reading, extract(epoch from now())::float8 as now,
        exists (select from drizzle.__drizzle_migrations where created_at >= $1) as migrated`,
      [latestMigration],
    );
    const ahead = Number(rows[0]?.now) - Date.now() / 1_000;
    if (rows[0]?.reading !== 'off') throw new Error('The database can only be read.');
    if (!rows[0].migrated) throw new Error('The newest migration is not applied.');
    return ahead;
  } finally {
    client.end().catch(() => undefined);
  }
}
