import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectionsThatFit } from '../../src/http/load/connections.ts';
import { createLogger } from '../../src/http/logging.ts';
import { GET, losePatience, open, serve, statusesIn } from './held.ts';

const POST =
  'POST /now HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n';

describe('a client that is slow', () => {
  const patience = { headers: 150, request: 150 };

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

  test('is cut also where it sends nothing at all, and that ends no answer that takes longer', async () => {
    const { app, port, answer, asked } = await serve();
    const slow = open(port, GET('/later'));
    await asked;
    losePatience(app);
    await open(port).ended;
    answer();
    await expect.poll(slow.received).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('a client that sends no more', () => {
  const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
  const asksIn = (text: string): number => text.split(CONTINUE).length - 1;
  const empty =
    'POST /now HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';

  test('gets the answers to all that it sent, and then the connection ends', async () => {
    const { port } = await serve();
    const { socket, ended } = open(port, GET('/now') + empty + GET('/unknown') + empty);
    socket.end();
    expect(statusesIn(await ended)).toEqual(['200', '200', '404', '200']);
  });

  test('is asked whether it is there, as long as its answer takes; who speaks HTTP/1.0 cannot be asked', async () => {
    const { port, answer, asked } = await serve();
    const clients = ['1.1', '1.0'].map((version) => open(port, GET('/later').replace('1.1', version)));
    for (const { socket } of clients) socket.end();
    await asked;
    const [current, old] = clients;
    await expect.poll(() => asksIn(current?.received() ?? '')).toBe(3);
    expect(old?.received()).toBe('');
    answer();
    for (const client of clients)
      expect((await client.ended).replaceAll(CONTINUE, '')).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('is asked no more once its answer has begun', async () => {
    const begun = Promise.withResolvers<(text: string) => void>();
    const { port } = await serve({
      routes: (app) =>
        app.get('/slow', (_request, reply) => {
          reply.hijack();
          reply.raw.writeHead(200, { 'content-length': 6 }).write('abc');
          begun.resolve((text) => reply.raw.end(text));
        }),
    });
    const { socket, ended } = open(port, GET('/slow'));
    socket.end();
    const end = await begun.promise;
    // Somebody else is asked meanwhile.
    const other = open(port, GET('/later'));
    other.socket.end();
    await expect.poll(() => asksIn(other.received())).toBe(2);
    end('def');
    expect(await ended).toMatch(/abcdef$/);
  });

  test.each([
    ['nothing', ''],
    ['an answered request', GET('/now')],
    ['a part of a request', 'GET /now HTTP/1.1\r\nHost:'],
    ['a request without its body', POST],
  ])('keeps no connection open with %s', async (_name, sent) => {
    const { connections, port } = await serve();
    const { socket, ended } = open(port, sent);
    socket.end();
    await ended;
    await expect.poll(connections).toBe(0);
  });
});

describe('one connection more than there may be', () => {
  const isOpen = ({ socket }: ReturnType<typeof open>): boolean => !socket.destroyed && !socket.readableEnded;

  test.each([
    ['sent nothing', ''],
    ['sends its headers byte by byte', 'GET /now HTTP/1.1\r\nHost: x\r\nX-Slow: '],
    ['sends its next headers byte by byte', `${GET('/now')}GET /n`],
    ['has its answer', GET('/now')],
  ])('closes the oldest that %s, and is served', async (_name, text) => {
    const { connections, port } = await serve({ maxConnections: 3 });
    const held = [];
    for (let count = 1; count <= 3; count += 1) {
      held.push(open(port, text));
      await expect.poll(connections).toBe(count);
    }
    const answered = text.startsWith(GET('/now')) ? held : [];
    for (const { received } of answered) await expect.poll(received).toMatch(/^HTTP\/1\.1 200 /);
    const beyond = open(port, GET('/now'));
    await expect.poll(beyond.received).toMatch(/^HTTP\/1\.1 200 /);
    await held[0]?.ended;
    expect(held.map(isOpen)).toEqual([false, true, true]);
    expect(await connections()).toBe(3);
  });

  test('closes the one that has waited longest, whether or not it ever sent a request', async () => {
    const { connections, port } = await serve({ maxConnections: 3 });
    const [early, silent, late] = [open(port), open(port), open(port)];
    await expect.poll(connections).toBe(3);
    for (const { socket, received } of [late, early]) {
      socket.write(GET('/now'));
      await expect.poll(received).toMatch(/^HTTP\/1\.1 200 /);
    }
    for (const [next, ...rest] of [
      [silent, late, early],
      [late, early],
    ]) {
      const beyond = open(port, GET('/now'));
      await next?.ended;
      expect(rest.map(isOpen)).toEqual(rest.map(() => true));
      await expect.poll(beyond.received).toMatch(/^HTTP\/1\.1 200 /);
    }
  });

  test('closes no connection with a request under way: where all have one, it is closed itself', async () => {
    const { routed, port, answer } = await serve({ maxConnections: 2 });
    const busy = [open(port, GET('/later')), open(port, GET('/later') + GET('/now'))];
    await expect.poll(() => routed.length).toBe(2);
    expect(await open(port, GET('/now')).ended).toBe('');
    answer();
    for (const { received } of busy) await expect.poll(received).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('closes one whose body is still on its way when no other waits', async () => {
    const { routed, port, answer } = await serve({ maxConnections: 2 });
    const [busy, arriving] = [open(port, GET('/later')), open(port, POST)];
    await expect.poll(() => routed.length).toBe(2);
    const beyond = open(port, GET('/now'));
    await expect.poll(beyond.received).toMatch(/^HTTP\/1\.1 200 /);
    expect(await arriving.ended).toBe('');
    answer();
    await expect.poll(busy.received).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('is reported, with how many were closed', async () => {
    let closed = 0;
    const write = (line: string): void => {
      closed += JSON.parse(line).closed;
    };
    const { port } = await serve({ maxConnections: 1, logger: createLogger('warn', { write }) });
    for (let count = 0; count < 3; count += 1) open(port);
    await expect.poll(() => closed, { timeout: 10_000 }).toBe(2);
  });
});

test('as many connections as fit into a quarter of the memory are taken', () => {
  expect([512 * 1024 * 1024, 1].map(connectionsThatFit)).toEqual([2_048, 256]);
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
    await expect.poll(() => statusesIn(asked[index]?.received() ?? '')).toEqual([status]);
  const faults = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50);
  expect(faults).toMatchObject([{ requestId: 'the-request', err: { message: expect.any(String) } }]);
});
