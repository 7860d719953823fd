import { type AddressInfo, connect, type Socket } from 'node:net';
import type { FastifyBaseLogger, FastifyInstance, onRequestHookHandler } from 'fastify';
import { onTestFinished } from 'vitest';
import { listen } from '../../src/http/connections.ts';
import { createLogger } from '../../src/http/logging.ts';
import { createHttpServer } from '../../src/http/server.ts';

type Options = {
  logger?: FastifyBaseLogger;
  requestTimeout?: number;
  lingering?: number;
  onRequest?: onRequestHookHandler;
  /** More routes. */
  routes?: (app: FastifyInstance) => void;
};

/** A server with a route that waits until `answer` is called. */
export async function serve({ onRequest, routes, ...options }: Options = {}) {
  const app = createHttpServer({ logger: createLogger('silent'), ...options });
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
  await listen(app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  return { app, port, answer: answer.resolve, asked: asked.promise };
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

export const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
