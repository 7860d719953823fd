import pg from 'pg';

/** A pooler in front of the database, and whether it can be worked with. */

const TIMEOUT_MS = 2_000;
/** Other clients of the pooler may be faster. */
const ATTEMPTS = 5;

const WHERE = { name: 'pooler.where', text: 'select pg_backend_pid() as pid' };

/** @types/pg leaves it out: the process id that the other end told. */
type Greeted = pg.Client & { processID: number | null };

/**
 * Fails when a pooler before PostgreSQL forgets the statements that a client prepared: one client
 * prepares, another takes its server connection, and the first runs what it prepared on another.
 */
export async function checkPooler(url: string): Promise<void> {
  const open = () => {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
      // As every connection of the service: a pooler that refuses it says so here.
      statement_timeout: TIMEOUT_MS,
      application_name: 'travel-agency-crm-api start',
    });
    client.on('error', () => undefined);
    return client;
  };
  const [preparing, taking] = [open() as Greeted, open()];
  const place = async (client: pg.Client): Promise<number> =>
    (await client.query<{ pid: number }>(WHERE)).rows[0]?.pid ?? 0;
  try {
    await preparing.connect();
    if ((await place(preparing)) === preparing.processID) return;
    await taking.connect();
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const prepared = await place(preparing);
      await taking.query('begin');
      const { rows } = await taking.query<{ pid: number }>('select pg_backend_pid() as pid');
      if (rows[0]?.pid === prepared) {
        await place(preparing);
        return;
      }
      await taking.query('rollback');
    }
  } catch (error) {
    const { message } = error as Error;
    if (/^prepared statement .* (does not exist|already exists)$/.test(message))
      throw new Error(
        'the pooler in DATABASE_URL loses prepared statements. Use PgBouncer 1.21 or later with max_prepared_statements = 200, or go without.',
      );
    // A pooler with one server connection has no other to be tried on.
    if (message !== 'Query read timeout') throw error;
  } finally {
    for (const client of [preparing, taking]) client.end().catch(() => undefined);
  }
}
