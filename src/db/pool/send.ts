import type pg from 'pg';
import { bind, type Statement } from '../sql/statement.ts';

export const send = <Row, Values>(
  client: pg.Client,
  statement: Statement<Row, Values>,
  values: Values,
): Promise<Row[]> =>
  new Promise((done, fail) => {
    client.query(bind(statement, values), (error, result) =>
      error ? fail(error) : done(result.rows as Row[]),
    );
  });

export const run = (client: pg.Client, command: string): Promise<void> =>
  new Promise((done, fail) => {
    client.query(command, (error) => (error ? fail(error) : done()));
  });
