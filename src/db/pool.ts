import pg from 'pg';
import { serviceUnavailable } from '../errors.ts';
import { RenderingClient } from '../wire/rendered-query.ts';
import { isTransient, LostRace, sqlState } from './faults.ts';

export type PoolOptions = {
  url: string;
  /** Connections at most. */
  poolSize: number;
  /** Requests that may wait for a connection; the next one is refused at once with a 503. */
  maxWaiting: number;
  /** The longest that one statement may run, in milliseconds. */
  statementTimeout: number;
  onConnectionError?: (error: Error) => void;
};

/** What the server says of a statement leaves its connection as good as it was. */
const isBroken = (error: unknown): boolean =>
  !(error instanceof LostRace) && (sqlState(error) === undefined || isTransient(error));

/** Connections to PostgreSQL, with the timeouts that keep a slow or silent server from holding them. */
export function openPool(options: PoolOptions) {
  const pool = new pg.Pool({
    Client: RenderingClient,
    connectionString: options.url,
    max: options.poolSize,
    connectionTimeoutMillis: 3_000,
    // A new connection costs more than an idle one, and prepares every statement again.
    idleTimeoutMillis: 300_000,
    keepAlive: true,
    statement_timeout: options.statementTimeout,
    lock_timeout: options.statementTimeout,
    idle_in_transaction_session_timeout: 30_000,
    // A server that is frozen ignores its own statement_timeout; this one is ours.
    query_timeout: options.statementTimeout + 2_000,
    application_name: 'travel-agency-crm-api',
  });
  const onError = options.onConnectionError ?? (() => undefined);
  pool.on('error', onError);
  // A client that is checked out has no listener of the pool's: its broken connection would end the process.
  pool.on('connect', (client) => client.on('error', onError));

  async function connect(): Promise<pg.PoolClient> {
    const isBusy = pool.idleCount === 0 && pool.totalCount >= options.poolSize;
    if (isBusy && pool.waitingCount >= options.maxWaiting) {
      throw serviceUnavailable(new Error('The pool queue is full.'));
    }
    return pool.connect();
  }

  /** Runs work on one connection. pg-pool's own query() drops the connection after every error, a unique violation included. */
  async function withClient<Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result> {
    const client = await connect();
    try {
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      client.release(isBroken(error));
      throw error;
    }
  }

  /** Runs work between `begin` and `commit`; whatever it throws is rolled back. */
  async function withTransaction<Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result> {
    const client = await connect();
    let broken: Error | undefined;
    try {
      await client.query('begin');
      const result = await work(client);
      await client.query('commit');
      return result;
    } catch (error) {
      await client.query('rollback').catch((failure: Error) => {
        broken = failure;
      });
      throw error;
    } finally {
      client.release(broken);
    }
  }

  return {
    withClient,
    withTransaction,
    stats: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => pool.end(),
  };
}
