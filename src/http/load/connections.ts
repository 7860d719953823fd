import type { Socket } from 'node:net';
import { getHeapStatistics } from 'node:v8';
import type { FastifyInstance } from 'fastify';
import type { Requests } from './pipelining.ts';

/** The life of connections: the queue of new ones, clients that are slow or send no more, and the end of the service. */

/** New connections that may wait until they are accepted. Node asks for 511; the kernel caps it at its own limit. */
const BACKLOG = 4_096;

/** Longest time, in milliseconds, for a request's headers, and for a whole request with its body. */
export type Patience = { headers: number; request: number };

export const PATIENCE: Patience = { headers: 20_000, request: 20_000 };

/** Node looks for slow clients in this interval, so they end up to so much later. */
const CHECK_INTERVAL_MS = 500;

/** Node's own options for it. */
export const slowClientLimits = ({ headers }: Patience) => ({
  headersTimeout: headers,
  connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, headers),
});

/** Opens the application to clients. */
export const listen = (
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
): Promise<string> => app.listen({ host, port, backlog: BACKLOG });

/** What Node holds of a connection whose headers are short, many and not complete: 8 KiB of them take 38 to 45 KiB as strings. */
const CONNECTION_BYTES = 64 * 1024;

/**
 * Connections at a time: they may hold a quarter of the memory that there is, before any request has begun.
 * @param bytes the memory of this process
 */
export const connectionsThatFit = (
  bytes = Math.min(
    getHeapStatistics().heap_size_limit,
    process.constrainedMemory() || Number.MAX_SAFE_INTEGER,
  ),
): number => Math.max(256, Math.floor(bytes / 4 / CONNECTION_BYTES));

/** The connections of a server, in the order in which they were opened or last got an answer. */
export function openConnections(app: FastifyInstance): Set<Socket> {
  const open = new Set<Socket>();
  app.server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  app.addHook('onResponse', ({ raw: { socket } }, _reply, done) => {
    if (open.delete(socket)) open.add(socket);
    done();
  });
  return open;
}

/** Whether the body of its request is still on its way. */
const isArriving = (requests: Requests, socket: Socket): boolean =>
  requests.lastAnswer(socket)?.req.complete === false;

/**
 * Takes each new connection, and for one beyond `limit` closes another, so that nobody can keep others out by holding
 * connections: the one that has waited longest without a request, or else for a body. Who sent nothing yet is not closed
 * first: with the rest held by requests without a key, new clients would close each other. One with a request under way is
 * never closed; where all have one, the new connection is.
 */
export function boundConnections(
  app: FastifyInstance,
  requests: Requests,
  open: Set<Socket>,
  onClosed: () => void,
  limit = connectionsThatFit(),
): void {
  function first(isWaiting: (socket: Socket) => boolean): Socket | undefined {
    for (const socket of open) if (isWaiting(socket)) return socket;
    return undefined;
  }

  app.server.on('connection', (newest: Socket) => {
    if (open.size <= limit) return;
    const socket =
      first((other) => other !== newest && requests.isIdle(other)) ??
      first((other) => isArriving(requests, other)) ??
      newest;
    open.delete(socket);
    socket.destroy();
    onClosed();
  });
}

/** A client that sends no more is asked after so many milliseconds, and again after twice as many. Most answers are made sooner. */
const ASK_MS = 25;

/**
 * A client that sends no more (a half-closed connection) waits for its answer or has gone: TCP says the same of both. It
 * gets its answer, and until then it is sent `100 Continue`, which a client that did not ask for it discards (RFC 9110,
 * 15.2.1). The system of one that has gone refuses that, so that the next one ends the connection, and its reads with it.
 */
export function answerHalfClosed(app: FastifyInstance, requests: Requests): void {
  function ask(socket: Socket, wait: number): void {
    setTimeout(() => {
      if (socket.destroyed) return;
      const answer = requests.lastAnswer(socket);
      if (answer?.req.httpVersion === '1.1' && !answer.headersSent) answer.writeContinue();
      ask(socket, 2 * wait);
    }, wait).unref();
  }

  // Node has this, and does not document it: it ends the connection after the answers instead of at once.
  Object.assign(app.server, { httpAllowHalfOpen: true });
  app.server.on('connection', (socket: Socket) => socket.once('end', () => ask(socket, ASK_MS)));
}

/** A connection without a request gets so long, in milliseconds, to send the one that may be on its way. */
const LAST_REQUEST_MS = 500;
const LOOK_INTERVAL_MS = 50;

/**
 * Lets the connections of a server that ends end with it. From the abort of `leaving` on, answers say
 * `Connection: close`. From `app.close()` on, connections without a request under way are closed, whatever part of one
 * they have sent, and Node no longer looks for slow bodies: those are cut here.
 */
export function endConnections(
  app: FastifyInstance,
  requests: Requests,
  open: Set<Socket>,
  leaving?: AbortSignal,
): void {
  let closing = false;

  app.addHook('onSend', (_request, reply, payload, done) => {
    if (closing || leaving?.aborted) reply.header('connection', 'close');
    done(null, payload);
  });

  app.addHook('preClose', (done) => {
    closing = true;
    const began = performance.now();
    const timer = setInterval(() => {
      app.server.closeIdleConnections();
      const age = performance.now() - began;
      for (const socket of open) {
        if (
          (age > LAST_REQUEST_MS && requests.isIdle(socket)) ||
          (age > PATIENCE.request && isArriving(requests, socket))
        )
          socket.destroy();
      }
    }, LOOK_INTERVAL_MS);
    app.server.once('close', () => clearInterval(timer));
    done();
  });
}
