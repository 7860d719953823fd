import type pg from 'pg';
import { bind, type Statement } from '../sql/statement.ts';

/** Clients choose among hundreds of thousands of sets of fields, and PostgreSQL keeps what a connection has prepared. */
const MAX_PREPARED = 500;

const preparedOn = new WeakMap<pg.Client, Set<string>>();

/** Whether the connection has prepared so many statements that another one should replace it. */
export const hasPreparedTooMany = (client: pg.Client): boolean =>
  (preparedOn.get(client)?.size ?? 0) > MAX_PREPARED;

function countPrepared(client: pg.Client, name: string): void {
  const names = preparedOn.get(client);
  if (names) names.add(name);
  else preparedOn.set(client, new Set([name]));
}

/** @throws Error if a value is missing, before anything is sent */
export function send<Row, Values>(
  client: pg.Client,
  statement: Statement<Row, Values>,
  values: Values,
  after?: Promise<void>,
): Promise<Row[]> {
  const query = bind(statement, values);
  const sent = () =>
    new Promise<Row[]>((done, fail) => {
      if (statement.isPrepared) countPrepared(client, statement.name);
      client.query(query, (error, result) => (error ? fail(error) : done(result.rows as Row[])));
    });
  return after ? after.then(sent) : sent();
}

export const run = (client: pg.Client, command: string): Promise<void> =>
  new Promise((done, fail) => {
    client.query(command, (error) => (error ? fail(error) : done()));
  });
