import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** The life of connections: the queue of new ones, requests sent ahead, slow clients, and the end of the service. */

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

/**
 * Node's parser cannot stop inside of a chunk, and a chunk of 64 KiB can hold 3,640 of the shortest requests. So the parser
 * gets parts of so many bytes, each when no request of the connection waits.
 */
const PART = 1_024;

type Exchange = { request: IncomingMessage; response: ServerResponse };

const isFinished = (answer: ServerResponse | undefined): boolean => !answer || answer.writableFinished;

/** Gives Node's parser the bytes of a connection in parts, as long as `isWanted`. */
function readInParts(socket: Socket, isWanted: () => boolean): void {
  const [parse] = socket.listeners('data');
  if (!parse) throw new Error('Node parses requests elsewhere than in a listener of the connection.');
  socket.removeAllListeners('data').on('data', (chunk: Buffer) => {
    if (chunk.length <= PART) return parse(chunk);
    for (let at = 0; at < chunk.length && socket.writable; at += PART) {
      if (!isWanted()) socket.pause();
      if (!socket.readableFlowing) return socket.unshift(chunk.subarray(at));
      parse(chunk.subarray(at, at + PART));
    }
  });
}

/**
 * Answers the requests of a connection one after another, however many are sent ahead (pipelining). Between two of them
 * other connections have their turn. While a request waits, nothing more of its connection is read.
 */
export function answerInOrder(app: FastifyInstance) {
  const last = new WeakMap<Socket, ServerResponse>();
  const lines = new WeakMap<Socket, Exchange[]>();

  function begin({ request, response }: Exchange): void {
    last.set(request.socket, response);
    app.routing(request, response);
  }

  function next(socket: Socket, line: Exchange[]): void {
    const exchange = line.shift();
    if (!exchange || socket.destroyed) return;
    if (line.length > 0) exchange.response.once('close', () => setImmediate(next, socket, line));
    else {
      lines.delete(socket);
      socket.removeListener('resume', pause).resume();
    }
    begin(exchange);
  }

  function openLine(socket: Socket): Exchange[] {
    const line: Exchange[] = [];
    lines.set(socket, line);
    last.get(socket)?.once('close', () => setImmediate(next, socket, line));
    // Node resumes a connection after each request that it has parsed.
    socket.on('resume', pause).pause();
    return line;
  }

  function arrive(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const line = lines.get(socket) ?? (isFinished(last.get(socket)) ? undefined : openLine(socket));
    if (line) line.push({ request, response });
    else begin({ request, response });
  }

  app.server.on('connection', (socket: Socket) => readInParts(socket, () => !lines.has(socket)));
  app.server.removeAllListeners('request').on('request', arrive);
  app.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    delete request.headers.expect;
    arrive(request, response);
  });

  return {
    /** The answer that a connection was given last. */
    lastAnswer: (socket: Socket) => last.get(socket),
    /** Whether requests of the connection wait for that answer. */
    hasLine: (socket: Socket) => lines.has(socket),
    /** The last answer that the connection is to get to a request that arrived whole. */
    owed: (socket: Socket) =>
      [last.get(socket), ...(lines.get(socket) ?? []).map(({ response }) => response)].findLast(
        (answer) => answer?.req.complete && !isFinished(answer),
      ),
  };
}

function pause(this: Socket): void {
  this.pause();
}

export type Requests = ReturnType<typeof answerInOrder>;

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

  const isIdle = (socket: Socket): boolean =>
    !requests.hasLine(socket) && isFinished(requests.lastAnswer(socket));
  const isIncomplete = (socket: Socket): boolean => requests.lastAnswer(socket)?.req.complete === false;

  app.addHook('preClose', (done) => {
    closing = true;
    const began = performance.now();
    const timer = setInterval(() => {
      app.server.closeIdleConnections();
      const age = performance.now() - began;
      for (const socket of sockets) {
        if ((age > LAST_REQUEST_MS && isIdle(socket)) || (age > PATIENCE.request && isIncomplete(socket)))
          socket.destroy();
      }
    }, LOOK_INTERVAL_MS);
    app.server.once('close', () => clearInterval(timer));
    done();
  });
}
