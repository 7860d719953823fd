import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Requests that a client sends ahead (pipelining): answered one after another, and nobody else waits for them. */

/**
 * Node's parser cannot stop inside of a chunk, and a chunk of 64 KiB can hold 3,640 of the shortest requests. So it gets
 * parts of so many bytes, each when no request of the connection waits.
 */
const PART = 1_024;

/**
 * Gives Node's parser the bytes of a connection in parts, as long as `isWanted`: while somebody listens for 'readable',
 * a stream emits as 'data' what `read` takes, and nothing else.
 */
function readInParts(socket: Socket, isWanted: () => boolean): void {
  function read(): void {
    while (isWanted() && socket.read(Math.min(PART, socket.readableLength)) !== null);
  }
  // Node resumes a connection when it has parsed a request and when a body is read on.
  socket.on('readable', read).on('resume', read).on('drain', read);
}

/** Does one piece of work in each turn of the event loop, so that whatever else is due has its turn in between. */
function createTurns(): (work: () => void) => void {
  const due: (() => void)[] = [];

  function turn(): void {
    due[0]?.();
    due.shift();
    if (due.length > 0) setImmediate(turn);
  }

  return (work) => {
    if (due.push(work) === 1) setImmediate(turn);
  };
}

type Exchange = { request: IncomingMessage; response: ServerResponse };

const isFinished = (answer: ServerResponse | undefined): boolean => !answer || answer.destroyed;

/** Its body has arrived faster than it is read. */
const isFull = ({ readableLength, readableHighWaterMark }: IncomingMessage): boolean =>
  readableLength >= readableHighWaterMark;

/**
 * Answers the requests of a connection one after another, however many are sent ahead. While one waits, nothing more of
 * its connection is parsed.
 */
export function answerInOrder(app: FastifyInstance) {
  const last = new WeakMap<Socket, ServerResponse>();
  const lines = new WeakMap<Socket, Exchange[]>();
  const inTurn = createTurns();

  function begin({ request, response }: Exchange): void {
    last.set(request.socket, response);
    app.routing(request, response);
  }

  function next(socket: Socket, line: Exchange[]): void {
    const exchange = line.shift();
    if (!exchange || socket.destroyed) return;
    if (line.length > 0) whenClosed(exchange.response, socket, line);
    else {
      lines.delete(socket);
      socket.resume();
    }
    begin(exchange);
  }

  function whenClosed(response: ServerResponse | undefined, socket: Socket, line: Exchange[]): void {
    response?.once('close', () => inTurn(() => next(socket, line)));
  }

  function openLine(socket: Socket): Exchange[] {
    const line: Exchange[] = [];
    lines.set(socket, line);
    whenClosed(last.get(socket), socket, line);
    return line;
  }

  function arrive(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const line = lines.get(socket) ?? (isFinished(last.get(socket)) ? undefined : openLine(socket));
    if (line) line.push({ request, response });
    else begin({ request, response });
  }

  function isWanted(socket: Socket): boolean {
    const answer = last.get(socket);
    return !lines.has(socket) && !socket.writableNeedDrain && !(answer && isFull(answer.req));
  }

  app.server.on('connection', (socket: Socket) => readInParts(socket, () => isWanted(socket)));
  app.server.removeAllListeners('request').on('request', arrive);
  app.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    delete request.headers.expect;
    arrive(request, response);
  });

  /** The last answer that the connection was given, and those that wait for it. */
  const answersOf = (socket: Socket): (ServerResponse | undefined)[] => [
    last.get(socket),
    ...(lines.get(socket) ?? []).map(({ response }) => response),
  ];

  return {
    /** The answer that a connection was given last. */
    lastAnswer: (socket: Socket) => last.get(socket),
    /** Whether requests of the connection wait for that answer. */
    hasLine: (socket: Socket) => lines.has(socket),
    /** Whether nobody waits for an answer over the connection. */
    isIdle: (socket: Socket) => !lines.has(socket) && isFinished(last.get(socket)),
    /** The last answer that the connection is to get to a request that arrived whole. */
    owed: (socket: Socket) =>
      answersOf(socket).findLast((answer) => answer?.req.complete && !isFinished(answer)),
    /** Does the work when the connection has all its answers. */
    whenAnswered(socket: Socket, work: () => void): void {
      const answer = answersOf(socket).at(-1);
      if (!answer || isFinished(answer)) work();
      else answer.once('close', work);
    },
  };
}

export type Requests = ReturnType<typeof answerInOrder>;

/**
 * Answers each CONNECT when the requests before it have their answers. Node lets go of such a connection while it parses,
 * whatever waits there: from then on we listen for what ends it, and for what a streamed answer waits for.
 */
export function answerTunnels(
  app: FastifyInstance,
  requests: Requests,
  answer: (socket: Socket, request: IncomingMessage) => void,
): void {
  app.server.on('connect', (request: IncomingMessage, socket: Socket) => {
    const cut = (): void => void socket.destroy();
    socket.on('error', cut).on('timeout', cut);
    socket.on('drain', () => requests.lastAnswer(socket)?.emit('drain'));
    requests.whenAnswered(socket, () => answer(socket, request));
  });
}
