import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Requests } from './pipelining.ts';

/** The life of connections: the queue of new ones, slow clients, and the end of the service. */

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
