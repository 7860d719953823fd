import type { FastifyReply } from 'fastify';
import type { Caller } from '../db/pool/scope.ts';

/** Fastify's own signal takes the end of a body for the end of its client. */
function whenGone({ raw: response }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const look = (): void => {
    if (!response.writableFinished) gone.abort();
  };
  // Its close may have been already, while the key was looked up.
  if (response.destroyed) look();
  else response.once('close', look);
  return gone.signal;
}

/** The request, as the database sees it. Its signal is created when something asks for it: most requests end before. */
export function callerOf(reply: FastifyReply): Caller {
  let created: AbortSignal | undefined;
  function signal(): AbortSignal {
    created ??= whenGone(reply);
    return created;
  }
  return {
    signal,
    addDatabaseTime: (milliseconds) => {
      reply.request.databaseMilliseconds += milliseconds;
    },
  };
}
