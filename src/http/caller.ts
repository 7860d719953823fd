import { finished } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import type { Caller } from '../db/index.ts';

/** A client that reads slowly has no slot for longer. A proxy that buffers responses takes one in less. */
const SENDING_MS = 3_000;

/** The request, as the database sees it. */
export const callerOf = ({ raw, request }: FastifyReply): Caller => ({
  isGone: () => request.raw.socket.destroyed,
  sent: () =>
    Promise.race([finished(raw), pause(SENDING_MS, undefined, { ref: false })]).catch(() => undefined),
  addDatabaseTime: (milliseconds) => {
    request.databaseMilliseconds += milliseconds;
  },
});
