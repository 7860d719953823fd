import { Server } from 'node:net';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { everySecond } from './logging.ts';

/** The limits of connections that Node itself keeps, in one place. What they leave open is the proxy's: docs/operating.md. */

/** New connections that may wait until they are accepted. Node's 511 resets bursts; the kernel caps it at its own limit. */
const BACKLOG = 4_096;
/** Connections at a time. One with unfinished headers takes up to 76 KiB of V8's heap. */
const MAX_CONNECTIONS = 2_048;
/** Of the request line and the headers together. */
export const MAX_HEADER_BYTES = 8 * 1024;
export const MAX_HEADERS = 64;
/** Longest time for a request's headers, and for the whole request with its body. */
const REQUEST_TIMEOUT_MS = 20_000;
/** Node looks for slow clients in this interval, so they end up to so much later. */
const CHECK_INTERVAL_MS = 500;
/** A connection that neither takes nor sends anything for so long is ended. */
const IDLE_TIMEOUT_MS = 30_000;
/** Longer than a proxy keeps an idle connection (60 s in nginx), so that the proxy ends it and sends nothing into its end. */
const KEEP_ALIVE_MS = 75_000;

/** Fastify's options for them. */
export const connectionLimits = (requestTimeout = REQUEST_TIMEOUT_MS) => ({
  requestTimeout,
  keepAliveTimeout: KEEP_ALIVE_MS,
  connectionTimeout: IDLE_TIMEOUT_MS,
  http: {
    // Its response would be empty; ours is in the error shape.
    requireHostHeader: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: Math.min(REQUEST_TIMEOUT_MS, requestTimeout),
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
  },
});

/** Sets the limits that are properties of the server. */
export function limitConnections({ server, log }: FastifyInstance): void {
  server.maxConnections = MAX_CONNECTIONS;
  const closed = everySecond<'closed'>((counts) =>
    log.warn(counts, 'too many connections: the newest were closed'),
  );
  server.on('drop', () => closed.count('closed'));
  // Node leaves out the headers beyond this: one more than a request may have shows that there are too many.
  server.maxHeadersCount = MAX_HEADERS + 1;
}

/** Opens the application to clients. */
export const listen = (
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
): Promise<string> => app.listen({ host, port, backlog: BACKLOG });

/**
 * Accepts no connection from here on, and ends none: a proxy then asks another instance. It must come before `app.close()`,
 * from where on responses close connections: the new ones that follow would be reset by the kernel, with their requests.
 */
export async function stopListening({ server }: FastifyInstance): Promise<void> {
  // The event loop has just accepted those that wait.
  await nextTurn();
  // Of the class below http.Server, whose own would end idle connections, and the requests on their way.
  Server.prototype.close.call(server);
}

const DRAIN_CHECK_MS = 50;

/**
 * Lets the connections of a server that closes end with it: as soon as no request runs. (Node itself ends idle ones alone:
 * one that sent nothing, or a part of a request, would stay open.)
 * @param lingering milliseconds that open connections are still served for, with `Connection: close`
 */
export function endConnections(app: FastifyInstance, lingering = 0): void {
  const { server } = app;
  let running = 0;
  function ended(): void {
    running -= 1;
  }
  server.on('request', (_request, response) => {
    running += 1;
    response.once('close', ended);
  });

  app.addHook('preClose', async () => {
    const count = promisify(server.getConnections.bind(server));
    const began = performance.now();
    const age = () => performance.now() - began;
    while (age() < lingering && (await count()) > 0) await pause(DRAIN_CHECK_MS);
    const timer = setInterval(() => {
      if (running === 0 || age() > REQUEST_TIMEOUT_MS) server.closeAllConnections();
    }, DRAIN_CHECK_MS);
    server.once('close', () => clearInterval(timer));
  });
}
