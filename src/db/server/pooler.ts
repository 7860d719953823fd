import pg from 'pg';

const TIMEOUT_MS = 2_000;
/** Another client of the pooler may take the server connection first. */
const ATTEMPTS = 5;

const PREPARED = { name: 'pooler.process', text: 'select pg_backend_pid() as pid' };

/** The process id of the handshake, which is not in @types/pg. */
type ConnectedClient = pg.Client & { processID: number | null };

/**
 * Runs a prepared statement again while a second client blocks the server connection that has it.
 * @throws Error if the pooler loses prepared statements
 */
export async function checkPooler(url: string): Promise<void> {
  const open = () => {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
      // Set by every connection of the service; a pooler may reject it.
      statement_timeout: TIMEOUT_MS,
      application_name: 'travel-agency-crm-api start',
    });
    client.on('error', () => undefined);
    return client;
  };
  const [preparing, blocking] = [open() as ConnectedClient, open()];
  const processOf = async (client: pg.Client, query: pg.QueryConfig | string): Promise<number> =>
    (await client.query<{ pid: number }>(query)).rows[0]?.pid ?? 0;
  try {
    await preparing.connect();
    if ((await processOf(preparing, PREPARED)) === preparing.processID) return;
    await blocking.connect();
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const prepared = await processOf(preparing, PREPARED);
      await blocking.query('begin');
      if ((await processOf(blocking, PREPARED.text)) === prepared) {
        await processOf(preparing, PREPARED);
        return;
      }
      await blocking.query('rollback');
    }
  } catch (error) {
    const { message } = error as Error;
    if (/^prepared statement .* (does not exist|already exists)$/.test(message))
      throw new Error(
        'the pooler in DATABASE_URL loses prepared statements. Use PgBouncer 1.21 or later with max_prepared_statements = 200, or go without.',
      );
    // A pooler with a single server connection cannot be tested.
    if (message !== 'Query read timeout') throw error;
  } finally {
    for (const client of [preparing, blocking]) client.end().catch(() => undefined);
  }
}
