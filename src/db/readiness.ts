import pg from 'pg';
import { latestMigration } from './migrate.ts';

/** For connecting and again for asking: whoever waits for readiness hears within a second that it is gone. */
const TIMEOUT_MS = 400;

/**
 * Fails unless the database answers and has this version's migrations. It asks over a connection of its own, so that
 * neither a busy pool nor the patience of its retries decides.
 */
export async function checkDatabase(url: string): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
    application_name: 'travel-agency-crm-api readiness',
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rowCount } = await client.query(
      'select from drizzle.__drizzle_migrations where created_at >= $1 limit 1',
      [latestMigration],
    );
    if (rowCount === 0) throw new Error('The newest migration is not applied.');
  } finally {
    client.end().catch(() => undefined);
  }
}
