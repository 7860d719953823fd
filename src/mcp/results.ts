import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { ApiError } from '../contract/errors.ts';

/** The responses of /v1 that become results of tools. */

const MAX_RESULT_BYTES = 1024 * 1024;

/** The header of a tool call inside this process, with the fields of its result. Clients cannot know its name. */
const RESULT_FIELDS = `x-result-${randomUUID()}`;

/** Without fields, a record has all. */
export const resultHeader = (fields: readonly string[]) => ({ [RESULT_FIELDS]: fields.join() });

const TOO_LARGE = 'The result would be larger than 1 MiB. Use a lower `limit`, or name fewer `fields`.';

const OPEN_LIST = Buffer.from('{"data":[');
const COMMA = Buffer.from(',');
const [QUOTE, BACKSLASH, OPEN, CLOSE, END_OF_LIST] = Buffer.from('"\\{}]');

/** Calls `use` with the bytes of each record of a list. @returns what follows the records */
function readRecords(list: Buffer, use: (record: Buffer) => void): Buffer {
  let [depth, start, inText] = [0, 0, false];
  for (let at = OPEN_LIST.length; at < list.length; at += 1) {
    const byte = list[at];
    if (byte === QUOTE) inText = !inText;
    else if (inText) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === OPEN) {
      if (depth === 0) start = at;
      depth += 1;
    } else if (byte === CLOSE) {
      depth -= 1;
      if (depth === 0) use(list.subarray(start, at + 1));
    } else if (byte === END_OF_LIST && depth === 0) return list.subarray(at);
  }
  return list.subarray(list.length);
}

/**
 * Record by record: parsed as a whole, a page would take several times its size.
 * @throws VALIDATION_FAILED as soon as the result is too large
 */
function cutTo(fields: readonly string[], response: Buffer): Buffer {
  function cut(json: Buffer): Buffer {
    const record: object = JSON.parse(json.toString());
    const named = Object.entries(record).filter(([name]) => fields.includes(name));
    return Buffer.from(JSON.stringify(Object.fromEntries(named)));
  }
  if (!response.subarray(0, OPEN_LIST.length).equals(OPEN_LIST)) return cut(response);
  const records: Buffer[] = [];
  let bytes = 0;
  const rest = readRecords(response, (record) => {
    const result = cut(record);
    records.push(...(records.length > 0 ? [COMMA] : []), result);
    bytes += result.length;
    if (bytes > MAX_RESULT_BYTES) throw new ApiError('VALIDATION_FAILED', TOO_LARGE);
  });
  return Buffer.concat([OPEN_LIST, ...records, rest]);
}

/** Cuts a response before it is copied into a result, and rejects one that is too large for an agent. */
export function boundResults(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    // No entity tag is computed of what is not stored.
    if (request.headers[RESULT_FIELDS] !== undefined) reply.header('cache-control', 'no-store');
  });
  app.addHook('onSend', async (request, reply, payload) => {
    const fields = request.headers[RESULT_FIELDS];
    if (fields === undefined || reply.statusCode >= 300 || !Buffer.isBuffer(payload)) return payload;
    const result = fields === '' ? payload : cutTo(String(fields).split(','), payload);
    if (result.length > MAX_RESULT_BYTES) throw new ApiError('VALIDATION_FAILED', TOO_LARGE);
    return result;
  });
}
