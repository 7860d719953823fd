import { setTimeout as pause } from 'node:timers/promises';
import { OutcomeUnknown, Rejection } from '../../contract/errors.ts';
import { isDatabaseError, isSafeToRepeat, isTransient } from './errors.ts';
import { openPool, type Pool, type PoolOptions } from './pool.ts';
import type { Caller, Queries, Scopes } from './scope.ts';
import { send } from './send.ts';
import { createSlots, type Kind } from './slots.ts';

/** Keys, jobs and commands have connections of their own; `for` gives an organization its share of the others. */
export type Database = Queries &
  Scopes & {
    /** Connections, `total` and `idle`; tasks, `running` and `waiting`. */
    stats: () => { total: number; idle: number; running: number; waiting: number };
    close: () => Promise<void>;
  };

export type DatabaseOptions = PoolOptions & {
  /** Tasks that may wait for a connection. Default: six for each. */
  maxWaiting?: number;
};

/** More than keys and jobs use at once. */
const SERVICE_CONNECTIONS = 4;
/** A transaction of a job may have many statements. */
const SERVICE_TRANSACTION_MS = 60_000;

const WRITE_RETRIES = 3;

/** 25 to 400 ms; random, so that clients do not retry at the same time. */
const backoff = (attempt: number): number => Math.min(400, 25 * 2 ** attempt) * (0.5 + Math.random() / 2);

export function openDatabase(options: DatabaseOptions): Database {
  const { poolSize, maxWaiting = 6 * poolSize, statementTimeout } = options;
  const tenants = openPool(options);
  const service = openPool({ ...options, poolSize: SERVICE_CONNECTIONS });
  const slots = createSlots({ slots: poolSize, places: maxWaiting });

  /** Without an organization nothing waits for a slot. */
  function verbs(pool: Pool, transactionMs: number, organizationId?: string, caller?: Caller): Queries {
    /** What fails behind a write of the same request does not prove that nothing was written. */
    let hasWritten = false;

    async function inSlot<Result>(kind: Kind, deadline: number, work: () => Promise<Result>) {
      if (organizationId === undefined) return work();
      const leave = await slots.enter(organizationId, kind);
      const begin = performance.now();
      try {
        if (caller?.isGone()) throw new Rejection('gone');
        if (begin > deadline) throw new Rejection('waited');
        return await work();
      } finally {
        caller?.addDatabaseTime(performance.now() - begin);
        leave();
      }
    }

    /** Repeats a read until its deadline, and a write if the error proves that nothing was written. */
    async function task<Result>(kind: Kind, timeoutMs: number, work: (deadline: number) => Promise<Result>) {
      const deadline = performance.now() + timeoutMs;
      for (let attempt = 1; ; attempt += 1) {
        try {
          const result = await inSlot(kind, deadline, () => work(deadline));
          // A statement without a row has written nothing.
          hasWritten ||= caller !== undefined && kind === 'write' && Object(result).length !== 0;
          return result;
        } catch (error) {
          const isRepeated = isSafeToRepeat(error)
            ? kind === 'read' || attempt <= WRITE_RETRIES
            : kind === 'read' && isTransient(error);
          const wait = backoff(attempt);
          if (!isRepeated || performance.now() + wait > deadline)
            throw hasWritten && isDatabaseError(error) ? new OutcomeUnknown(error) : error;
          await pause(wait);
        }
      }
    }

    const { withClient, withShared, withTransaction } = pool;
    return {
      read: (statement, values) =>
        task('read', statementTimeout, () =>
          (statement.isShort ? withShared : withClient)((client) => send(client, statement, values)),
        ),
      write: (statement, values) =>
        task('write', statementTimeout, () => withClient((client) => send(client, statement, values))),
      transaction: (work, timeoutMs) =>
        task('write', timeoutMs ?? transactionMs, (deadline) => withTransaction(work, deadline, timeoutMs)),
    };
  }

  return {
    ...verbs(service, Math.max(SERVICE_TRANSACTION_MS, statementTimeout)),
    for: (organizationId, caller) => verbs(tenants, statementTimeout, organizationId, caller),
    stats: () => ({ ...tenants.stats(), ...slots.stats() }),
    close: async () => {
      await Promise.all([tenants.close(), service.close()]);
    },
  };
}
