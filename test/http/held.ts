import { type AddressInfo, connect, type Socket } from 'node:net';
import type { FastifyBaseLogger, FastifyInstance, onRequestHookHandler } from 'fastify';
import { onTestFinished } from 'vitest';
import { listen, type Patience } from '../../src/http/load/connections.ts';
import { createLogger } from '../../src/http/logging.ts';
import { createHttpServer } from '../../src/http/server.ts';

type Options = {
  logger?: FastifyBaseLogger;
  patience?: Patience;
  leaving?: AbortSignal;
  maxConnections?: number;
  onRequest?: onRequestHookHandler;
  /** More routes. */
  routes?: (app: FastifyInstance) => void;
};

/** A server with one route, which answers when it is told to. */
export async function serve({ onRequest, routes, ...options }: Options = {}) {
  const app = createHttpServer({ logger: createLogger('silent'), ...options });
  const routed: string[] = [];
  app.addHook('onRequest', ({ url }, _reply, done) => {
    routed.push(url);
    done();
  });
  if (onRequest) app.addHook('onRequest', onRequest);
  const answer = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  routes?.(app);
  app.get('/now', () => '{}');
  app.post('/now', () => '{}');
  app.get('/later', async () => {
    asked.resolve();
    await answer.promise;
    return '{}';
  });
  const accepted: Socket[] = [];
  app.server.on('connection', (socket) => accepted.push(socket));
  await listen(app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  return {
    app,
    port: (app.server.address() as AddressInfo).port,
    answer: answer.resolve,
    asked: asked.promise,
    /** The address of each request, as it came to its turn. */
    routed,
    /** The server's ends of all connections. */
    accepted,
    /** How many of them there are now. */
    connections: () =>
      new Promise<number>((done) => app.server.getConnections((_error, count) => done(count))),
  };
}

/** A connection that sends the text and collects what comes back until it ends, with the test at the latest. */
export function open(port: number, text = '') {
  const socket: Socket = connect(port, '127.0.0.1');
  let received = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    received += chunk;
  });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  if (text !== '') socket.write(text);
  const ended = new Promise<string>((done) => socket.on('close', () => done(received)));
  return { socket, ended, received: () => received };
}

/** The statuses of the answers in what was received. */
export const statusesIn = (text: string): string[] => text.match(/(?<=HTTP\/1.1 )[2-5]\d\d/g) ?? [];

export const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

/** From now on a client has no time left, however short it has been slow. Before, a busy machine has all that it needs. */
export function losePatience({ server }: FastifyInstance): void {
  server.headersTimeout = 1;
  server.requestTimeout = 1;
}
