import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { expect, onTestFinished, test, vi } from 'vitest';
import { closeServer, listen } from '../../src/http/connections.ts';
import { createLogger } from '../../src/http/logging.ts';
import { createHttpServer, type HttpServerOptions } from '../../src/http/server.ts';
import { ownLog } from '../support/instance.ts';

/** The HTTP server without the API: with `GET /now` and `POST /now`, and the routes of the test. It closes with the test. */
async function startServer(options: Partial<HttpServerOptions> = {}, add?: (app: FastifyInstance) => void) {
  const app = createHttpServer({ logger: createLogger('silent'), ...options });
  app.get('/now', () => '{}');
  app.post('/now', () => '{}');
  add?.(app);
  await listen(app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  return { app, port };
}

/** A connection that sends the text and collects what it receives. It closes with the test. */
function openConnection(port: number, text = '') {
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

const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nX-Request-Id: the-request\r\n\r\n`;

test.each([
  ['headers', 'GET /now HTTP/1.1\r\nHost: x\r\nX-Slow: '],
  ['body', 'POST /now HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n'],
  ['second request', `${GET('/now')}GET /n`],
])('a client that sends its %s too slowly gets an error, and its connection closes', async (_part, start) => {
  const { port } = await startServer({ requestTimeout: 150 });
  const { socket, ended } = openConnection(port, start);
  // The connection is never idle: the timeout is for the whole request.
  const dripping = setInterval(() => socket.write('1'), 20);
  const received = await ended;
  clearInterval(dripping);
  expect(received).toContain('"code":"VALIDATION_FAILED","message":"The request took too long to arrive."');
});

test('a connection stays open for as long as its request may wait for the database, and idle for longer than nginx keeps it (60 s)', () => {
  const options = { logger: createLogger('silent'), databaseMs: 120_000 };
  const { timeout, keepAliveTimeout } = createHttpServer(options).server;
  expect(timeout).toBeGreaterThan(options.databaseMs);
  expect(keepAliveTimeout).toBeGreaterThan(60_000);
});

/** The time that a server still drains passes only by the test. */
function holdClock(): void {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

test('a server that closes accepts no connection, serves the first request of an open one, finishes running requests whose clients wait, and then closes connections without a whole request', async () => {
  const arrived = Promise.withResolvers<void>();
  const response = Promise.withResolvers<string>();
  holdClock();
  const { app, port } = await startServer({ drainMs: 1_000 }, (routes) => {
    routes.get('/later', () => {
      arrived.resolve();
      return response.promise;
    });
    routes.get('/never', ({ raw }) => new Promise(() => raw.socket.destroy()));
  });
  await openConnection(port, GET('/never')).ended;
  const [silent, late] = [openConnection(port), openConnection(port)];
  const partial = openConnection(port, 'GET /now HTTP/1.1\r\nHost:');
  const idle = openConnection(port, GET('/now'));
  const next = openConnection(port, `${GET('/now')}GET /no`);
  const busy = openConnection(port, GET('/later'));
  await arrived.promise;
  for (const { received } of [idle, next]) await expect.poll(received).toMatch(/^HTTP\/1\.1 200 /);
  const closed = closeServer(app);
  await nextTurn();
  await expect(once(connect(port, '127.0.0.1'), 'connect')).rejects.toThrow('ECONNREFUSED');
  idle.socket.write(GET('/unknown'));
  expect(await idle.ended).toMatch(/ 404 [\s\S]*\r\nconnection: close\r\n/i);
  late.socket.write(GET('/now'));
  expect(await late.ended).toMatch(/^HTTP\/1\.1 200 /);
  vi.advanceTimersByTime(1_000);
  expect(busy.received()).toBe('');
  response.resolve('{}');
  expect(await busy.ended).toMatch(/^HTTP\/1\.1 200 /);
  for (const { ended } of [silent, partial, next]) await ended;
  await closed;
  // Before Node ends a connection without a whole request.
}, 15_000);

test.each([
  ['before its body is complete', 'Content-Length: 20\r\n\r\n{}'],
  ['while it is served', 'Content-Length: 2\r\n\r\n{}'],
])('a client that disconnects %s leaves one line, with the id of its request', async (_when, rest) => {
  const { logger, lines } = ownLog();
  const { port } = await startServer({ logger }, (app) => app.post('/later', () => new Promise(() => {})));
  const head = 'POST /later HTTP/1.1\r\nHost: x\r\nX-Request-Id: the-request\r\n';
  const { socket } = openConnection(port, `${head}Content-Type: application/json\r\n${rest}`);
  setTimeout(() => socket.destroy(), 200);
  const ofRequest = () => lines.filter(({ requestId }) => requestId);
  const msg = 'the connection closed before the response';
  await expect.poll(ofRequest).toMatchObject([{ level: 30, requestId: 'the-request', route: '/later', msg }]);
});

test('a response that breaks off leaves an error with the id of its request', async () => {
  const { logger, lines } = ownLog('error');
  async function* parts() {
    yield '{';
    throw new Error('The database is gone.');
  }
  const { port } = await startServer({ logger }, (app) => app.get('/', () => Readable.from(parts())));
  await openConnection(port, GET('/')).ended;
  const err = { message: 'The database is gone.' };
  expect(lines).toMatchObject([{ requestId: 'the-request', route: '/', err }]);
});

test('a request whose path cannot be decoded leaves a line with its id', async () => {
  const { logger, lines } = ownLog();
  const { port } = await startServer({ logger });
  const { received } = openConnection(port, GET('/%zz'));
  await expect.poll(received).toContain('HTTP/1.1 404 ');
  const line = { level: 30, requestId: 'the-request', status: 404, msg: 'request' };
  expect(lines).toContainEqual(expect.objectContaining(line));
});

test('a response with an invalid header becomes a logged 500, and other requests succeed', async () => {
  const { logger, lines } = ownLog('error');
  const { port } = await startServer({ logger }, (app) =>
    app.get('/bad', (_request, reply) => reply.header('x-broken', 'a\nb').send('{}')),
  );
  const bad = openConnection(port, GET('/bad'));
  await expect.poll(bad.received).toContain('HTTP/1.1 500 ');
  const other = openConnection(port, GET('/now'));
  await expect.poll(other.received).toContain('HTTP/1.1 200 ');
  expect(lines).toMatchObject([{ requestId: 'the-request', err: { message: expect.any(String) } }]);
});
