import { once } from 'node:events';
import pg from 'pg';
import { ApiError } from '../../contract/errors.ts';
import { type Deadline, enter } from './deadline.ts';
import { breaksConnection, sqlState } from './errors.ts';
import { destroy, sendCancel } from './pg/cancel.ts';
import { createSharedConnections } from './pg/shared.ts';
import { LostRace } from './scope.ts';
import { hasPreparedTooMany, run } from './send.ts';

export type PoolOptions = {
  url: string;
  poolSize: number;
  /** Milliseconds of a task, from the queue to the result. */
  statementTimeout: number;
  /** Milliseconds that one statement waits for a lock. */
  lockTimeout?: number;
  onConnectionError?: (error: Error) => void;
};

/** Timeout of a connect, and of the end of a cancelled statement. */
const SILENCE_MS = 2_000;

/** Server-side timeouts are a backstop: the service's fire a second earlier, with a better error. */
const BACKSTOP_MS = 1_000;

type Work<Result> = (client: pg.Client) => Promise<Result>;

/** A connection stays usable after an error of a statement or of the service. */
const isBroken = (error: unknown): boolean =>
  !(error instanceof LostRace || error instanceof ApiError) &&
  (sqlState(error) === undefined || breaksConnection(error));

/** Marks the error for `isSafeToRepeat`: without a connection nothing was sent. */
function notSent(error: Error): never {
  throw Object.assign(error, { syscall: 'connect' });
}

type Parser = (text: string) => unknown;

/** JSON stays bytes: a response is sent unparsed. */
const parserOf = (type: number, format: 'text'): Parser =>
  type === pg.types.builtins.JSON ? (text) => Buffer.from(text) : pg.types.getTypeParser(type, format);

export function openPool(options: PoolOptions) {
  const serverTimeout = options.statementTimeout + BACKSTOP_MS;
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    connectionTimeoutMillis: Math.min(SILENCE_MS, options.statementTimeout),
    idleTimeoutMillis: 300_000,
    keepAlive: true,
    pipeline: true,
    types: { getTypeParser: parserOf as typeof pg.types.getTypeParser },
    statement_timeout: serverTimeout,
    lock_timeout: options.lockTimeout ?? serverTimeout,
    idle_in_transaction_session_timeout: 30_000,
    application_name: 'travel-agency-crm-api',
  });
  const onError = options.onConnectionError ?? (() => undefined);
  const open = new Set<pg.PoolClient>();
  pool.on('error', onError);
  pool.on('remove', (client) => open.delete(client));
  pool.on('connect', (client) => {
    open.add(client);
    // pg-pool does not listen to a client in use: without a listener, its error ends the process.
    client.on('error', onError);
    // The scheduler counts one PostgreSQL process for each slot. Poolers reject this as a startup parameter.
    run(client, 'set max_parallel_workers_per_gather = 0').catch(() => undefined);
  });
  const connect = (): Promise<pg.PoolClient> => pool.connect().catch(notSent);
  const sharedConnections = createSharedConnections(connect);

  /** pg-pool's own query() closes the connection after every error, a unique violation included. */
  async function withClient<Result>(
    work: Work<Result>,
    deadline: Deadline,
    breaks: (error: unknown) => boolean = isBroken,
  ): Promise<Result> {
    enter(deadline, 'connection');
    const client = await connect();
    enter(deadline, 'running');
    let isClosed = false;
    let cancelled: Promise<boolean> | undefined;
    let silence: NodeJS.Timeout | undefined;
    const cancel = (): void => {
      deadline.cancel = undefined;
      cancelled = sendCancel(client, SILENCE_MS);
      silence = setTimeout(() => destroy(client), SILENCE_MS);
    };
    deadline.cancel = cancel;
    try {
      if (deadline.abandoned) throw deadline.abandoned;
      return await work(client);
    } catch (error) {
      isClosed = error !== deadline.abandoned && breaks(error);
      throw error;
    } finally {
      deadline.cancel = undefined;
      // A late cancel would hit the next user of the connection.
      if (cancelled) isClosed = !(await cancelled) || isClosed;
      clearTimeout(silence);
      client.release(isClosed || hasPreparedTooMany(client));
    }
  }

  /** To end one read, the connection is closed; the other reads on it are retried. */
  async function withShared<Result>(work: Work<Result>, deadline: Deadline): Promise<Result> {
    enter(deadline, 'connection');
    const shared = sharedConnections.take();
    try {
      const client = await shared.client;
      enter(deadline, 'running');
      const cancel = (): void => {
        shared.isBroken = true;
        sendCancel(client, SILENCE_MS);
        destroy(client);
      };
      deadline.cancel = cancel;
      if (deadline.abandoned) throw deadline.abandoned;
      return await work(client);
    } catch (error) {
      shared.isBroken ||= isBroken(error);
      throw error;
    } finally {
      deadline.cancel = undefined;
      sharedConnections.leave(shared);
    }
  }

  function withTransaction<Result>(
    work: (client: pg.Client, begun: Promise<void>) => Promise<Result>,
    deadline: Deadline,
    timeoutMs?: number,
  ): Promise<Result> {
    const begin = timeoutMs ? `begin; set local statement_timeout = ${timeoutMs + BACKSTOP_MS}` : 'begin';
    let isOpen = false;
    const transaction = async (client: pg.Client): Promise<Result> => {
      try {
        const begun = run(client, begin);
        begun.catch(() => undefined);
        const result = await work(client, begun);
        await begun;
        if (deadline.abandoned) throw deadline.abandoned;
        // After an error of the last statement, PostgreSQL rolls back at the commit.
        await Promise.all([deadline.sent, run(client, 'commit')]);
        return result;
      } catch (error) {
        await run(client, 'rollback').catch(() => {
          isOpen = true;
        });
        throw error;
      }
    };
    return withClient(transaction, deadline, (error) => isOpen || breaksConnection(error));
  }

  /** pool.end() resolves before its connections have ended; a server that stops in between would break them. */
  async function close(): Promise<void> {
    await pool.end();
    const silence = AbortSignal.timeout(SILENCE_MS);
    while (open.size > 0 && !silence.aborted)
      await once(pool, 'remove', { signal: silence }).catch(() => undefined);
  }

  return {
    withShared,
    withClient,
    withTransaction,
    stats: () => ({ total: pool.totalCount, idle: pool.idleCount }),
    close,
  };
}
