import type pg from 'pg';
import type { QueryConfig } from 'pg';
import { REFUSALS, type Refusal } from '../errors.ts';
import { gatherLookups } from '../wire/lookups.ts';
import { type Column, queryRendered } from '../wire/rendered-query.ts';
import { DatabaseTimeout, LostRace, violatedConstraint } from './faults.ts';
import { type Limit, openPool, type PoolOptions } from './pool.ts';
import { retryRead, retryWrite } from './retry.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import { bind, type Statement } from './statement.ts';

/** Statements in their order, with the same values. The last one renders a body. */
type Together<Row, Values> = readonly [...Statement<unknown, Values>[], Statement<Row, Values>];

/** The verbs that repositories speak, on the pool and inside a transaction alike. */
export type Queries = {
  /** Runs a statement that only reads. Outside of a transaction, a fault that passes is retried as long as time is left. */
  read: <Row, Values>(statement: Statement<Row, Values>, values: Values) => Promise<Row[]>;
  /** Runs one statement that writes. Outside of a transaction, retried only when the failure proves that nothing was written. */
  write: <Row, Values>(statement: Statement<Row, Values>, values: Values) => Promise<Row[]>;
  /** The same for several statements, all or none of them: they are sent in one round trip. Answers the last one's body. */
  writeTogether: <Row, Values>(statements: Together<Row, Values>, values: Values) => Promise<Row[]>;
  /** Runs `work` in one transaction, and again from its start when the server undid it. Inside of one, it joins that one. */
  transaction: <Result>(work: (transaction: Queries) => Promise<Result>) => Promise<Result>;
};

/** Who waits for an answer: a request. */
export type Caller = {
  /** Aborted when it has gone. It is looked at only where there is something to end. */
  readonly signal: AbortSignal;
  /**
   * Why it could not be given an answer now, if so. Asked when it is its turn, before anything begins, and with the size
   * of a large answer before memory is taken for it.
   */
  refusal: (bytes?: number) => Refusal | undefined;
};

/**
 * The database. Its own verbs are the service's: for keys, jobs and commands, over a few connections of their own. What is
 * done for an organization goes through `for`, which gives it a fair share of the others.
 */
export type Database = Queries & {
  /** The verbs for one organization. Reads that the caller has gone from are ended; writes only before they begin. */
  for: (organizationId: string, caller?: Caller) => Queries;
  /** Why a request of the organization would be refused now, if it would: before anything is done for it. */
  refusal: (organizationId: string, kind: 'reads' | 'writes') => Refusal | undefined;
  stats: () => { total: number; idle: number } & ReturnType<Scheduler['stats']>;
  close: () => Promise<void>;
};

export type DatabaseOptions = PoolOptions & {
  /** Requests that may wait for a connection, of all organizations together. */
  maxWaiting: number;
};

/** More than keys and jobs use at once: none of them waits for another. */
const OWN_CONNECTIONS = 4;
/** Of the service itself, which may have much to do in one. */
const OWN_TRANSACTION_MS = 60_000;

const bodyRows = <Row>(body: Column): Row[] => (body === undefined ? [] : [{ body } as Row]);

async function run<Row, Values>(
  client: pg.Client,
  statement: Statement<Row, Values>,
  values: Values,
): Promise<Row[]> {
  const query = bind(statement, values);
  try {
    if (statement.kind === 'rows') return (await client.query(query)).rows;
    const [column] = await queryRendered(client, [query]);
    return bodyRows(column);
  } catch (error) {
    throw lostRace([statement], error) ?? error;
  }
}

function lostRace(statements: readonly Statement<unknown, never>[], error: unknown): LostRace | undefined {
  const violated = violatedConstraint(error);
  const loser = statements.find(({ racesOn }) => racesOn !== undefined && racesOn === violated);
  return loser && new LostRace(`${loser.name} lost a race.`, { cause: error });
}

const BEGIN = { name: 'begin', text: 'begin' };
const COMMIT = { name: 'commit', text: 'commit' };

/** @param frame what stands around the statements: `begin` and `commit`, or nothing inside of a transaction */
async function runTogether<Row, Values>(
  client: pg.Client,
  statements: Together<Row, Values>,
  values: Values,
  frame: [QueryConfig[], QueryConfig[]],
): Promise<Row[]> {
  const queries = [...frame[0], ...statements.map((statement) => bind(statement, values)), ...frame[1]];
  try {
    const columns = await queryRendered(client, queries);
    return bodyRows(columns[frame[0].length + statements.length - 1]);
  } catch (error) {
    throw lostRace(statements, error) ?? error;
  }
}

/** The verbs on the connection of a transaction. */
function within(client: pg.Client): Queries {
  const queries: Queries = {
    read: (statement, values) => run(client, statement, values),
    write: (statement, values) => run(client, statement, values),
    writeTogether: (statements, values) => runTogether(client, statements, values, [[], []]),
    transaction: (work) => work(queries),
  };
  return queries;
}

/**
 * Gives work so many milliseconds in all, and ends it earlier when its caller has gone.
 * @param canEnd false for writes, which once begun are not ended because nobody listens
 */
function limited<Result>(
  milliseconds: number,
  { caller, canEnd }: { caller: Caller | undefined; canEnd: boolean },
  work: (limit: Limit) => Promise<Result>,
): Promise<Result> {
  return new Promise((done, fail) => {
    const limit: Limit = {};
    const giveUp = (error: Error, refusal: Error): void => {
      limit.over = error;
      if (limit.leave) limit.leave(refusal);
      else {
        limit.cancel?.();
        fail(error);
      }
    };
    const timer = setTimeout(() => giveUp(new DatabaseTimeout(milliseconds), REFUSALS.waited), milliseconds);
    const signal = caller?.signal;
    const gone = (): void => {
      if (canEnd || limit.leave) giveUp(REFUSALS.gone, REFUSALS.gone);
    };
    signal?.addEventListener('abort', gone);
    const ended = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', gone);
    };
    work(limit).finally(ended).then(done, fail);
  });
}

export function openDatabase(options: DatabaseOptions): Database {
  const { poolSize, maxWaiting, statementTimeout } = options;
  const shared = openPool(options);
  const own = openPool({ ...options, poolSize: OWN_CONNECTIONS });
  const scheduler = createScheduler({ capacity: poolSize, places: maxWaiting });
  const lookUp = gatherLookups();

  type Pool = typeof shared;
  type Turn = <Result>(flow: string, work: () => Promise<Result>, limit: Limit) => Promise<Result>;

  function verbs(pool: Pool, turn: Turn, transactionMs: number, name: string, caller?: Caller): Queries {
    // An organization whose writes wait for a lock goes on reading: they are two flows.
    const [reads, writes] = [`${name} reads`, `${name} writes`];

    const inTurn: Turn = (flow, work, limit) =>
      turn(
        flow,
        async () => {
          const refusal = caller?.refusal();
          if (refusal) throw refusal;
          return work();
        },
        limit,
      );

    function readOnce<Row, Values>(
      statement: Statement<Row, Values>,
      values: Values,
      limit: Limit,
    ): Promise<Row[]> {
      const withClient = <Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result> =>
        inTurn(reads, () => pool.withClient(work, limit), limit);
      if (statement.kind === 'rows') return withClient((client) => run(client, statement, values));
      const query = { ...bind(statement, values), refusal: caller?.refusal };
      if (statement.kind === 'lookup') return lookUp({ flow: reads, query, withClient }).then(bodyRows<Row>);
      return withClient((client) => queryRendered(client, [query])).then(([body]) => bodyRows<Row>(body));
    }

    return {
      read: (statement, values) => {
        // A lookup is over before it could be ended, and others share its connection.
        const waiting = { caller: statement.kind === 'lookup' ? undefined : caller, canEnd: true };
        return limited(statementTimeout, waiting, (limit) =>
          retryRead(() => readOnce(statement, values, limit), limit),
        );
      },
      write: (statement, values) =>
        limited(statementTimeout, { caller, canEnd: false }, (limit) => {
          const once = () => pool.withClient((client) => run(client, statement, values), limit);
          return retryWrite(() => inTurn(writes, once, limit), limit);
        }),
      writeTogether: (statements, values) =>
        limited(statementTimeout, { caller, canEnd: false }, (limit) => {
          const all = (client: pg.Client) => runTogether(client, statements, values, [[BEGIN], [COMMIT]]);
          return retryWrite(() => inTurn(writes, () => pool.withRollback(all, limit), limit), limit);
        }),
      transaction: (work) =>
        limited(transactionMs, { caller, canEnd: false }, (limit) => {
          const once = () => pool.withTransaction((client) => work(within(client)), limit);
          return retryWrite(() => inTurn(writes, once, limit), limit);
        }),
    };
  }

  return {
    ...verbs(own, (_flow, work) => work(), OWN_TRANSACTION_MS, 'service'),
    for: (organizationId, caller) => verbs(shared, scheduler.run, statementTimeout, organizationId, caller),
    refusal: (organizationId, kind) => scheduler.refusal(`${organizationId} ${kind}`),
    stats: () => ({ ...shared.stats(), ...scheduler.stats() }),
    close: async () => {
      await Promise.all([shared.close(), own.close()]);
    },
  };
}
