import { once } from 'node:events';
import pg from 'pg';
import { ApiError } from '../../contract/errors.ts';
import { type Deadline, enter } from './deadline.ts';
import { breaksConnection, sqlState } from './errors.ts';
import { cut, sendCancel } from './pg/cancel.ts';
import { createSharedConnections } from './pg/shared.ts';
import { LostRace } from './scope.ts';
import { run } from './send.ts';

export type PoolOptions = {
  url: string;
  /** Connections at most. */
  poolSize: number;
  /** The longest that work may take in all, in milliseconds: waiting, connecting, running. */
  statementTimeout: number;
  /** The longest that one statement waits for a lock, in milliseconds; without it, as long as it may take. */
  lockTimeout?: number;
  onConnectionError?: (error: Error) => void;
};

/** A server that accepts no connection within this time is silent. So is one that does not end a cancelled statement. */
const SILENCE_MS = 2_000;

/** Server-side timeouts are a backstop. Those of the service fire a second earlier, with a better error. */
const BACKSTOP_MS = 1_000;

type Work<Result> = (client: pg.Client) => Promise<Result>;

/** An error of a statement leaves its connection as good as it was, and so does an error of the service. */
const isBroken = (error: unknown): boolean =>
  !(error instanceof LostRace || error instanceof ApiError) &&
  (sqlState(error) === undefined || breaksConnection(error));

/** Without a connection nothing was sent. Not every error of connecting says so. */
const notSent = (error: Error): never => {
  throw Object.assign(error, { syscall: 'connect' });
};

type Parser = (text: string) => unknown;

/** JSON goes on as bytes: nobody parses a response. */
const parserOf = (type: number, format: 'text'): Parser =>
  type === pg.types.builtins.JSON ? (text) => Buffer.from(text) : pg.types.getTypeParser(type, format);

/** Connections to PostgreSQL, with the timeouts that keep a slow or silent server from holding them. */
export function openPool(options: PoolOptions) {
  const serverTimeout = options.statementTimeout + BACKSTOP_MS;
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    connectionTimeoutMillis: Math.min(SILENCE_MS, options.statementTimeout),
    // A new connection costs more than an idle one, and prepares every statement again.
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
    // The pool does not listen to a client in use: its broken connection would end the process.
    client.on('error', onError);
    // With parallel workers a search would take several processes of PostgreSQL, and the slots of the scheduler would mean
    // nothing. Poolers reject a startup parameter that they do not expect.
    run(client, 'set max_parallel_workers_per_gather = 0').catch(() => undefined);
  });
  const connect = (): Promise<pg.PoolClient> => pool.connect().catch(notSent);
  const sharedConnections = createSharedConnections(connect);

  /** Runs work on one connection. pg-pool's own query() drops the connection after every error, a unique violation included. */
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
      silence = setTimeout(() => cut(client), SILENCE_MS);
    };
    deadline.cancel = cancel;
    try {
      if (deadline.over) throw deadline.over;
      return await work(client);
    } catch (error) {
      isClosed = error !== deadline.over && breaks(error);
      throw error;
    } finally {
      deadline.cancel = undefined;
      // A late cancel would hit the next user of the connection. Until it has arrived, the work keeps the connection.
      if (cancelled) isClosed = !(await cancelled) || isClosed;
      clearTimeout(silence);
      client.release(isClosed);
    }
  }

  /** Runs a short read on a shared connection. To end one, the connection is closed; the other reads are repeated. */
  async function withShared<Result>(work: Work<Result>, deadline: Deadline): Promise<Result> {
    enter(deadline, 'connection');
    const shared = sharedConnections.take();
    try {
      const client = await shared.client;
      enter(deadline, 'running');
      const cancel = (): void => {
        shared.isBroken = true;
        sendCancel(client, SILENCE_MS);
        cut(client);
      };
      deadline.cancel = cancel;
      if (deadline.over) throw deadline.over;
      return await work(client);
    } catch (error) {
      shared.isBroken ||= isBroken(error);
      throw error;
    } finally {
      deadline.cancel = undefined;
      sharedConnections.leave(shared);
    }
  }

  /** Runs work between `begin` and `commit`; whatever it throws is rolled back. */
  function withTransaction<Result>(work: Work<Result>, deadline: Deadline): Promise<Result> {
    let isOpen = false;
    const transaction = async (client: pg.Client): Promise<Result> => {
      try {
        await run(client, 'begin');
        const result = await work(client);
        if (deadline.over) throw deadline.over;
        await run(client, 'commit');
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

  /** pg-pool resolves before its connections have ended; a server that stops in between would report them as broken. */
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
