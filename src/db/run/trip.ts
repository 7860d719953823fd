import { makePgArray } from 'drizzle-orm/pg-core';
import pg, { type Connection, type QueryConfig, type Submittable } from 'pg';
import { serialize } from 'pg-protocol';

/**
 * Statements that travel together: one write to the server, and its answers in their order. pg's own queries wait for each
 * other's answers. Outside of a transaction they are one transaction; when one fails, those after it are not run.
 */

type Row = Record<string, unknown>;

/** A column of an answer, and what makes its value of text. */
type Column = { name: string; parse: (text: string) => unknown };

/** Called with the bytes of an answer that have come so far. An error refuses the whole answer. */
export type Refuse = (bytes: number) => Error | undefined;

/** What each connection has prepared, with the columns of the answers. */
const prepared = new WeakMap<Connection, Map<string, readonly Column[]>>();

function preparedOn(connection: Connection): Map<string, readonly Column[]> {
  const known = prepared.get(connection) ?? new Map<string, readonly Column[]>();
  prepared.set(connection, known);
  return known;
}

/** Inside of an array, bytes are text. */
const bytesAsText = (value: unknown): unknown =>
  Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : value;

/** The protocol's values are text, bytes or null. */
function toWire(value: unknown): unknown {
  if (Array.isArray(value)) return makePgArray(value.map(toWire).map(bytesAsText));
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
}

const EXECUTE = serialize.execute();
const SYNC = serialize.sync();
/** The answer's columns. */
const DESCRIBE = serialize.describe({ type: 'P', name: '' });

/** `refuse` is called each time that so many more bytes have come. */
const UNASKED_BYTES = 256 * 1_024;

type Done = (error: Error | null, answers?: Row[][]) => void;

class Trip implements Submittable {
  readonly #queries: readonly QueryConfig[];
  readonly #refuse: Refuse | undefined;
  readonly #answers: Row[][];
  #known = new Map<string, readonly Column[]>();
  /** The statement whose answer comes now, and its columns. */
  #current = 0;
  #columns: readonly Column[] | undefined;
  #bytes = 0;
  #askAt = UNASKED_BYTES;
  #refusal: Error | undefined;
  /** pg replaces it, to add its timeout. */
  callback: Done;

  constructor(queries: readonly QueryConfig[], refuse: Refuse | undefined, callback: Done) {
    this.#queries = queries;
    this.#refuse = refuse;
    this.#answers = queries.map(() => []);
    this.callback = callback;
  }

  submit(connection: Connection): void {
    this.#known = preparedOn(connection);
    const messages: Buffer[] = [];
    const parsed = new Set(this.#known.keys());
    for (const { name = '', text, values = [] } of this.#queries) {
      // A statement is closed before it is parsed. After a failed statement the server skips those behind it, and a pooler
      // may take them for prepared.
      if (name !== '' && !parsed.has(name)) messages.push(serialize.close({ type: 'S', name }));
      if (!parsed.has(name)) messages.push(serialize.parse({ name, text }));
      if (name !== '') parsed.add(name);
      messages.push(serialize.bind({ statement: name, values, valueMapper: toWire }));
      if (!this.#known.has(name)) messages.push(DESCRIBE);
      messages.push(EXECUTE);
    }
    messages.push(SYNC);
    connection.stream.write(Buffer.concat(messages));
  }

  handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({
      name,
      parse: pg.types.getTypeParser(dataTypeID, 'text'),
    }));
  }

  handleDataRow({ fields, length }: { fields: readonly (string | null)[]; length: number }): void {
    if (this.#refusal) return;
    this.#bytes += length;
    if (this.#bytes > this.#askAt) {
      this.#askAt = this.#bytes + UNASKED_BYTES;
      this.#refusal = this.#refuse?.(this.#bytes);
      if (this.#refusal) {
        for (const rows of this.#answers) rows.length = 0;
        return;
      }
    }
    this.#columns ??= this.#known.get(this.#queries[this.#current]?.name ?? '');
    const row: Row = {};
    for (const [index, { name, parse }] of (this.#columns ?? []).entries()) {
      const value = fields[index];
      row[name] = value == null ? null : parse(value);
    }
    this.#answers[this.#current]?.push(row);
  }

  handleCommandComplete(): void {
    const name = this.#queries[this.#current]?.name;
    if (name !== undefined && !this.#known.has(name)) this.#known.set(name, this.#columns ?? []);
    this.#columns = undefined;
    this.#current += 1;
  }

  handleError(error: Error): void {
    this.callback(error);
  }

  handleReadyForQuery(): void {
    this.callback(this.#refusal ?? null, this.#answers);
  }
}

/**
 * Runs the queries one after the other, in one round trip.
 * @returns the rows of each
 */
export const sendTogether = (
  client: pg.Client,
  queries: readonly QueryConfig[],
  refuse?: Refuse,
): Promise<Row[][]> =>
  new Promise((done, fail) => {
    client.query(new Trip(queries, refuse, (error, answers = []) => (error ? fail(error) : done(answers))));
  });
