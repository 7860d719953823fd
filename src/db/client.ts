import pg, { type QueryConfig } from 'pg';
import { serviceUnavailable } from '../errors.ts';
import { atEndOfTurn } from '../turn.ts';
import { isSafeToRepeat, isTransient, sqlState } from './faults.ts';
import { type Column, canShare, queryRendered, RenderingClient } from './rendered.ts';
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
  /**
   * Runs a statement that only reads; a fault that passes by itself is retried for up to five seconds. Lookups that are
   * asked for in one turn of the event loop share round trips.
   */
  read: <Row, Values>(statement: Statement<Row, Values>, values: Values) => Promise<Row[]>;
  /** Runs one writing statement. Retried only when the failure proves that nothing was written. */
  write: <Row, Values>(statement: Statement<Row, Values>, values: Values) => Promise<Row[]>;
  /** Runs `work` in one transaction, and again from its start when the server undid it for a deadlock. */
  transaction: <Result>(work: (transaction: Transaction) => Promise<Result>) => Promise<Result>;
  stats: () => { total: number; idle: number; waiting: number };
  close: () => Promise<void>;
};

/** A read that waits for the end of the turn. */
type Reading = {
  query: QueryConfig;
  isLookup: boolean;
  done: (column: Column) => void;
  fail: (error: unknown) => void;
};

/** So many in one round trip: two to eight were measured alike, and of fewer each waits for fewer. */
const LOOKUPS_TOGETHER = 4;

const RETRY_BUDGET_MS = 5_000;
const DEADLOCK_RETRIES = 3;

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

/** 50 to 400 ms, growing, with jitter so that the waiting do not return as one. */
const backoff = (attempt: number): number => Math.min(400, 50 * 2 ** attempt) * (0.5 + Math.random() / 2);

async function run<Row, Values>(
  client: pg.Client,
  statement: Statement<Row, Values>,
  values: Values,
): Promise<Row[]> {
  const query = bind(statement, values);
  if (statement.kind === 'rows') return (await client.query(query)).rows;
  const [column] = await queryRendered(client, [query]);
  return rowsOf(column);
}

const rowsOf = <Row>(body: Column): Row[] => (body === undefined ? [] : [{ body } as Row]);

export function openDatabase(options: DatabaseOptions): Database {
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

  /** pg-pool's own query() drops the connection after every error, a unique violation included. */
  async function withClient<Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result> {
    const client = await connect();
    try {
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      client.release(sqlState(error) === undefined || isTransient(error));
      throw error;
    }
  }

  const once = <Row, Values>(statement: Statement<Row, Values>, values: Values): Promise<Row[]> =>
    withClient((client) => run(client, statement, values));

  let gathered: Reading[] = [];

  /** What was gathered in this turn, sent together: lookups in few round trips, everything else in one of its own. */
  function send(): void {
    const readings = gathered;
    gathered = [];
    const lookups = readings.filter(({ isLookup }) => isLookup);
    for (let start = 0; start < lookups.length; start += LOOKUPS_TOGETHER)
      answer(lookups.slice(start, start + LOOKUPS_TOGETHER));
    for (const reading of readings) if (!reading.isLookup) answer([reading]);
  }

  async function answer(readings: readonly Reading[]): Promise<void> {
    const queries = readings.map(({ query }) => query);
    try {
      const columns = await withClient(async (client) => {
        if (canShare(client, queries)) return queryRendered(client, queries);
        const alone: Column[] = [];
        for (const query of queries) alone.push(...(await queryRendered(client, [query])));
        return alone;
      });
      for (const [index, { done }] of readings.entries()) done(columns[index]);
    } catch (error) {
      // What the server says of one of them is not the others' fault: they are asked again one by one. A broken or
      // silent connection is everybody's, and to ask it again would only double the time until they are told.
      const isOfOne = sqlState(error) !== undefined && !isTransient(error);
      if (isOfOne && readings.length > 1) for (const reading of readings) answer([reading]);
      else for (const { fail } of readings) fail(error);
    }
  }

  async function gather<Row, Values>(statement: Statement<Row, Values>, values: Values): Promise<Row[]> {
    const query = bind(statement, values);
    const isLookup = statement.kind === 'lookup';
    const column = await new Promise<Column>((done, fail) => {
      if (gathered.push({ query, isLookup, done, fail }) === 1) atEndOfTurn(send);
    });
    return rowsOf(column);
  }

  async function read<Row, Values>(statement: Statement<Row, Values>, values: Values): Promise<Row[]> {
    const attemptOnce = statement.kind === 'rows' ? once : gather;
    const deadline = Date.now() + RETRY_BUDGET_MS;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await attemptOnce(statement, values);
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
        run: (statement, values) => run(client, statement, values),
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
