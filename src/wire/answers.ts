import type { FastifyInstance } from 'fastify';
import { atEndOfTick } from './tick.ts';

/**
 * Sends the answers of one tick of the event loop together. A stream does not wait, because nobody would hear of its
 * failure.
 */
export function sendTogether(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const isStream = typeof payload === 'object' && payload !== null && !Buffer.isBuffer(payload);
    if (isStream) return done(null, payload);
    atEndOfTick(() => {
      try {
        done(null, payload);
      } catch (error) {
        // A header could not be written. It is too late for another answer.
        request.log.error({ err: error }, 'an answer could not be sent');
        reply.raw.destroy();
      }
    });
  });
}
