import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { ApiError } from '../contract/errors.ts';

/** The responses of /v1 that become results of tools. */

const MAX_RESULT_BYTES = 1024 * 1024;
/** Fields are cut from no larger response: everybody waits while it is parsed. */
const MAX_PARSED_BYTES = 4 * MAX_RESULT_BYTES;

/** The header of a tool call inside this process, with the fields of its result. Clients cannot know its name. */
const RESULT_FIELDS = `x-result-${randomUUID()}`;

/** Without fields, a record has all. */
export const resultHeader = (fields: readonly string[]) => ({ [RESULT_FIELDS]: fields.join() });

const tooLarge = () =>
  new ApiError(
    'VALIDATION_FAILED',
    'The result would be larger than 1 MiB, or 4 MiB before its `fields` were cut. Use a lower `limit`, or name fewer `fields`.',
  );

function cutTo(fields: readonly string[], response: Buffer): Buffer {
  if (response.length > MAX_PARSED_BYTES) throw tooLarge();
  const cut = (record: object) =>
    Object.fromEntries(Object.entries(record).filter(([name]) => fields.includes(name)));
  const body: { data?: unknown } = JSON.parse(response.toString());
  const { data } = body;
  return Buffer.from(JSON.stringify(Array.isArray(data) ? { ...body, data: data.map(cut) } : cut(body)));
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
    if (result.length > MAX_RESULT_BYTES) throw tooLarge();
    return result;
  });
}
