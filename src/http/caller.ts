import type { FastifyReply } from 'fastify';
import type { Caller } from '../db/pool/scope.ts';

/** Fastify's own signal takes the end of a body for the end of its client. */
function onDisconnect({ raw: response }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const onClose = (): void => {
    if (!response.writableFinished) gone.abort();
  };
  // Its close may have been already, while the key was looked up.
  if (response.destroyed) onClose();
  else response.once('close', onClose);
  return gone.signal;
}

/** The request, as the database sees it. Its signal is created when something asks for it: most requests end before. */
export function callerOf(reply: FastifyReply): Caller {
  let created: AbortSignal | undefined;
  function signal(): AbortSignal {
    created ??= onDisconnect(reply);
    return created;
  }
  return {
    signal,
    addDatabaseTime: (milliseconds) => {
      reply.request.databaseMilliseconds += milliseconds;
    },
  };
}
