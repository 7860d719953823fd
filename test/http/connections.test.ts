import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import type { FastifyInstance, onRequestHookHandler } from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import { listen, PATIENCE, type Patience } from '../../src/http/load/connections.ts';
import { createLogger } from '../../src/http/logging.ts';
import { createHttpServer } from '../../src/http/server.ts';

type Options = { patience?: Patience; leaving?: AbortSignal; onRequest?: onRequestHookHandler };

/** A server with one route, which answers when it is told to. */
async function serve({ onRequest, ...options }: Options = {}) {
  const app = createHttpServer({ logger: createLogger('silent'), ...options });
  if (onRequest) app.addHook('onRequest', onRequest);
  const answer = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  app.get('/now', () => '{}');
  app.post('/now', () => '{}');
  app.get('/later', async () => {
    asked.resolve();
    await answer.promise;
    return '{}';
  });
  await listen(app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  return {
    app,
    port: (app.server.address() as AddressInfo).port,
    answer: answer.resolve,
    asked: asked.promise,
  };
}

/** A connection that sends the text and collects what comes back until it ends. */
function open(port: number, text = '') {
  const socket: Socket = connect(port, '127.0.0.1');
  let received = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    received += chunk;
  });
  socket.on('error', () => undefined);
  if (text !== '') socket.write(text);
  const ended = new Promise<string>((done) => socket.on('close', () => done(received)));
  return { socket, ended, received: () => received };
}

const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const POST =
  'POST /now HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n';

/** From now on a client has no time left, however short it has been slow. Before, a busy machine has all that it needs. */
function losePatience({ server }: FastifyInstance): void {
  server.headersTimeout = 1;
  server.requestTimeout = 1;
}

describe('a client that is slow', () => {
  const patience = { headers: 150, request: 150 };

  test('never gets longer than 20 s for headers and body, and is looked for every half second', async () => {
    expect(PATIENCE).toEqual({ headers: 20_000, request: 20_000 });
    const { app } = await serve();
    expect(app.server.headersTimeout).toBe(20_000);
    expect(app.server.requestTimeout).toBe(20_000);
  });

  test.each([
    ['that sends its headers byte by byte', 'GET /now HTTP/1.1\r\nHost: x\r\nX-Slow: '],
    ['that sends its body byte by byte', POST],
    ['that sends its next request byte by byte', `${GET('/now')}GET /n`],
  ])('one %s is cut, with an answer in the error shape', async (_name, start) => {
    const { port } = await serve({ patience });
    const { socket, ended, received } = open(port, start);
    // Something arrives all the time: what counts is the whole, not the silence.
    const dripping = setInterval(() => socket.write('1'), 20);
    await ended;
    clearInterval(dripping);
    expect(received()).toContain(
      '"code":"VALIDATION_FAILED","message":"The request took too long to arrive."',
    );
  });

  test('one that sends nothing at all is cut', async () => {
    const { port } = await serve({ patience });
    await open(port).ended;
  });

  test('does not end an answer that takes longer', async () => {
    const { app, port, answer, asked } = await serve();
    const slow = open(port, GET('/later'));
    await asked;
    losePatience(app);
    await open(port).ended;
    answer();
    await expect.poll(slow.received).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('requests that are sent ahead', () => {
  const SHORTEST = 'GET /now HTTP/1.1\r\n\r\n';
  /** Each answer has a turn of its own, and a busy machine has few: nobody is slow before a test ends. */
  const patience = { headers: 240_000, request: 240_000 };
  const answersIn = (text: string): number => text.split('HTTP/1.1 ').length - 1;

  test('are all answered, in their order, one after another, bodies between them', async () => {
    let [running, most] = [0, 0];
    const { port } = await serve({
      patience,
      onRequest: (_request, reply, done) => {
        running += 1;
        most = Math.max(most, running);
        reply.raw.once('close', () => {
          running -= 1;
        });
        done();
      },
    });
    const body = JSON.stringify({ text: 'x'.repeat(5_000) });
    const head = `POST /now HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    const pieces = Array.from({ length: 100 }, (_, index) => {
      const id = `\r\nX-Request-Id: request-${index}\r\n\r\n`;
      return index % 3 === 0 ? `${head}${id}${body}` : `GET /now HTTP/1.1\r\nHost: x${id}`;
    });
    const { socket, received } = open(port, pieces.join(''));
    await expect.poll(() => answersIn(received())).toBe(100);
    expect(received().match(/(?<=request-)\d+/g)).toEqual(pieces.map((_, index) => String(index)));
    expect(new Set(received().match(/(?<=HTTP\/1.1 )\d+/g))).toEqual(new Set(['200']));
    expect(most).toBe(1);
    socket.destroy();
  });

  test('are not read while one waits, whatever Node resumes: twelve times 2 MiB of them', async () => {
    const { app, port, answer, asked } = await serve({ patience });
    let parsed = 0;
    app.server.on('request', () => {
      parsed += 1;
    });
    const sockets: Socket[] = [];
    app.server.on('connection', (socket: Socket) => sockets.push(socket));
    const text = GET('/later') + SHORTEST.repeat((2 * 1024 * 1024) / SHORTEST.length);
    const clients = Array.from({ length: 12 }, () => open(port, text));
    await asked;
    await expect.poll(() => sockets.filter(({ bytesRead }) => bytesRead > 0).length).toBe(12);
    const most = 1_024 / SHORTEST.length + 2;
    expect(parsed / 12).toBeLessThan(most);
    answer();
    await expect.poll(() => clients.every(({ received }) => answersIn(received()) > most)).toBe(true);
    for (const { socket } of clients) socket.destroy();
  });

  test('do not make a connection slow that waits for us', async () => {
    const { app, port, answer, asked } = await serve();
    const { socket, received } = open(port, GET('/later') + GET('/now').repeat(200));
    await asked;
    losePatience(app);
    // Others are cut by then.
    await open(port, 'GET').ended;
    await open(port, 'GET').ended;
    Object.assign(app.server, { headersTimeout: PATIENCE.headers, requestTimeout: PATIENCE.request });
    answer();
    await expect.poll(() => answersIn(received())).toBe(201);
    expect(received()).not.toContain('HTTP/1.1 4');
    socket.destroy();
  });

  test('get their answers though bytes follow that are no HTTP, and then the connection ends', async () => {
    const { port, answer, asked } = await serve();
    const { ended } = open(port, `${GET('/later')}${GET('/now')}NO HTTP\r\n\r\n`);
    await asked;
    answer();
    const received = await ended;
    expect(received.match(/(?<=HTTP\/1.1 )\d+/g)).toEqual(['200', '200']);
  });

  test('are dropped with their connection', async () => {
    const routed: string[] = [];
    const { app, port, answer, asked } = await serve({
      onRequest: ({ url }, _reply, done) => {
        routed.push(url);
        done();
      },
    });
    const { socket } = open(port, GET('/later') + GET('/now').repeat(200));
    await asked;
    socket.destroy();
    answer();
    const connections = () =>
      new Promise<number>((done) => app.server.getConnections((_error, amount) => done(amount)));
    await expect.poll(connections).toBe(0);
    expect(routed.length).toBeLessThan(100);
  });
});

describe('a server that ends', () => {
  test('closes connections that sent nothing or a part of a request, and finishes what is under way', async () => {
    const { app, port, answer, asked } = await serve();
    const silent = open(port);
    const partial = open(port, 'GET /now HTTP/1.1\r\nHost:');
    const idle = open(port, GET('/now'));
    const next = open(port, `${GET('/now')}GET /no`);
    const busy = open(port, GET('/later'));
    await asked;
    for (const { received } of [idle, next]) await expect.poll(received).toMatch(/^HTTP\/1\.1 200 /);
    const closed = app.close();
    for (const { ended } of [silent, partial, idle, next]) await ended;
    expect(busy.received()).toBe('');
    answer();
    expect(await busy.ended).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\nconnection: close\r\n/i);
    await closed;
  });

  test('hears out a request that is on its way', async () => {
    const { app, port } = await serve();
    const late = open(port);
    await once(late.socket, 'connect');
    const closed = app.close();
    late.socket.write(GET('/now'));
    expect(await late.ended).toMatch(/^HTTP\/1\.1 200 /);
    await closed;
  });

  test('says so in its answers from the moment that it knows, and goes on answering', async () => {
    const leaving = new AbortController();
    const { port, answer, asked } = await serve({ leaving: leaving.signal });
    const before = open(port, GET('/now'));
    const underWay = open(port, GET('/later'));
    await asked;
    await expect.poll(before.received).toMatch(/\r\nconnection: keep-alive\r\n/i);
    leaving.abort();
    answer();
    expect(await underWay.ended).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\nconnection: close\r\n/i);
    expect(await open(port, GET('/now')).ended).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\nconnection: close\r\n/i);
    expect(await open(port, GET('/unknown')).ended).toMatch(
      /^HTTP\/1\.1 404 [\s\S]*\r\nconnection: close\r\n/i,
    );
  });
});

test('a burst of 1,000 new connections is taken, though nothing is accepted meanwhile', async () => {
  const { port } = await serve();
  const connected = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(
    `const { workerData: { port, connected } } = require('node:worker_threads');
    const { connect } = require('node:net');
    for (let index = 0; index < 1000; index += 1)
      connect(port, '127.0.0.1', () => {
        if (Atomics.add(connected, 0, 1) === 999) Atomics.notify(connected, 0);
      }).on('error', () => undefined);`,
    { eval: true, workerData: { port, connected } },
  );
  onTestFinished(async () => {
    await worker.terminate();
  });
  await once(worker, 'online');
  // This thread, which would accept them, stands still.
  // No limit of the runner ends it: after so many looks they never come.
  for (let looks = 0; Atomics.load(connected, 0) < 1_000 && looks < 2_000; looks += 1)
    Atomics.wait(connected, 0, Atomics.load(connected, 0), 100);
  expect(Atomics.load(connected, 0)).toBe(1_000);
});
