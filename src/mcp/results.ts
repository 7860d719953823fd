import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { invalid } from '../contract/errors.ts';
import { type ListJson, OPEN_LIST } from '../db/index.ts';

/** The responses of /v1 that become results of tools. */

const MAX_RESULT_BYTES = 1024 * 1024;

/** The header of a tool call inside this process, with the fields of its result. Clients cannot know its name. */
const RESULT_FIELDS = `x-result-${randomUUID()}`;

/** Without fields, a record has all. */
export const resultHeader = (fields: readonly string[] = []) => ({ [RESULT_FIELDS]: fields.join() });

/** Cuts each record of the response to the fields. */
function cutTo(fields: readonly string[], response: Buffer): Buffer {
  const cut = (record: object): object =>
    Object.fromEntries(Object.entries(record).filter(([name]) => fields.includes(name)));
  const { sizes } = response as Partial<ListJson<unknown>>;
  if (!sizes) {
    const body = JSON.parse(response.toString()) as { data?: object[] };
    return Buffer.from(JSON.stringify(body.data ? { ...body, data: body.data.map(cut) } : cut(body)));
  }
  // Parsed as a whole, a page would take several times its size.
  const records: string[] = [];
  let start = OPEN_LIST.length;
  for (const size of sizes) {
    records.push(JSON.stringify(cut(JSON.parse(response.toString('utf8', start, start + size)))));
    start += size + 1;
  }
  const end = records.length > 0 ? start - 1 : start;
  return Buffer.from(`${OPEN_LIST}${records.join()}${response.subarray(end)}`);
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
      return done(invalid('query.limit', message));
    }
    // Hooks of pages read the total.
    const { total } = payload as { total?: number };
    done(null, Object.assign(result, total !== undefined && { total }));
  });
}
