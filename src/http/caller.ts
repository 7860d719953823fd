import type { FastifyRequest } from 'fastify';
import type { Caller } from '../db/index.ts';

/** The request, as the database sees it. */
export const callerOf = (request: FastifyRequest): Caller => ({
  isGone: () => request.raw.socket.destroyed,
  addDatabaseTime: (milliseconds) => {
    request.databaseMilliseconds += milliseconds;
  },
});
