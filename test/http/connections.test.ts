import { once } from 'node:events';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { stopListening } from '../../src/http/connections.ts';
import { createLogger } from '../../src/http/logging.ts';
import { GET, open, serve } from './held.ts';

const POST =
  'POST /now HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n';

describe('a client that is slow', () => {
  test.each([
    ['that sends its headers byte by byte', 'GET /now HTTP/1.1\r\nHost: x\r\nX-Slow: '],
    ['that sends its body byte by byte', POST],
    ['that sends its next request byte by byte', `${GET('/now')}GET /n`],
  ])('one %s is cut, with an answer in the error shape', async (_name, start) => {
    const { port } = await serve({ requestTimeout: 150 });
    const { socket, ended, received } = open(port, start);
    // Something arrives all the time: what counts is the whole, not the silence.
    const dripping = setInterval(() => socket.write('1'), 20);
    await ended;
    clearInterval(dripping);
    expect(received()).toContain(
      '"code":"VALIDATION_FAILED","message":"The request took too long to arrive."',
    );
  });
});

test('a connection more than there may be is closed, reported, and costs no other', async () => {
  let closed = 0;
  const write = (line: string): void => {
    closed += JSON.parse(line).closed;
  };
  const { app, port } = await serve({ logger: createLogger('warn', { write }) });
  app.server.maxConnections = 1;
  const first = open(port, GET('/now'));
  await expect.poll(first.received).toMatch(/^HTTP\/1\.1 200 /);
  for (let count = 0; count < 2; count += 1) expect(await open(port, GET('/now')).ended).toBe('');
  await expect.poll(() => closed, { timeout: 10_000 }).toBe(2);
  first.socket.write(GET('/unknown'));
  await expect.poll(first.received).toContain('HTTP/1.1 404 ');
});

describe('a server that ends', () => {
  test('accepts no connection, finishes what is under way, and then closes connections that sent nothing or a part of a request', async () => {
    const { app, port, answer, asked } = await serve({ lingering: 1_000 });
    const silent = open(port);
    const partial = open(port, 'GET /now HTTP/1.1\r\nHost:');
    const idle = open(port, GET('/now'));
    const next = open(port, `${GET('/now')}GET /no`);
    const busy = open(port, GET('/later'));
    await asked;
    for (const { received } of [idle, next]) await expect.poll(received).toMatch(/^HTTP\/1\.1 200 /);
    await stopListening(app);
    await expect(once(connect(port, '127.0.0.1'), 'connect')).rejects.toThrow('ECONNREFUSED');
    const closed = app.close();
    idle.socket.write(GET('/unknown'));
    expect(await idle.ended).toMatch(/ 404 [\s\S]*\r\nconnection: close\r\n/i);
    expect(busy.received()).toBe('');
    answer();
    expect(await busy.ended).toMatch(/^HTTP\/1\.1 200 /);
    for (const { ended } of [silent, partial, next]) await ended;
    await closed;
  });

  test('hears out a request that is on its way', async () => {
    const { app, port } = await serve({ lingering: 2_000 });
    const late = open(port);
    await once(late.socket, 'connect');
    const closed = app.close();
    late.socket.write(GET('/now'));
    expect(await late.ended).toMatch(/^HTTP\/1\.1 200 /);
    await closed;
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

test('an answer whose header cannot be written becomes a 500, is logged, and stops no other', async () => {
  const lines: string[] = [];
  const { port } = await serve({
    logger: createLogger('info', { write: (line) => lines.push(line) }),
    routes: (app) => app.get('/bad', (_request, reply) => reply.header('x-broken', 'a\nb').send('{}')),
  });
  const id = '\r\nX-Request-Id: the-request';
  const asked = ['/now', '/bad', '/now'].map((path) =>
    open(port, GET(path).replace('\r\n\r\n', `${id}\r\n\r\n`)),
  );
  for (const [index, status] of ['200', '500', '200'].entries())
    await expect.poll(() => asked[index]?.received()).toContain(`HTTP/1.1 ${status} `);
  const faults = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50);
  expect(faults).toMatchObject([{ requestId: 'the-request', err: { message: expect.any(String) } }]);
});
