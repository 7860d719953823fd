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
 * Connections at a time: they may hold a quarter of the memory that there is, before any request has begun. Node closes those
 * beyond it; headers that do not get complete end a connection after `patience.headers`.
 * @param bytes the memory of this process
 */
export const connectionsThatFit = (
  bytes = Math.min(
    getHeapStatistics().heap_size_limit,
    process.constrainedMemory() || Number.MAX_SAFE_INTEGER,
  ),
): number => Math.max(256, Math.floor(bytes / 4 / CONNECTION_BYTES));

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
export function endConnections(app: FastifyInstance, requests: Requests, leaving?: AbortSignal): void {
  const sockets = new Set<Socket>();
  let closing = false;

  app.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (closing || leaving?.aborted) reply.header('connection', 'close');
    done(null, payload);
  });

  const isIncomplete = (socket: Socket): boolean => requests.lastAnswer(socket)?.req.complete === false;

  app.addHook('preClose', (done) => {
    closing = true;
    const began = performance.now();
    const timer = setInterval(() => {
      app.server.closeIdleConnections();
      const age = performance.now() - began;
      for (const socket of sockets) {
        if (
          (age > LAST_REQUEST_MS && requests.isIdle(socket)) ||
          (age > PATIENCE.request && isIncomplete(socket))
        )
          socket.destroy();
      }
    }, LOOK_INTERVAL_MS);
    app.server.once('close', () => clearInterval(timer));
    done();
  });
}
