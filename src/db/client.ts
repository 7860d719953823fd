import type pg from 'pg';
import { gatherReads } from '../wire/lookups.ts';
import { type Column, queryRendered } from '../wire/rendered-query.ts';
import { LostRace, violatedConstraint } from './faults.ts';
import { openPool, type PoolOptions } from './pool.ts';
import { retryRead, retryWrite } from './retry.ts';
import { bind, type Statement } from './statement.ts';

/** The three verbs that repositories speak, on the pool and inside a transaction alike. */
export type Queries = {
  /** Runs a statement that only reads. Outside of a transaction, a fault that passes is retried for up to five seconds. */
  read: <Row, Values>(statement: Statement<Row, Values>, values: Values) => Promise<Row[]>;
  /** Runs one statement that writes. Outside of a transaction, retried only when the failure proves that nothing was written. */
  write: <Row, Values>(statement: Statement<Row, Values>, values: Values) => Promise<Row[]>;
  /** Runs `work` in one transaction, and again from its start when the server undid it. Inside of one, it joins that one. */
  transaction: <Result>(work: (transaction: Queries) => Promise<Result>) => Promise<Result>;
};

export type Database = Queries & {
  stats: () => { total: number; idle: number; waiting: number };
  close: () => Promise<void>;
};

export type DatabaseOptions = PoolOptions;

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
    const lostRace = statement.racesOn !== undefined && violatedConstraint(error) === statement.racesOn;
    throw lostRace ? new LostRace(`${statement.name} lost a race.`, { cause: error }) : error;
  }
}

/** The three verbs on the connection of a transaction. */
function within(client: pg.Client): Queries {
  const queries: Queries = {
    read: (statement, values) => run(client, statement, values),
    write: (statement, values) => run(client, statement, values),
    transaction: (work) => work(queries),
  };
  return queries;
}

export function openDatabase(options: DatabaseOptions): Database {
  const pool = openPool(options);
  const readBody = gatherReads(pool.withClient);

  const once = <Row, Values>(statement: Statement<Row, Values>, values: Values): Promise<Row[]> =>
    pool.withClient((client) => run(client, statement, values));

  async function gathered<Row, Values>(statement: Statement<Row, Values>, values: Values): Promise<Row[]> {
    return bodyRows(await readBody(bind(statement, values), { isLookup: statement.kind === 'lookup' }));
  }

  return {
    read: (statement, values) =>
      retryRead(() => (statement.kind === 'rows' ? once(statement, values) : gathered(statement, values))),
    write: (statement, values) => retryWrite(() => once(statement, values)),
    transaction: (work) => retryWrite(() => pool.withTransaction((client) => work(within(client)))),
    stats: pool.stats,
    close: pool.close,
  };
}
