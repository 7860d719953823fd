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

/** A class: of an object literal with a getter, V8's collector promotes all that it reaches to the old space. */
class RequestCaller implements Caller {
  readonly #reply: FastifyReply;
  #signal: AbortSignal | undefined;

  constructor(reply: FastifyReply) {
    this.#reply = reply;
  }

  /** Built when something asks for it: most requests end before. */
  get signal(): AbortSignal {
    this.#signal ??= whenGone(this.#reply);
    return this.#signal;
  }

  ran(milliseconds: number): void {
    this.#reply.request.databaseMilliseconds += milliseconds;
  }
}

/** The request, as the database sees it. */
export const callerOf = (reply: FastifyReply): Caller => new RequestCaller(reply);
