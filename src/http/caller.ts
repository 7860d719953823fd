import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../db/client.ts';
import { REFUSALS } from '../errors.ts';

function whenGone({ raw: request }: FastifyRequest, { raw: response }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  // Of pipelined requests only the first has a response that hears of the end. (Fastify's own signal takes the end of a
  // body for the end of its client.)
  request.once('close', () => {
    if (request.errored) gone.abort();
  });
  return gone.signal;
}

/** Who waits for the answer, for the database: most requests are answered before anything asks for the signal. */
export function callerOf(request: FastifyRequest, reply: FastifyReply): Caller {
  let signal: AbortSignal | undefined;
  return {
    get signal() {
      signal ??= whenGone(request, reply);
      return signal;
    },
    refusal: (bytes) => (request.server.hasRoomFor(request, bytes) ? undefined : REFUSALS.unsent),
  };
}
