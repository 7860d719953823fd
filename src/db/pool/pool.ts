import { connect } from 'node:net';
import pg from 'pg';
import { serialize } from 'pg-protocol';
import { ApiError } from '../../contract/errors.ts';
import { BytesClient } from './bytes.ts';
import { type Deadline, enter } from './deadline.ts';
import { spoilsConnection, sqlState } from './faults.ts';
import { createLanes } from './lanes.ts';
import { LostRace } from './scope.ts';

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

/** A server that accepts no connection within this time is silent. A connection that waits for its answer is cut then. */
const CONNECT_MS = 2_000;

/** PostgreSQL's own limits are for what a service that died has left. Those of the service come first, and say more. */
const AFTER_OURS_MS = 1_000;

/** What @types/pg leaves out. */
type Cancellable = pg.Client & { processID: number | null; secretKey: number | null };

/**
 * Asks the server to end what runs on the connection: over another connection, as its protocol wants.
 * @returns whether it was answered: the server closes that other connection when it has sent the signal, and from then
 *   on the signal hits nothing that begins later
 */
function sendCancel(client: pg.Client): Promise<boolean> {
  const { host, port, processID, secretKey } = client as Cancellable;
  if (processID === null || secretKey === null) return Promise.resolve(false);
  const socket = connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port });
  socket.unref().setTimeout(CONNECT_MS, () => socket.destroy());
  socket.on('connect', () => socket.write(serialize.cancel(processID, secretKey)));
  return new Promise((done) => {
    socket.on('error', () => undefined);
    socket.on('end', () => done(true)).on('close', () => done(false));
    socket.resume();
  });
}

/** Runs a command. Without a callback, pg assigns one to a property, and V8 keeps the request until the next full collection. */
const run = (client: pg.Client, command: string): Promise<void> =>
  new Promise((done, fail) => {
    client.query(command, (error) => (error ? fail(error) : done()));
  });

/** What the server says of a statement leaves its connection as good as it was, and so does an answer of ours. */
const isBroken = (error: unknown): boolean =>
  !(error instanceof LostRace || error instanceof ApiError) &&
  (sqlState(error) === undefined || spoilsConnection(error));

/** Without a connection nothing was sent. Not every fault on the way to one says so. */
const notSent = (error: Error): never => {
  throw Object.assign(error, { syscall: 'connect' });
};

/** Connections to PostgreSQL, with the timeouts that keep a slow or silent server from holding them. */
export function openPool(options: PoolOptions) {
  const serverLimit = options.statementTimeout + AFTER_OURS_MS;
  const pool = new pg.Pool({
    Client: BytesClient,
    connectionString: options.url,
    max: options.poolSize,
    connectionTimeoutMillis: Math.min(CONNECT_MS, options.statementTimeout),
    // A new connection costs more than an idle one, and prepares every statement again.
    idleTimeoutMillis: 300_000,
    keepAlive: true,
    // What a transaction asks at once is sent at once: 500 messages take 0.4 of the time.
    pipeline: true,
    statement_timeout: serverLimit,
    lock_timeout: options.lockTimeout ?? serverLimit,
    idle_in_transaction_session_timeout: 30_000,
    application_name: 'travel-agency-crm-api',
  });
  const onError = options.onConnectionError ?? (() => undefined);
  pool.on('error', onError);
  // A client that is checked out has no listener of the pool's: its broken connection would end the process.
  pool.on('connect', (client) => {
    client.on('error', onError);
    // One request has one process of PostgreSQL. With parallel workers a search would take several, and the places that
    // the scheduler gives would say nothing. A startup parameter would be refused by poolers that do not expect it.
    run(client, 'set max_parallel_workers_per_gather = 0').catch(() => undefined);
  });

  /** Runs work on one connection. pg-pool's own query() drops the connection after every error, a unique violation included. */
  async function use<Result>(
    work: (client: pg.Client) => Promise<Result>,
    deadline: Deadline,
    spoils: (error: unknown) => boolean,
  ): Promise<Result> {
    enter(deadline, 'connection');
    const client = await pool.connect().catch(notSent);
    enter(deadline, 'running');
    let isSpoilt = false;
    let answered: Promise<boolean> | undefined;
    let silence: NodeJS.Timeout | undefined;
    const cancel = (): void => {
      deadline.cancel = undefined;
      answered = sendCancel(client);
      silence = setTimeout(() => client.connection.stream.destroy(), CONNECT_MS);
    };
    deadline.cancel = cancel;
    try {
      if (deadline.over) throw deadline.over;
      return await work(client);
    } catch (error) {
      isSpoilt ||= error !== deadline.over && spoils(error);
      throw error;
    } finally {
      deadline.cancel = undefined;
      // A cancel that comes late would hit whoever has the connection next. Until then the work keeps its place.
      if (answered) isSpoilt = !(await answered) || isSpoilt;
      clearTimeout(silence);
      client.release(isSpoilt);
    }
  }

  const lanes = createLanes(() => pool.connect().catch(notSent));

  /** Runs a short read on a connection that others use too. One that must be ended ends the connection: the others ask again. */
  async function withLane<Result>(
    work: (client: pg.Client) => Promise<Result>,
    deadline: Deadline,
  ): Promise<Result> {
    enter(deadline, 'connection');
    const lane = lanes.take();
    try {
      const client = await lane.client;
      enter(deadline, 'running');
      const cancel = (): void => {
        lane.isSpoilt = true;
        sendCancel(client);
        client.connection.stream.destroy();
      };
      deadline.cancel = cancel;
      if (deadline.over) throw deadline.over;
      return await work(client);
    } catch (error) {
      lane.isSpoilt ||= isBroken(error);
      throw error;
    } finally {
      deadline.cancel = undefined;
      lanes.leave(lane);
    }
  }

  const withClient = <Result>(
    work: (client: pg.Client) => Promise<Result>,
    deadline: Deadline,
  ): Promise<Result> => use(work, deadline, isBroken);

  /** Runs work between `begin` and `commit`; whatever it throws is rolled back. */
  function withTransaction<Result>(
    work: (client: pg.Client) => Promise<Result>,
    deadline: Deadline,
  ): Promise<Result> {
    let isBroken = false;
    const transaction = async (client: pg.Client): Promise<Result> => {
      try {
        await run(client, 'begin');
        const result = await work(client);
        if (deadline.over) throw deadline.over;
        await run(client, 'commit');
        return result;
      } catch (error) {
        await run(client, 'rollback').catch(() => {
          isBroken = true;
        });
        throw error;
      }
    };
    return use(transaction, deadline, (error) => isBroken || spoilsConnection(error));
  }

  return {
    withLane,
    withClient,
    withTransaction,
    stats: () => ({ total: pool.totalCount, idle: pool.idleCount }),
    close: () => pool.end(),
  };
}
