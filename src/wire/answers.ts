import type { FastifyInstance } from 'fastify';
import { atEndOfTick } from './tick.ts';

/** Answers leave together, at the end of each tick. Streams do not wait: nobody would hear that one fails. */
export function sendTogether(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const isStream = typeof payload === 'object' && payload !== null && !Buffer.isBuffer(payload);
    if (isStream) return done(null, payload);
    atEndOfTick(() => {
      try {
        done(null, payload);
      } catch (error) {
        // A header that cannot be written: by now there is no other answer to give.
        request.log.error({ err: error }, 'an answer could not be sent');
        reply.raw.destroy();
      }
    });
  });
}
