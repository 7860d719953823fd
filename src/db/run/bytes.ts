import type { Duplex } from 'node:stream';
import pg from 'pg';
import { Parser } from 'pg-protocol/dist/parser.js';

/**
 * Rows whose JSON stays bytes, from PostgreSQL's socket to the client's. pg makes text of every value, which would be encoded again for
 * the answer's tag, its length and the socket.
 */

/** Of PostgreSQL's protocol: the message that is a row, and the type json. */
const DATA_ROW = 0x44;
const JSON_TYPE = 114;

/** Messages that others follow: Parse, Bind, Describe and Execute, until the Sync. */
const HELD = new Set(Buffer.from('PBDE'));
/** Messages that the server answers with one that says it is ready: Sync and Query. */
const ASKING = new Set(Buffer.from('SQ'));

type Read = (offset: number, code: number, length: number, bytes: Buffer) => object;

const readMessage = (Parser.prototype as unknown as { handlePacket: Read }).handlePacket;

/** A row as pg's parser makes it, but that its values are bytes: parts of a buffer that is used again. */
function readRow(offset: number, length: number, bytes: Buffer): object {
  const fields: (Buffer | null)[] = [];
  let at = offset + 2;
  for (let left = bytes.readUInt16BE(offset); left > 0; left -= 1) {
    const size = bytes.readInt32BE(at);
    at += 4;
    fields.push(size < 0 ? null : bytes.subarray(at, at + size));
    at += Math.max(0, size);
  }
  return { name: 'dataRow', length, fields };
}

/** pg's client. It gives `types` the bytes of a value. */
export class BytesClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super({ ...config, types: { getTypeParser: parserOf as typeof pg.types.getTypeParser } });
    const { connection } = this;
    const parser = new Parser();
    const read: Read = (offset, code, length, bytes) =>
      code === DATA_ROW
        ? readRow(offset, length, bytes)
        : readMessage.call(parser, offset, code, length, bytes);
    Object.assign(parser, { handlePacket: read });
    const attachListeners = (stream: Duplex): void => {
      stream.on('data', (chunk: Buffer) =>
        parser.parse(chunk, (message) => {
          if (message.name === 'readyForQuery') asked = Math.max(0, asked - 1);
          connection.emit(message.name === 'error' ? 'errorMessage' : message.name, message);
        }),
      );
    };
    let held: Buffer[] = [];
    /** Statements without an answer. */
    let asked = 0;
    let isWaiting = false;
    const flush = (): void => {
      isWaiting = false;
      const messages = held;
      held = [];
      if (connection.stream.writable) connection.stream.write(Buffer.concat(messages));
    };
    /** What is asked behind others leaves with all that is asked in the same turn of the event loop. */
    const send = (message: Buffer): void => {
      held.push(message);
      const [type = 0] = message;
      if (HELD.has(type)) return;
      const isBehind = asked > 0;
      if (ASKING.has(type)) asked += 1;
      if (isBehind && !isWaiting) setImmediate(flush);
      isWaiting = isBehind;
      if (!isBehind) flush();
    };
    Object.assign(connection, { attachListeners, _send: send });
  }
}

type Parse = (bytes: Buffer) => unknown;

const parsers = new Map<number, Parse>([[JSON_TYPE, (bytes) => Buffer.from(bytes)]]);

function parserOf(type: number): Parse {
  const known = parsers.get(type);
  if (known) return known;
  const ofText = pg.types.getTypeParser(type, 'text');
  const parse: Parse = (bytes) => ofText(bytes.toString());
  parsers.set(type, parse);
  return parse;
}
