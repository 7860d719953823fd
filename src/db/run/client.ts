import type pg from 'pg';
import type { QueryConfig } from 'pg';
import type { Refusal } from '../../errors.ts';
import { type Statement, type Step, step } from '../sql/statement.ts';
import { type Deadline, withDeadline } from './deadline.ts';
import { openPool, type PoolOptions } from './pool.ts';
import { retryRead, retryWrite } from './retry.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import type { Answers, Caller, Queries, Scopes } from './scope.ts';
import { shareTrips } from './shared-trips.ts';
import { sendTogether } from './trip.ts';

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

const BEGIN = { name: 'begin', text: 'begin' };
const COMMIT = { name: 'commit', text: 'commit' };

const isShort = (steps: readonly Step[]): boolean => steps.every(({ statement }) => statement.isShort);

/** Called while an answer is read, with its size so far. */
type Refuse = Caller['refusal'];

async function run<const Steps extends readonly Step[]>(
  client: pg.Client,
  steps: Steps,
  refuse?: Refuse,
): Promise<Answers<Steps>> {
  const queries = steps.map(({ query }) => query);
  return (await sendTogether(client, queries, refuse)) as unknown as Answers<Steps>;
}

/** The same between two statements that have no answer. */
async function runBetween<const Steps extends readonly Step[]>(
  client: pg.Client,
  first: QueryConfig,
  steps: Steps,
  last: QueryConfig,
): Promise<Answers<Steps>> {
  const queries = steps.map(({ query }) => query);
  const answers = await sendTogether(client, [first, ...queries, last]);
  return answers.slice(1, -1) as unknown as Answers<Steps>;
}

/** The verbs for one statement, made of those for several. */
const alone = ({ readTogether, writeTogether }: Pick<Queries, 'readTogether' | 'writeTogether'>) => ({
  read: async <Row, Values>(statement: Statement<Row, Values>, values: Values): Promise<Row[]> =>
    (await readTogether([step(statement, values)]))[0],
  write: async <Row, Values>(statement: Statement<Row, Values>, values: Values): Promise<Row[]> =>
    (await writeTogether([step(statement, values)]))[0],
});

/** The verbs on the connection of a transaction. */
function within(client: pg.Client, deadline: Deadline): Queries {
  const together: Queries['readTogether'] = (steps) => {
    deadline.steps = steps;
    return run(client, steps);
  };
  const queries: Queries = {
    readTogether: together,
    writeTogether: together,
    ...alone({ readTogether: together, writeTogether: together }),
    transaction: (work) => work(queries),
  };
  return queries;
}

export function openDatabase(options: DatabaseOptions): Database {
  const { poolSize, maxWaiting, statementTimeout } = options;
  const shared = openPool(options);
  const own = openPool({ ...options, poolSize: OWN_CONNECTIONS });
  const scheduler = createScheduler({ capacity: poolSize, places: maxWaiting });
  const readShort = shareTrips();
  let written = 0;

  type Pool = typeof shared;
  type Turn = <Result>(flow: string, work: () => Promise<Result>, deadline: Deadline) => Promise<Result>;

  function verbs(pool: Pool, turn: Turn, transactionMs: number, name: string, caller?: Caller): Queries {
    // An organization whose writes wait for a lock goes on reading: they are two flows.
    const [reads, writes] = [`${name} reads`, `${name} writes`];

    const inTurn: Turn = (flow, work, deadline) =>
      turn(
        flow,
        async () => {
          const refusal = caller?.refusal();
          if (refusal) throw refusal;
          return work();
        },
        deadline,
      );

    const readTogether: Queries['readTogether'] = (steps) =>
      withDeadline(statementTimeout, { caller, isShort: isShort(steps), canEnd: true }, (deadline) => {
        deadline.steps = steps;
        const withClient = <Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result> =>
          inTurn(reads, () => pool.withClient(work, deadline), deadline);
        const [only, ...others] = steps;
        const once = async (): Promise<Answers<typeof steps>> =>
          only?.statement.isShort && others.length === 0
            ? ([await readShort({ step: only, flow: reads, deadline, withClient })] as never)
            : withClient((client) => run(client, steps, caller?.refusal));
        return retryRead(once, deadline);
      });

    const writeTogether: Queries['writeTogether'] = (steps) =>
      withDeadline(statementTimeout, { caller, canEnd: false }, (deadline) => {
        written += 1;
        deadline.steps = steps;
        // One statement is a transaction by itself.
        const once = () =>
          steps.length === 1
            ? pool.withClient((client) => run(client, steps), deadline)
            : pool.withRollback((client) => runBetween(client, BEGIN, steps, COMMIT), deadline);
        return retryWrite(() => inTurn(writes, once, deadline), deadline);
      });

    return {
      readTogether,
      writeTogether,
      ...alone({ readTogether, writeTogether }),
      transaction: (work) =>
        withDeadline(transactionMs, { caller, canEnd: false }, (deadline) => {
          written += 1;
          const once = () => pool.withTransaction((client) => work(within(client, deadline)), deadline);
          return retryWrite(() => inTurn(writes, once, deadline), deadline);
        }),
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
