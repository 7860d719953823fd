import pg from 'pg';
import { breaksConnection, DatabaseTimeout, sqlState } from './errors.ts';
import type { Queries } from './scope.ts';
import { run, send, writeTogether } from './send.ts';
import { shareConnections } from './shared.ts';

export type PoolOptions = {
  url: string;
  poolSize: number;
  /** Milliseconds of one statement; PostgreSQL ends it. */
  statementTimeout: number;
  onConnectionError?: (error: Error) => void;
};

export type Pool = ReturnType<typeof openPool>;

type Work<Result> = (client: pg.Client) => Promise<Result>;

/** Timeout of a connect. */
const CONNECT_MS = 2_000;

/** A frozen server ends nothing: so long after PostgreSQL should have ended a statement, its connection is closed. */
const SILENCE_MS = 1_000;

/**
 * The schema, because a role with a schema of its own name would use that one; one process for each connection. Not startup
 * parameters, which poolers reject: a pooler's `connect_query` sets both.
 */
const SETTINGS = 'set search_path = public; set max_parallel_workers_per_gather = 0';

/** A connection stays usable after most errors of a statement. */
const isBroken = (error: unknown): boolean => sqlState(error) === undefined || breaksConnection(error);

/** JSON stays bytes: a response is sent unparsed. */
const parserOf = (type: number, format: 'text'): ((text: string) => unknown) =>
  type === pg.types.builtins.JSON ? (text) => Buffer.from(text) : pg.types.getTypeParser(type, format);

export function openPool({ url, poolSize, statementTimeout, onConnectionError }: PoolOptions) {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: Math.min(CONNECT_MS, statementTimeout),
    idleTimeoutMillis: 300_000,
    keepAlive: true,
    pipeline: true,
    types: { getTypeParser: parserOf as typeof pg.types.getTypeParser },
    statement_timeout: statementTimeout,
    lock_timeout: statementTimeout,
    query_timeout: statementTimeout + SILENCE_MS,
    idle_in_transaction_session_timeout: 30_000,
    application_name: 'travel-agency-crm-api',
    onConnect: (client) => run(client, SETTINGS),
  });
  let isClosing = false;
  // pool.end() resolves before its connections have ended: a server that stops in between breaks them.
  const onError = (error: Error) => isClosing || onConnectionError?.(error);
  // Of an idle client, which reports it itself.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    // pg-pool does not listen to a client in use: without a listener, its error ends the process.
    client.on('error', onError);
  });
  /** Marks the error for `isSafeToRepeat`: without a connection nothing was sent. */
  const connect = (): Promise<pg.PoolClient> =>
    pool.connect().catch((error) => Promise.reject(Object.assign(error, { syscall: 'connect' })));
  const withShared = shareConnections(connect, isBroken);

  /** pg-pool's own query() closes the connection after every error, a unique violation included. */
  async function withClient<Result>(work: Work<Result>, breaks = isBroken): Promise<Result> {
    const client = await connect();
    let isClosed = false;
    try {
      return await work(client);
    } catch (error) {
      isClosed = breaks(error);
      throw error;
    } finally {
      client.release(isClosed);
    }
  }

  /**
   * Statements are sent in the order of the calls, without waiting for each other.
   * @param deadline no statement and no commit is sent after it; on the clock of `performance.now()`
   */
  function withTransaction<Result>(
    work: (transaction: Queries) => Promise<Result>,
    deadline: number,
    timeoutMs?: number,
  ): Promise<Result> {
    const begin = timeoutMs ? `begin; set local statement_timeout = ${timeoutMs}` : 'begin';
    let isOpen = false;

    async function transaction(client: pg.Client): Promise<Result> {
      writeTogether(client);
      const sent: Promise<unknown>[] = [];
      const keep = <Rows>(rows: Promise<Rows>): Promise<Rows> => {
        // `work` need not wait for a statement whose rows it does not use.
        rows.catch(() => undefined);
        sent.push(rows);
        return rows;
      };
      const isLate = () => performance.now() > deadline;
      const query: Queries['read'] = (statement, values) =>
        keep(
          isLate()
            ? Promise.reject(new DatabaseTimeout())
            : send(client, statement, values, timeoutMs && timeoutMs + SILENCE_MS),
        );
      const queries: Queries = {
        read: query,
        write: query,
        transaction: (inner) => inner(queries),
        isTransaction: true,
      };
      try {
        // Without a transaction, what was sent behind it was written.
        keep(run(client, begin).catch((cause: Error) => Promise.reject(new Error('terminated', { cause }))));
        const result = await work(queries);
        if (isLate()) throw new DatabaseTimeout();
        // After an error, PostgreSQL rolls back at the commit.
        await Promise.all([...sent, run(client, 'commit')]);
        return result;
      } catch (error) {
        await run(client, 'rollback').catch(() => {
          isOpen = true;
        });
        // A statement behind one that failed knows only that the transaction is aborted: the first error says why.
        if (sqlState(error) === '25P02') await Promise.all(sent);
        throw error;
      }
    }

    return withClient(transaction, (error) => isOpen || breaksConnection(error));
  }

  return {
    withShared,
    withClient,
    withTransaction,
    stats: () => ({ total: pool.totalCount, idle: pool.idleCount }),
    close: () => {
      isClosing = true;
      return pool.end();
    },
  };
}
