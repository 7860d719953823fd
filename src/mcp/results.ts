import type { FastifyInstance } from 'fastify';
import { ApiError } from '../contract/errors.ts';
import { isCounted } from '../http/rate-limit.ts';

const MAX_RESULT_BYTES = 1024 * 1024;

/** Rejects a response that is too large for an agent, before it is copied into a result. */
export function boundResults(app: FastifyInstance): void {
  app.addHook('onSend', async ({ headers }, _reply, payload) => {
    if (isCounted(headers) && Buffer.isBuffer(payload) && payload.length > MAX_RESULT_BYTES)
      throw new ApiError('VALIDATION_FAILED', 'The result would be larger than 1 MiB. Use a lower `limit`.');
    return payload;
  });
}
