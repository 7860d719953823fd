import pg from 'pg';
import { serviceUnavailable } from '../errors.ts';
import { isSafeToRepeat, isTransient, sqlState } from './faults.ts';
import { bind, type Statement } from './statement.ts';

export type DatabaseOptions = {
  url: string;
  /** Connections at most. */
  poolSize: number;
  /** Requests that may wait for a connection; the next one is refused at once with a 503. */
  maxWaiting: number;
  /** The longest that one statement may run, in milliseconds. */
  statementTimeout: number;
  onConnectionError?: (error: Error) => void;
};

/** A connection inside a transaction: runs statements without retrying them. */
export type Transaction = {
  run: <Row, Values>(statement: Statement<Row, Values>, values: Values) => Promise<Row[]>;
};

export type Database = {
  /** Runs a statement that only reads; a fault that passes by itself is retried for up to five seconds. */
  read: <Row, Values>(statement: Statement<Row, Values>, values: Values) => Promise<Row[]>;
  /** Runs one writing statement. Retried only when the failure proves that nothing was written. */
  write: <Row, Values>(statement: Statement<Row, Values>, values: Values) => Promise<Row[]>;
  /** Runs `work` in one transaction, and again from its start when the server undid it for a deadlock. */
  transaction: <Result>(work: (transaction: Transaction) => Promise<Result>) => Promise<Result>;
  stats: () => { total: number; idle: number; waiting: number };
  close: () => Promise<void>;
};

const RETRY_BUDGET_MS = 5_000;
const DEADLOCK_RETRIES = 3;

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

/** 50 to 400 ms, growing, with jitter so that the waiting do not return as one. */
const backoff = (attempt: number): number => Math.min(400, 50 * 2 ** attempt) * (0.5 + Math.random() / 2);

export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
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

  /** pg-pool's own query() drops the connection after every error, a unique violation included. */
  async function once<Row, Values>(statement: Statement<Row, Values>, values: Values): Promise<Row[]> {
    const client = await connect();
    try {
      const { rows } = await client.query(bind(statement, values));
      client.release();
      return rows as Row[];
    } catch (error) {
      client.release(sqlState(error) === undefined || isTransient(error));
      throw error;
    }
  }

  async function read<Row, Values>(statement: Statement<Row, Values>, values: Values): Promise<Row[]> {
    const deadline = Date.now() + RETRY_BUDGET_MS;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await once(statement, values);
      } catch (error) {
        if (!isTransient(error) || Date.now() > deadline) throw error;
        await pause(backoff(attempt));
      }
    }
  }

  async function write<Row, Values>(statement: Statement<Row, Values>, values: Values): Promise<Row[]> {
    return repeatSafely(() => once(statement, values));
  }

  async function attempt<Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    const client = await connect();
    let broken: Error | undefined;
    try {
      await client.query('begin');
      const result = await work({
        run: async (statement, values) => (await client.query(bind(statement, values))).rows,
      });
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
    read,
    write,
    transaction: (work) => repeatSafely(() => attempt(work)),
    stats: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => pool.end(),
  };
}

/** Repeats work that certainly wrote nothing: connections never made, deadlocks, serialization failures. */
async function repeatSafely<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isSafeToRepeat(error) || attempt >= DEADLOCK_RETRIES) throw error;
      await pause(backoff(attempt));
    }
  }
}
