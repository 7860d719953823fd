import pg from 'pg';
import { latestMigration } from './migrate.ts';

/** For the connection, and for each query. */
const TIMEOUT_MS = 400;

/**
 * Opens its own connection: a busy pool must not make the service unready.
 * @param timeout milliseconds
 * @throws Error unless the database can be written and has the latest migration
 */
export async function checkDatabase(url: string, timeout = TIMEOUT_MS): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: timeout,
    query_timeout: timeout,
    application_name: 'travel-agency-crm-api readiness',
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ reading: string }>(
      "select current_setting('transaction_read_only') as reading",
    );
    if (rows[0]?.reading !== 'off') throw new Error('The database can only be read.');
    const { rowCount } = await client.query(
      'select from drizzle.__drizzle_migrations where created_at >= $1 limit 1',
      [latestMigration],
    );
    if (rowCount === 0) throw new Error('The newest migration is not applied.');
  } finally {
    client.end().catch(() => undefined);
  }
}
