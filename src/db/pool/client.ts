import type pg from 'pg';
import type { Refusal } from '../../contract/errors.ts';
import type { Statement } from '../sql/statement.ts';
import { type Deadline, withDeadline } from './deadline.ts';
import { openPool, type PoolOptions } from './pool.ts';
import { retryRead, retryWrite } from './retry.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import type { Caller, Queries, Scopes } from './scope.ts';
import { send } from './send.ts';

/**
 * The database. Its own verbs are the service's: for keys, jobs and commands, over a few connections of their own. What is
 * done for an organization goes through `for`, which gives it a fair share of the others.
 */
export type Database = Queries &
  Scopes & {
    /** Why a request of the organization would be refused now, if it would: before anything is done for it. */
    refusal: (organizationId: string, kind: 'reads' | 'writes') => Refusal | undefined;
    /** Connections, work in them and in line, and the writes so far. */
    stats: () => { total: number; idle: number; written: number } & ReturnType<Scheduler['stats']>;
    close: () => Promise<void>;
  };

export type DatabaseOptions = PoolOptions & {
  /** Requests that may wait for a connection, of all organizations together. */
  maxWaiting: number;
};

/** More than keys and jobs use at once: none of them waits for another. */
const OWN_CONNECTIONS = 4;
/** Of the service itself, which may have much to do in one. Where one statement may take longer, a transaction may too. */
const OWN_TRANSACTION_MS = 60_000;

/** The verbs on the connection of a transaction. */
function within(client: pg.Client, deadline: Deadline): Queries {
  const ask = <Row, Values>(statement: Statement<Row, Values>, values: Values): Promise<Row[]> => {
    deadline.statement = statement.name;
    return send(client, statement, values);
  };
  const queries: Queries = {
    read: ask,
    write: ask,
    transaction: (work) => work(queries),
  };
  return queries;
}

export function openDatabase(options: DatabaseOptions): Database {
  const { poolSize, maxWaiting, statementTimeout } = options;
  const shared = openPool(options);
  const own = openPool({ ...options, poolSize: OWN_CONNECTIONS });
  const scheduler = createScheduler({ capacity: poolSize, places: maxWaiting });
  let written = 0;
  /** When a write has ended: whoever looks then finds what it left. */
  const count = (): void => {
    written += 1;
  };

  type Pool = typeof shared;
  type Turn = <Result>(flow: string, work: () => Promise<Result>, deadline: Deadline) => Promise<Result>;

  function verbs(pool: Pool, turn: Turn, transactionMs: number, name: string, caller?: Caller): Queries {
    // An organization whose writes wait for a lock goes on reading: they are two flows.
    const [reads, writes] = [`${name} reads`, `${name} writes`];

    const once = <Result>(name: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> =>
      withDeadline(statementTimeout, { caller, canEnd: false }, (deadline) => {
        deadline.statement = name;
        const attempt = () => pool.withClient(work, deadline);
        return retryWrite(() => turn(writes, attempt, deadline), deadline);
      }).finally(count);

    return {
      read: (statement, values) =>
        withDeadline(statementTimeout, { caller, isShort: statement.isShort, canEnd: true }, (deadline) => {
          deadline.statement = statement.name;
          const ask = (client: pg.Client) => send(client, statement, values);
          const run = statement.isShort ? pool.withLane : pool.withClient;
          const once = () => run(ask, deadline);
          return retryRead(() => turn(reads, once, deadline), deadline);
        }),
      write: (statement, values) => once(statement.name, (client) => send(client, statement, values)),
      transaction: (work) =>
        withDeadline(transactionMs, { caller, canEnd: false }, (deadline) => {
          const once = () => pool.withTransaction((client) => work(within(client, deadline)), deadline);
          return retryWrite(() => turn(writes, once, deadline), deadline);
        }).finally(count),
    };
  }

  return {
    ...verbs(own, (_flow, work) => work(), Math.max(OWN_TRANSACTION_MS, statementTimeout), 'service'),
    for: (organizationId, caller) => verbs(shared, scheduler.run, statementTimeout, organizationId, caller),
    refusal: (organizationId, kind) => scheduler.refusal(`${organizationId} ${kind}`),
    stats: () => ({ ...shared.stats(), ...scheduler.stats(), written }),
    close: async () => {
      await Promise.all([shared.close(), own.close()]);
    },
  };
}
