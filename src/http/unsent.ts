import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { REFUSALS } from '../errors.ts';
import { isRead } from './admission.ts';

/**
 * Answers that wait until their clients take them. Their bytes are counted, for each organization and in all, from the
 * moment that an answer is made until the operating system has all of it.
 */

declare module 'fastify' {
  interface FastifyInstance {
    /** False while too much waits for clients to answer this request. With the size of the answer, room is kept for it. */
    hasRoomFor: (request: FastifyRequest, bytes?: number) => boolean;
  }
  interface FastifyRequest {
    /** Bytes of the answer that are counted as unsent. */
    unsentBytes: number;
  }
}

const MIB = 1024 * 1024;

export type UnsentLimits = { all: number; each: number };

/** A page of products can take 25 MiB: one such answer of an organization, and of two organizations. */
const LIMITS: UnsentLimits = { all: 64 * MIB, each: 32 * MIB };

/** What waits of an organization: its bytes, and how large the last answer was that was made meanwhile, by route. */
type Unsent = { bytes: number; last: Map<string | undefined, number> };

/** A client that neither takes nor sends anything for so long, in milliseconds, is cut off. */
const IDLE_LIMIT = 30_000;

const organizationOf = (request: FastifyRequest): string =>
  (request.scope as FastifyRequest['scope'] | undefined)?.organizationId ?? '';

/**
 * Refuses (503) the requests of an organization, or of all, while too much waits for their clients. It looks before any
 * work is done. For a read it looks again: at its turn in the database, when PostgreSQL says how long a large answer is, and
 * when the answer is made. Streams do not count: they are read as they are taken.
 */
export function boundUnsent(app: FastifyInstance, limits: UnsentLimits = LIMITS): void {
  let all = 0;
  const byOwner = new Map<string, Unsent>();
  /** The requests whose answers wait, by connection: those behind the one that is being sent hear of no end of theirs. */
  const bySocket = new WeakMap<Socket, Set<FastifyRequest>>();

  /** An answer is never too large while no other waits. */
  function fits(request: FastifyRequest, bytes: number): boolean {
    const own = (byOwner.get(organizationOf(request))?.bytes ?? 0) - request.unsentBytes;
    const others = all - request.unsentBytes;
    return (own === 0 || own + bytes <= limits.each) && (others === 0 || others + bytes <= limits.all);
  }

  function count(request: FastifyRequest, bytes: number): void {
    const owner = organizationOf(request);
    const own = byOwner.get(owner) ?? { bytes: 0, last: new Map() };
    own.bytes += bytes - request.unsentBytes;
    all += bytes - request.unsentBytes;
    request.unsentBytes = bytes;
    if (own.bytes === 0) byOwner.delete(owner);
    else byOwner.set(owner, own);
  }

  function waitingOn(socket: Socket): Set<FastifyRequest> {
    let waiting = bySocket.get(socket);
    if (!waiting) {
      const added = new Set<FastifyRequest>();
      socket.once('close', () => {
        for (const request of added) count(request, 0);
        added.clear();
      });
      bySocket.set(socket, added);
      waiting = added;
    }
    return waiting;
  }

  function keep(request: FastifyRequest, bytes: number): void {
    waitingOn(request.raw.socket).add(request);
    count(request, bytes);
  }

  /** Keeps room for the answer of a read, if there is any. */
  function reserve(request: FastifyRequest, bytes: number): boolean {
    const hasRoom = fits(request, bytes);
    if (hasRoom) keep(request, bytes);
    byOwner.get(organizationOf(request))?.last.set(request.routeOptions.url, bytes);
    return hasRoom;
  }

  /** Without a size, an answer is taken to be as large as the last of its route: so none is made in vain. */
  function hasRoomFor(request: FastifyRequest, bytes?: number): boolean {
    if (bytes !== undefined) return !request.raw.socket.destroyed && reserve(request, bytes);
    return fits(request, byOwner.get(organizationOf(request))?.last.get(request.routeOptions.url) ?? 0);
  }

  app.server.setTimeout(IDLE_LIMIT);
  app.decorateRequest('unsentBytes', 0);
  app.decorate('hasRoomFor', hasRoomFor);
  app.addHook('preParsing', (request, _reply, payload, done) => {
    if (hasRoomFor(request)) done(null, payload);
    else done(REFUSALS.unsent);
  });

  /** Counts the answer, unless there is no room for it. */
  function isCounted(request: FastifyRequest, isSuccess: boolean, bytes: number): boolean {
    if (bytes === 0 || request.raw.socket.destroyed) return true;
    if (isSuccess && isRead(request)) return reserve(request, bytes);
    keep(request, bytes);
    return true;
  }

  app.addHook('onSend', (request, reply, payload, done) => {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0;
    if (isCounted(request, reply.statusCode < 400, bytes)) return done(null, payload);
    // The tag was of what is not sent.
    reply.removeHeader('etag');
    done(REFUSALS.unsent);
  });
  app.addHook('onResponse', (request, _reply, done) => {
    if (request.unsentBytes > 0) {
      count(request, 0);
      bySocket.get(request.raw.socket)?.delete(request);
    }
    done();
  });
}
