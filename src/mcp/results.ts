import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { validationFailed } from '../contract/errors.ts';
import { OPEN_LIST } from '../db/index.ts';

/** The responses of /v1 that become results of tools. */

const MAX_RESULT_BYTES = 1024 * 1024;

/** The header of a tool call inside this process, with the fields of its result. Clients cannot know its name. */
const RESULT_FIELDS = `x-result-${randomUUID()}`;

/** Without fields, a record has all. */
export const resultHeader = (fields: readonly string[] = []) => ({ [RESULT_FIELDS]: fields.join() });

const [QUOTE, BACKSLASH] = [0x22, 0x5c];

function endOfString(json: Buffer, start: number): number {
  let end = start;
  let escapes = 1;
  while (escapes % 2 === 1) {
    end = json.indexOf(QUOTE, end + 1);
    escapes = 0;
    while (json[end - 1 - escapes] === BACKSLASH) escapes += 1;
  }
  return end;
}

/** The records of a page, each as its bytes: parsed as a whole, a page takes several times its size. */
function* recordsOf(page: Buffer): Generator<{ record: Buffer; end: number }> {
  let [depth, start] = [0, 0];
  for (let at = OPEN_LIST.length; at < page.length; at += 1) {
    const byte = String.fromCharCode(page[at] ?? 0);
    if (byte === '"') at = endOfString(page, at);
    else if (byte === '{' || byte === '[') {
      if (depth === 0) start = at;
      depth += 1;
    } else if (byte === '}' || byte === ']') {
      if (depth === 0) return;
      depth -= 1;
      if (depth === 0) yield { record: page.subarray(start, at + 1), end: at + 1 };
    }
  }
}

/** Cuts each record of the response to the fields. */
function cutTo(fields: readonly string[], response: Buffer): Buffer {
  const cut = (record: Buffer): string => {
    const entries = Object.entries(JSON.parse(record.toString()) as object);
    return JSON.stringify(Object.fromEntries(entries.filter(([name]) => fields.includes(name))));
  };
  if (!response.subarray(0, OPEN_LIST.length).equals(OPEN_LIST)) return Buffer.from(cut(response));
  const records: string[] = [];
  let rest = OPEN_LIST.length;
  for (const { record, end } of recordsOf(response)) {
    records.push(cut(record));
    rest = end;
  }
  return Buffer.from(`${OPEN_LIST}${records.join()}${response.subarray(rest)}`);
}

/** Cuts a response before it is copied into a result, and rejects one that is too large for an agent. */
export function boundResults(app: FastifyInstance): void {
  // No entity tag is computed of what is not stored.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.headers[RESULT_FIELDS] !== undefined) reply.header('cache-control', 'no-store');
    done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    const fields = request.headers[RESULT_FIELDS];
    if (fields === undefined || reply.statusCode !== 200 || !Buffer.isBuffer(payload))
      return done(null, payload);
    const result = fields === '' ? payload : cutTo(String(fields).split(','), payload);
    if (result.length > MAX_RESULT_BYTES) {
      const message = `is too high: the result would have ${result.length} bytes, and can have ${MAX_RESULT_BYTES}. Use a lower limit, or name fields`;
      return done(validationFailed([{ path: 'query.limit', message }]));
    }
    // Hooks of pages read the total.
    const { total } = payload as { total?: number };
    done(null, Object.assign(result, total !== undefined && { total }));
  });
}
