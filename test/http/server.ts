import { type AddressInfo, connect } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { onTestFinished } from 'vitest';
import { listen } from '../../src/http/connections.ts';
import { createLogger } from '../../src/http/logging.ts';
import { createHttpServer, type HttpServerOptions } from '../../src/http/server.ts';

/** The HTTP server without the API: with `GET /now` and `POST /now`, and the routes of the test. It closes with the test. */
export async function startServer(
  options: Partial<HttpServerOptions> = {},
  addRoutes?: (app: FastifyInstance) => void,
) {
  const app = createHttpServer({ logger: createLogger('silent'), ...options });
  app.get('/now', () => '{}');
  app.post('/now', () => '{}');
  addRoutes?.(app);
  await listen(app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  return { app, port };
}

/** A connection that sends the text and collects what it receives. It closes with the test. */
export function openConnection(port: number, text = '') {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    received += chunk;
  });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  if (text !== '') socket.write(text);
  /** Everything that was received until the connection closed. */
  const ended = new Promise<string>((done) => socket.on('close', () => done(received)));
  return { socket, ended, received: () => received };
}

export const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
