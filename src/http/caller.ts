import { finished } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
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

/** A client that reads slowly has no slot for longer. A proxy that buffers responses takes one in less. */
const SENDING_MS = 3_000;

/** The request, as the database sees it. The signal is created on demand, because few requests need it. */
export function callerOf(reply: FastifyReply): Caller {
  let created: AbortSignal | undefined;
  function signal(): AbortSignal {
    created ??= onDisconnect(reply);
    return created;
  }
  let ended: Promise<void> | undefined;
  function sent(): Promise<void> {
    ended ??= finished(reply.raw).catch(() => undefined);
    return Promise.race([ended, pause(SENDING_MS, undefined, { ref: false })]);
  }
  return {
    signal,
    sent,
    addDatabaseTime: (milliseconds) => {
      reply.request.databaseMilliseconds += milliseconds;
    },
  };
}
