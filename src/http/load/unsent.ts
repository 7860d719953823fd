import type { FastifyInstance, FastifyReply } from 'fastify';
import { REFUSALS } from '../../contract/errors.ts';
import { isRead } from './admission.ts';
import { createRoom, ownerOf } from './room.ts';

/**
 * Answers that wait until their clients take them: counted from the moment that an answer is made until the operating
 * system has all of it.
 */

declare module 'fastify' {
  interface FastifyInstance {
    /** False while too much waits for clients to make this answer. With the size of the answer, room is kept for it. */
    hasRoomFor: (reply: FastifyReply, bytes?: number) => boolean;
  }
}

const MIB = 1024 * 1024;

/** A page of products can take 25 MiB: two organizations may have one each. */
const SIZE = 80 * MIB;

/** A smaller answer costs no more than the connection that waits for it, which has one at a time. */
const SMALL = 16 * 1024;

/** A client that neither takes nor sends anything for so long, in milliseconds, is cut off. */
const IDLE_LIMIT = 30_000;

/**
 * Refuses (503) the requests of an owner while too much waits for its clients. It looks before any work is done, and at
 * the turn in the database. For a read it looks again when PostgreSQL says how long a large answer is, and when the answer
 * is made; the answer of a write is counted and never refused. Streams do not count: they are read as they are taken.
 *
 * Each owner has a count of its own: while 200 clients of one read nothing of 25 MB, another gets ten of ten pages of 5 MB.
 * With one count for all it got none.
 */
export function boundUnsent(app: FastifyInstance, size = SIZE): void {
  /** How large the last answer was that was made while others of its owner waited, by owner and route. */
  const last = new Map<string, Map<string | undefined, number>>();
  const room = createRoom(size, (owner) => last.delete(owner));

  /**
   * Keeps room for the answer of a read, where there is room. A refused answer gives its room back at once: of several that
   * grow side by side, all would be refused otherwise.
   */
  function reserve(reply: FastifyReply, bytes: number): boolean {
    const owner = ownerOf(reply.request);
    const hasRoom = room.has(reply, bytes);
    room.keep(reply, hasRoom ? bytes : 0);
    if (room.of(owner) > 0) {
      const ofOwner = last.get(owner) ?? new Map<string | undefined, number>();
      last.set(owner, ofOwner.set(reply.request.routeOptions.url, bytes));
    }
    return hasRoom;
  }

  app.server.setTimeout(IDLE_LIMIT);
  app.decorate('hasRoomFor', (reply, bytes) => {
    if (bytes !== undefined) return bytes <= SMALL || reserve(reply, bytes);
    // Taken to be as large as the last of its route: so none is made in vain.
    const owner = ownerOf(reply.request);
    return room.has(reply, last.get(owner)?.get(reply.request.routeOptions.url) ?? 0);
  });
  app.addHook('preParsing', (_request, reply, payload, done) => {
    if (app.hasRoomFor(reply)) done(null, payload);
    else done(REFUSALS.unsent);
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0;
    if (bytes <= SMALL) return done(null, payload);
    if (reply.statusCode >= 400 || !isRead(request)) room.keep(reply, bytes);
    else if (!reserve(reply, bytes)) {
      // The tag is that of the answer that is not sent.
      reply.removeHeader('etag');
      return done(REFUSALS.unsent);
    }
    done(null, payload);
  });
}
