import pg from 'pg';

/**
 * Runs `work`, or returns undefined if it is running on any instance.
 * @param url a direct connection: a transaction pooler does not keep session locks
 * @param work must end when its signal aborts: on `stop`, or when the connection with the lock breaks
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
    query_timeout: 5_000,
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
    // Not awaited: a connection that hangs would end no run.
    client.end().catch(() => undefined);
  }
}
