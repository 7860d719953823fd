import { Server } from 'node:net';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import { MAX_HEADER_BYTES } from '../contract/fields.ts';

/** Node's default of 511 resets connections in bursts. The kernel caps it (net.core.somaxconn). */
const BACKLOG = 4_096;
/** Unfinished headers stay in memory. Node drops those beyond one more than this, which lets server.ts see that there are too many. */
export const MAX_HEADERS = 64;
const REQUEST_TIMEOUT_MS = 20_000;
const CHECK_INTERVAL_MS = 500;
/** Longer than nginx keeps an idle connection (60 s): if Node closed first, a request could arrive on a closed connection. */
const KEEP_ALIVE_MS = 75_000;

/** @param databaseMs the longest time that a request waits for the database */
export const connectionLimits = (requestTimeout = REQUEST_TIMEOUT_MS, databaseMs = 0) => ({
  requestTimeout,
  keepAliveTimeout: KEEP_ALIVE_MS,
  // A connection is also idle while its request runs: an erasure may take the 60 s of an upload.
  connectionTimeout: Math.max(requestTimeout, databaseMs) + 10_000,
  http: {
    // Node's own response has no body; server.ts rejects with ours.
    requireHostHeader: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: Math.min(REQUEST_TIMEOUT_MS, requestTimeout),
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
  },
});

export const listen = (
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
): Promise<string> => app.listen({ host, port, backlog: BACKLOG });

/** Accepts no new connection, serves the open ones for the server's `drainMs`, and completes running requests. */
export async function closeServer(app: FastifyInstance): Promise<void> {
  // Lets the event loop accept the connections in the backlog.
  await nextTurn();
  // Before `app.close()`, which makes responses close their connections: clients that reconnected to a listening socket would
  // be reset. http.Server's own close() also closes idle connections, to which requests may be on their way.
  Server.prototype.close.call(app.server);
  await app.close();
}

const DRAIN_CHECK_MS = 50;

/**
 * On close, ends all connections as soon as no request runs. Node ends only idle ones, and would wait for a connection that
 * sent nothing or half a request.
 * @param drainMs milliseconds for which open connections are still served, with `Connection: close`
 */
export function endConnections(app: FastifyInstance, drainMs = 0): void {
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
    while (age() < drainMs && (await count()) > 0) await pause(DRAIN_CHECK_MS);
    const timer = setInterval(() => {
      if (running === 0 || age() > REQUEST_TIMEOUT_MS) server.closeAllConnections();
    }, DRAIN_CHECK_MS);
    server.once('close', () => clearInterval(timer));
  });
}
