import pg from 'pg';

/**
 * Runs the work, unless it runs already on this or another instance: then the result is undefined.
 * @param url a direct connection: a session lock means nothing behind a transaction pooler
 * @param work ends when its signal aborts: `stop` was asked for, or the connection that holds the lock broke
 */
export async function withJobLock<Result>(
  url: string,
  lock: number,
  work: (signal: AbortSignal) => Promise<Result>,
  stop: AbortSignal,
): Promise<Result | undefined> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    application_name: 'travel-agency-crm-api job',
  });
  const lost = new AbortController();
  client.on('error', () => lost.abort());
  try {
    await client.connect();
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
      lock,
    ]);
    return rows[0]?.locked ? await work(AbortSignal.any([stop, lost.signal])) : undefined;
  } finally {
    await client.end();
  }
}
