import type pg from 'pg';
import { bind, type Statement } from '../sql/statement.ts';

/** What is sent to a connection in one turn of the event loop is one write: PostgreSQL's process wakes once. */
export function writeTogether({ connection: { stream } }: pg.Client): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  setImmediate(() => stream.uncork());
}

/**
 * @param timeoutMs in place of the timeout of the pool
 * @throws Error if a value is missing, before anything is sent
 */
export function send<Row, Values>(
  client: pg.Client,
  statement: Statement<Row, Values>,
  values: Values,
  timeoutMs?: number,
): Promise<Row[]> {
  const query = { ...bind(statement, values), ...(timeoutMs && { query_timeout: timeoutMs }) };
  return new Promise<Row[]>((done, fail) => {
    client.query(query, (error, result) => {
      if (error) fail(Object.assign(error, { statement: statement.name }));
      else done(result.rows as Row[]);
    });
  });
}

export const run = (client: pg.ClientBase, command: string): Promise<void> =>
  new Promise((done, fail) => {
    client.query(command, (error) => (error ? fail(error) : done()));
  });
