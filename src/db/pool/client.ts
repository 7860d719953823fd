import type pg from 'pg';
import type { Rejection } from '../../contract/errors.ts';
import type { Statement } from '../sql/statement.ts';
import { type Deadline, withDeadline } from './deadline.ts';
import { openPool, type PoolOptions } from './pool.ts';
import { retry } from './retry.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import type { Caller, Queries, Scopes } from './scope.ts';
import { send } from './send.ts';

/** Keys, jobs and commands have connections of their own; `for` gives an organization a fair share of the others. */
export type Database = Queries &
  Scopes & {
    rejection: (organizationId: string, kind: 'reads' | 'writes') => Rejection | undefined;
    /** `total` and `idle` connections, `running` and `waiting` tasks, and `written`: the writes since the start. */
    stats: () => { total: number; idle: number; written: number } & ReturnType<Scheduler['stats']>;
    close: () => Promise<void>;
  };

export type DatabaseOptions = PoolOptions & {
  maxWaiting: number;
};

/** More than keys and jobs use at once. */
const SERVICE_CONNECTIONS = 4;
/** A transaction of a job may have many statements. */
const SERVICE_TRANSACTION_MS = 60_000;

/** A result of so many bytes keeps its slot until it is sent: no more large responses are in memory than there are slots. */
const LARGE_BYTES = 1024 * 1024;

function bytesOf(rows: readonly unknown[]): number {
  let bytes = 0;
  for (const row of rows as readonly { body?: Buffer | null }[]) bytes += row.body?.length ?? 0;
  return bytes;
}

/** In their order. Reads are sent with `begin`; without it, they change nothing, and no write follows. */
function queriesOn(client: pg.Client, deadline: Deadline, attempt: number, begun: Promise<void>): Queries {
  let after: typeof begun | undefined;
  deadline.sent = undefined;
  const read = <Row, Values>(statement: Statement<Row, Values>, values: Values): Promise<Row[]> => {
    deadline.statement = statement.name;
    const rows = send(client, statement, values, after);
    rows.catch(() => undefined);
    deadline.sent = rows;
    return rows;
  };
  const queries: Queries = {
    read,
    write: (statement, values) => {
      after = begun;
      return read(statement, values);
    },
    transaction: (work) => work(queries),
    attempt,
  };
  return queries;
}

export function openDatabase(options: DatabaseOptions): Database {
  const { poolSize, maxWaiting, statementTimeout } = options;
  const tenants = openPool(options);
  const service = openPool({ ...options, poolSize: SERVICE_CONNECTIONS });
  const scheduler = createScheduler({ capacity: poolSize, maxWaiting });
  let written = 0;
  /** Called after a write: whoever sees the new count also sees the write. */
  const countWrite = (): void => {
    written += 1;
  };

  type Pool = typeof tenants;
  type Run = <Result>(queue: string, work: () => Promise<Result>, deadline: Deadline) => Promise<Result>;

  function verbs(pool: Pool, run: Run, transactionMs: number, name: string, caller?: Caller): Queries {
    // Two queues: while the writes of an organization wait for a lock, its reads go on.
    const [reads, writes] = [`${name} reads`, `${name} writes`];
    let leaveSlot: (() => void) | undefined;
    function keepSlot(rows: readonly unknown[]): Promise<void> | undefined {
      if (!caller || bytesOf(rows) < LARGE_BYTES) return undefined;
      const isNextRead = new Promise<void>((done) => {
        leaveSlot = done;
      });
      return Promise.race([caller.sent(), isNextRead]);
    }
    return {
      read: (statement, values) =>
        withDeadline(statementTimeout, { caller, isShort: statement.isShort, canEnd: true }, (deadline) => {
          deadline.statement = statement.name;
          deadline.keep = keepSlot;
          leaveSlot?.();
          const query = (client: pg.Client) => send(client, statement, values);
          const once = () => (statement.isShort ? pool.withShared : pool.withClient)(query, deadline);
          return retry('read', () => run(reads, once, deadline), deadline);
        }),
      write: (statement, values) =>
        withDeadline(statementTimeout, { caller, canEnd: false }, (deadline) => {
          deadline.statement = statement.name;
          const once = () => pool.withClient((client) => send(client, statement, values), deadline);
          return retry('write', () => run(writes, once, deadline), deadline);
        }).finally(countWrite),
      transaction: (work, { timeoutMs } = {}) =>
        withDeadline(timeoutMs ?? transactionMs, { caller, canEnd: false }, (deadline) => {
          let attempt = 0;
          const once = () => {
            attempt += 1;
            return pool.withTransaction(
              (client, begun) => work(queriesOn(client, deadline, attempt, begun)),
              deadline,
              timeoutMs,
            );
          };
          return retry('write', () => run(writes, once, deadline), deadline);
        }).finally(countWrite),
    };
  }

  return {
    ...verbs(
      service,
      (_queue, work) => work(),
      Math.max(SERVICE_TRANSACTION_MS, statementTimeout),
      'service',
    ),
    for: (organizationId, caller) => verbs(tenants, scheduler.run, statementTimeout, organizationId, caller),
    rejection: (organizationId, kind) => scheduler.rejection(`${organizationId} ${kind}`),
    stats: () => ({ ...tenants.stats(), ...scheduler.stats(), written }),
    close: async () => {
      await Promise.all([tenants.close(), service.close()]);
    },
  };
}
