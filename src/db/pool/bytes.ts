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

type Message = { name: string };
type Read = (offset: number, code: number, length: number, bytes: Buffer) => Message;
type Take = (code: number, offset: number, length: number, bytes: Buffer) => void;

const readMessage = (Parser.prototype as unknown as { handlePacket: Read }).handlePacket;

/** A row as pg's parser makes it, but that its values are bytes: parts of what came. */
function readRow(offset: number, length: number, bytes: Buffer) {
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

/** A message begins with its code and its length, which counts itself. */
const HEAD_BYTES = 5;

/**
 * Gives each message of a stream in one piece: where it lies in what came, and joined if it came in parts. pg's parser would copy
 * what comes behind a part.
 */
export function messagesIn(take: Take): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  /** Bytes of the message that has begun; 0 as long as its length has not come. */
  let missing = 0;
  const give = (bytes: Buffer, at: number): void =>
    take(bytes[at] ?? 0, at + HEAD_BYTES, bytes.readUInt32BE(at + 1), bytes);

  return (chunk) => {
    if (chunk.length < missing) {
      parts.push(chunk);
      missing -= chunk.length;
      return;
    }
    let at = missing;
    const begun = [...parts, at > 0 ? chunk.subarray(0, at) : chunk];
    const first = begun.length > 1 ? Buffer.concat(begun) : chunk;
    const bytes = at > 0 ? chunk : first;
    parts = [];
    missing = 0;
    if (at > 0) give(first, 0);
    while (bytes.length - at >= HEAD_BYTES && missing === 0) {
      const size = 1 + bytes.readUInt32BE(at + 1);
      if (size <= bytes.length - at) {
        give(bytes, at);
        at += size;
      } else missing = size - (bytes.length - at);
    }
    if (at < bytes.length) parts = [bytes.subarray(at)];
  };
}

/** pg's client. It gives `types` the bytes of a value. */
export class BytesClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super({ ...config, types: { getTypeParser: parserOf as typeof pg.types.getTypeParser } });
    const { connection } = this;
    const parser = new Parser();
    const take: Take = (code, offset, length, bytes) => {
      const message =
        code === DATA_ROW
          ? readRow(offset, length, bytes)
          : readMessage.call(parser, offset, code, length, bytes);
      if (message.name === 'readyForQuery') asked = Math.max(0, asked - 1);
      connection.emit(message.name === 'error' ? 'errorMessage' : message.name, message);
    };
    const attachListeners = (stream: Duplex): void => {
      stream.on('data', messagesIn(take));
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

const parsers = new Map<number, Parse>([[JSON_TYPE, (bytes) => bytes]]);

function parserOf(type: number): Parse {
  const known = parsers.get(type);
  if (known) return known;
  const ofText = pg.types.getTypeParser(type, 'text');
  const parse: Parse = (bytes) => ofText(bytes.toString());
  parsers.set(type, parse);
  return parse;
}
