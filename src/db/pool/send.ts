import pg from 'pg';
import { bind, type Statement } from '../sql/statement.ts';

/**
 * Runs one statement.
 * @returns its rows
 */
export const send = <Row, Values>(
  client: pg.Client,
  statement: Statement<Row, Values>,
  values: Values,
): Promise<Row[]> =>
  new Promise((done, fail) => {
    const { text, values: parameters, name } = bind(statement, values);
    const query = new pg.Query(text, parameters, (error, result) => {
      if (error) fail(error);
      else done(result.rows as Row[]);
    });
    // In the constructor's object form the name would cost 3 µs: pg copies the object with its property descriptors.
    Object.assign(query, { name });
    client.query(query);
  });
