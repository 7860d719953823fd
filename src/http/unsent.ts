import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { serviceUnavailable } from '../errors.ts';
import { createPlaces } from './places.ts';

/**
 * Answers that wait until their clients take them. Their bytes are counted, for each organization and in all, from the
 * moment that an answer is made until the operating system has all of it.
 */

declare module 'fastify' {
  interface FastifyRequest {
    /** Bytes of the answer that are counted as unsent. */
    unsentBytes: number;
    /** Gives back the place that the making of a large answer took. */
    isMade: (() => void) | undefined;
  }
}

const MIB = 1024 * 1024;

export type UnsentLimits = { all: number; each: number };

/** The largest page of products takes 40 MiB. */
const LIMITS: UnsentLimits = { all: 128 * MIB, each: 64 * MIB };

/** From here on an answer is large: an organization has these made one after another. */
const LARGE = MIB;

/** A body of this length can make a page large that was not. */
const LARGE_BODY = 16 * 1024;

/** A client that neither takes nor sends anything for so long, in milliseconds, is cut off. */
const IDLE_LIMIT = 30_000;

/** Organizations whose sizes are remembered. */
const MAX_REMEMBERED = 10_000;

/** The largest answer that each organization had of each route. */
function rememberSizes() {
  const byOwner = new Map<string, Map<string, number>>();
  return {
    /** Bytes; undefined while none is known. */
    of: (owner: string, route = ''): number | undefined => byOwner.get(owner)?.get(route),
    learn(owner: string, route = '', bytes: number): void {
      let routes = byOwner.get(owner);
      if (!routes) {
        if (byOwner.size >= MAX_REMEMBERED) byOwner.clear();
        routes = new Map();
        byOwner.set(owner, routes);
      }
      if (bytes > (routes.get(route) ?? -1)) routes.set(route, bytes);
    },
    /** After a large write, what was small has to be seen again. */
    doubt(owner: string): void {
      const routes = byOwner.get(owner);
      for (const [route, bytes] of routes ?? []) if (bytes < LARGE) routes?.delete(route);
    },
  };
}

const organizationOf = (request: FastifyRequest): string =>
  (request.scope as FastifyRequest['scope'] | undefined)?.organizationId ?? '';

const isRead = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD';

/**
 * Refuses (503) the requests of an organization, or of all, while too much waits for their clients: before any work where
 * that is known by then, and else a read when its answer is made. Streams do not count: they are read as they are taken.
 */
export function boundUnsent(app: FastifyInstance, limits: UnsentLimits = LIMITS): void {
  let all = 0;
  const byOwner = new Map<string, number>();
  /** The requests whose answers wait, by connection: those behind the one that is being sent hear of no end of theirs. */
  const bySocket = new WeakMap<Socket, Set<FastifyRequest>>();

  /** An answer is never too large while nothing else waits. */
  const fits = (owner: string, bytes: number): boolean => {
    const own = byOwner.get(owner) ?? 0;
    return (own === 0 || own + bytes <= limits.each) && (all === 0 || all + bytes <= limits.all);
  };

  function count(request: FastifyRequest, bytes: number): void {
    const owner = organizationOf(request);
    const own = (byOwner.get(owner) ?? 0) + bytes - request.unsentBytes;
    all += bytes - request.unsentBytes;
    request.unsentBytes = bytes;
    if (own === 0) byOwner.delete(owner);
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

  app.server.setTimeout(IDLE_LIMIT);
  app.decorateRequest('unsentBytes', 0);
  app.decorateRequest('isMade');
  const largeAnswers = createPlaces({ all: 4, each: 1, line: 100, patience: 5_000 });
  const sizes = rememberSizes();
  app.addHook('preParsing', (request, reply, payload, done) => {
    const owner = organizationOf(request);
    if (!fits(owner, 0)) return done(serviceUnavailable());
    if (owner === '') return done(null, payload);
    if (!isRead(request)) {
      const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
      if (Number(length) > LARGE_BODY || encoding !== undefined) sizes.doubt(owner);
      return done(null, payload);
    }
    const { url } = request.routeOptions;
    const isRefused = (): boolean => !fits(owner, sizes.of(owner, url) ?? 0);
    if (isRefused()) return done(serviceUnavailable());
    if ((sizes.of(owner, url) ?? LARGE) < LARGE) return done(null, payload);
    request.isMade = largeAnswers.take(owner, (hasPlace) => {
      // Others were made while this one waited.
      done(hasPlace && !isRefused() ? null : serviceUnavailable(), payload);
    });
    reply.raw.once('close', request.isMade);
  });

  /** Counts the answer, unless there is no room for it. */
  function hasRoom(request: FastifyRequest, isSuccess: boolean, bytes: number): boolean {
    const { socket } = request.raw;
    if (bytes === 0 || socket.destroyed) return true;
    if (isSuccess && isRead(request)) {
      const owner = organizationOf(request);
      sizes.learn(owner, request.routeOptions.url, bytes);
      if (!fits(owner, bytes)) return false;
    }
    waitingOn(socket).add(request);
    count(request, bytes);
    return true;
  }

  app.addHook('onSend', (request, reply, payload, done) => {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0;
    const isCounted = hasRoom(request, reply.statusCode < 400, bytes);
    // Only now: the next one has to find this one counted.
    request.isMade?.();
    if (isCounted) return done(null, payload);
    // The tag was of what is not sent.
    reply.removeHeader('etag');
    done(serviceUnavailable());
  });
  app.addHook('onResponse', (request, _reply, done) => {
    if (request.unsentBytes > 0) {
      count(request, 0);
      bySocket.get(request.raw.socket)?.delete(request);
    }
    done();
  });
}
