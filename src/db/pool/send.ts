import pg from 'pg';
import { bind, type Statement } from '../sql/statement.ts';

/** Called with the bytes of an answer that have come so far. An error refuses the whole answer. */
export type Refuse = (bytes: number) => Error | undefined;

/** `refuse` is called each time that so many more bytes have come. */
const UNASKED_BYTES = 256 * 1_024;

/** About as many bytes as the row has; what is neither text nor JSON is small. */
function bytesOf(row: object): number {
  let bytes = 0;
  for (const value of Object.values(row))
    bytes += typeof value === 'string' || Buffer.isBuffer(value) ? value.length : 8;
  return bytes;
}

/** Drops the rows of an answer from the one on that nobody has room for. The returned function says why, where it did. */
function bound(query: pg.Query, refuse: Refuse): () => Error | undefined {
  let bytes = 0;
  let askAt = UNASKED_BYTES;
  let refusal: Error | undefined;
  query.on('row', (row: object, result) => {
    bytes += bytesOf(row);
    if (bytes > askAt && !refusal) {
      askAt = bytes + UNASKED_BYTES;
      refusal = refuse(bytes);
    }
    if (refusal && result) result.rows.length = 0;
  });
  return () => refusal;
}

/**
 * Runs one statement.
 * @returns its rows
 */
export const send = <Row, Values>(
  client: pg.Client,
  statement: Statement<Row, Values>,
  values: Values,
  refuse?: Refuse,
): Promise<Row[]> =>
  new Promise((done, fail) => {
    const { text, values: parameters, name } = bind(statement, values);
    const query = new pg.Query(text, parameters, (error, result) => {
      const failure = error ?? refusal?.();
      if (failure) fail(failure);
      else done(result.rows as Row[]);
    });
    // In the constructor's object form the name would cost 3 µs: pg copies the object with its property descriptors.
    Object.assign(query, { name });
    const refusal = refuse && bound(query, refuse);
    client.query(query);
  });
