import type pg from 'pg';
import type { Rejection } from '../../contract/errors.ts';
import type { Statement } from '../sql/statement.ts';
import { type Deadline, withDeadline } from './deadline.ts';
import { openPool, type PoolOptions } from './pool.ts';
import { retry } from './retry.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import type { Caller, Queries, Scopes } from './scope.ts';
import { send } from './send.ts';

/**
 * The database. Its own verbs serve keys, jobs and commands, over a few connections of their own. Work for an organization goes
 * through `for`, which gives the organization a fair share of the other connections.
 */
export type Database = Queries &
  Scopes & {
    /** Why a request of the organization would be rejected now, or undefined: asked before any work is done for the request. */
    rejection: (organizationId: string, kind: 'reads' | 'writes') => Rejection | undefined;
    /** Connections, running and waiting work, and the writes so far. */
    stats: () => { total: number; idle: number; written: number } & ReturnType<Scheduler['stats']>;
    close: () => Promise<void>;
  };

export type DatabaseOptions = PoolOptions & {
  /** Pieces of work that may wait for a connection, of all organizations together. */
  maxWaiting: number;
};

/** More than keys and jobs use at once: none of them waits for another. */
const OWN_CONNECTIONS = 4;
/** Of the service's own transactions, which may have many statements; longer where one statement may take longer. */
const OWN_TRANSACTION_MS = 60_000;

/** The verbs on the connection of a transaction. */
function within(client: pg.Client, deadline: Deadline): Queries {
  const ask = <Row, Values>(statement: Statement<Row, Values>, values: Values): Promise<Row[]> => {
    deadline.statement = statement.name;
    return send(client, statement, values);
  };
  const queries: Queries = { read: ask, write: ask, transaction: (work) => work(queries) };
  return queries;
}

export function openDatabase(options: DatabaseOptions): Database {
  const { poolSize, maxWaiting, statementTimeout } = options;
  const tenants = openPool(options);
  const own = openPool({ ...options, poolSize: OWN_CONNECTIONS });
  const scheduler = createScheduler({ capacity: poolSize, maxWaiting });
  let written = 0;
  /** Called at the end of a write: whoever looks then finds what it left. */
  const count = (): void => {
    written += 1;
  };

  type Pool = typeof tenants;
  type Run = <Result>(queue: string, work: () => Promise<Result>, deadline: Deadline) => Promise<Result>;

  function verbs(pool: Pool, run: Run, transactionMs: number, name: string, caller?: Caller): Queries {
    // Two queues: an organization whose writes wait for a lock goes on reading.
    const [reads, writes] = [`${name} reads`, `${name} writes`];
    return {
      read: (statement, values) =>
        withDeadline(statementTimeout, { caller, isShort: statement.isShort, canEnd: true }, (deadline) => {
          deadline.statement = statement.name;
          const ask = (client: pg.Client) => send(client, statement, values);
          const once = () => (statement.isShort ? pool.withShared : pool.withClient)(ask, deadline);
          return retry('read', () => run(reads, once, deadline), deadline);
        }),
      write: (statement, values) =>
        withDeadline(statementTimeout, { caller, canEnd: false }, (deadline) => {
          deadline.statement = statement.name;
          const once = () => pool.withClient((client) => send(client, statement, values), deadline);
          return retry('write', () => run(writes, once, deadline), deadline);
        }).finally(count),
      transaction: (work) =>
        withDeadline(transactionMs, { caller, canEnd: false }, (deadline) => {
          const once = () => pool.withTransaction((client) => work(within(client, deadline)), deadline);
          return retry('write', () => run(writes, once, deadline), deadline);
        }).finally(count),
    };
  }

  return {
    ...verbs(own, (_queue, work) => work(), Math.max(OWN_TRANSACTION_MS, statementTimeout), 'service'),
    for: (organizationId, caller) => verbs(tenants, scheduler.run, statementTimeout, organizationId, caller),
    rejection: (organizationId, kind) => scheduler.rejection(`${organizationId} ${kind}`),
    stats: () => ({ ...tenants.stats(), ...scheduler.stats(), written }),
    close: async () => {
      await Promise.all([tenants.close(), own.close()]);
    },
  };
}
