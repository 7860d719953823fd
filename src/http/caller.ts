import type { FastifyReply } from 'fastify';
import type { Caller } from '../db/index.ts';

/** `request.signal` of Fastify also aborts when the body has been read. */
function onDisconnect({ raw: response }: FastifyReply): AbortSignal {
  const disconnected = new AbortController();
  const onClose = (): void => {
    if (!response.writableFinished) disconnected.abort();
  };
  // The client may have left while the key was looked up.
  if (response.destroyed) onClose();
  else response.once('close', onClose);
  return disconnected.signal;
}

/** The request, as the database sees it. The signal is created on demand, because few requests need it. */
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
