import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import { PATIENCE } from '../../src/http/load/connections.ts';
import { GET, losePatience, open, serve, statusesIn } from './held.ts';

/** More than the operating system keeps for a connection that nobody reads. */
const LARGE = Buffer.alloc(24 * 1024 * 1024, 'x');

/** The same answer at once, and as a stream. */
function large(app: FastifyInstance): void {
  app.get('/large', () => LARGE);
  app.get('/stream', () => Readable.from([LARGE.subarray(0, 1024 * 1024), LARGE.subarray(1024 * 1024)]));
}

describe('requests that are sent ahead', () => {
  const SHORTEST = 'GET /now HTTP/1.1\r\n\r\n';
  /** Each answer has a turn of its own, and a busy machine has few: nobody is slow before a test ends. */
  const patience = { headers: 240_000, request: 240_000 };
  const answersIn = (text: string): number => statusesIn(text).length;

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
    const { received } = open(port, pieces.join(''));
    await expect.poll(() => answersIn(received())).toBe(100);
    expect(received().match(/(?<=request-)\d+/g)).toEqual(pieces.map((_, index) => String(index)));
    expect(new Set(statusesIn(received()))).toEqual(new Set(['200']));
    expect(most).toBe(1);
  });

  test('are not read while one waits, whatever Node resumes: twelve times 2 MiB of them', async () => {
    const { app, port, answer, asked, accepted } = await serve({ patience });
    let parsed = 0;
    app.server.on('request', () => {
      parsed += 1;
    });
    const text = GET('/later') + SHORTEST.repeat((2 * 1024 * 1024) / SHORTEST.length);
    const clients = Array.from({ length: 12 }, () => open(port, text));
    await asked;
    await expect.poll(() => accepted.filter(({ bytesRead }) => bytesRead > 0).length).toBe(12);
    const most = 1_024 / SHORTEST.length + 2;
    expect(parsed / 12).toBeLessThan(most);
    answer();
    await expect.poll(() => clients.every(({ received }) => answersIn(received()) > most)).toBe(true);
  });

  test('do not make a connection slow that waits for us', async () => {
    const { app, port, answer, asked } = await serve();
    const { received } = open(port, GET('/later') + GET('/now').repeat(200));
    await asked;
    losePatience(app);
    // Others are cut by then.
    await open(port, 'GET').ended;
    await open(port, 'GET').ended;
    Object.assign(app.server, { headersTimeout: PATIENCE.headers, requestTimeout: PATIENCE.request });
    answer();
    await expect.poll(() => answersIn(received())).toBe(201);
    expect(received()).not.toContain('HTTP/1.1 4');
  });

  test('get their answers though bytes follow that are no HTTP, and then the connection ends', async () => {
    const { port, answer, asked } = await serve();
    const { ended } = open(port, `${GET('/later')}${GET('/now')}NO HTTP\r\n\r\n`);
    await asked;
    answer();
    const received = await ended;
    expect(statusesIn(received)).toEqual(['200', '200']);
  });

  test('have one turn together, however many connections send them: others do not wait for them', async () => {
    let requests = 0;
    const other = Promise.withResolvers<ReturnType<typeof open>>();
    const { port, answer, asked, routed } = await serve({
      patience,
      onRequest: (_request, _reply, done) => {
        requests += 1;
        // In the middle of them somebody else asks.
        if (requests === 405) other.promise.then(({ socket }) => socket.write(GET('/now?other')));
        done();
      },
    });
    other.resolve(open(port, GET('/now')));
    const { received } = await other.promise;
    await expect.poll(received).toContain('HTTP/1.1 200 ');
    const ahead = Array.from({ length: 40 }, () => open(port, GET('/later') + GET('/now').repeat(20)));
    await asked;
    await expect.poll(() => routed.length).toBe(41);
    answer();
    await expect.poll(() => answersIn(received())).toBe(2);
    expect(routed.indexOf('/now?other') - 405).toBeLessThan(20);
    await expect.poll(() => ahead.every(({ received }) => answersIn(received()) === 21)).toBe(true);
  });

  test('are answered though the answer before them waits for its client', async () => {
    const { port, accepted } = await serve({ routes: large });
    const { socket, received } = open(port);
    socket.pause().write(GET('/large'));
    await expect.poll(() => accepted[0]?.writableNeedDrain).toBe(true);
    socket.write(GET('/now'));
    await expect.poll(() => accepted[0]?.readableLength).toBeGreaterThan(0);
    socket.resume();
    await expect.poll(() => answersIn(received())).toBe(2);
  });

  test('are dropped with their connection', async () => {
    const { port, answer, asked, routed, connections } = await serve();
    const { socket } = open(port, GET('/later') + GET('/now').repeat(200));
    await asked;
    socket.destroy();
    answer();
    await expect.poll(connections).toBe(0);
    expect(routed.length).toBeLessThan(100);
  });
});

test('a body arrives no faster than it is read', async () => {
  const held = Promise.withResolvers<{ request: FastifyRequest; read: () => void }>();
  const { port, accepted } = await serve({
    onRequest: (request, _reply, read) => held.resolve({ request, read }),
  });
  const body = JSON.stringify({ text: 'x'.repeat(900_000) });
  const head = `POST /now HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  const { received } = open(port, `${head}\r\n\r\n${body}`);
  const { request, read } = await held.promise;
  const [connection] = accepted as [Socket];
  await expect.poll(() => connection.readableLength).toBeGreaterThanOrEqual(connection.readableHighWaterMark);
  expect(request.raw.readableLength).toBeLessThan(body.length / 4);
  read();
  await expect.poll(received).toContain('HTTP/1.1 200 ');
});

describe('behind a request', () => {
  const CONNECT = 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n';

  test('a CONNECT gets its answer in its place, the connection ends, and what follows is nobody’s request', async () => {
    const { port, answer, asked, routed } = await serve();
    const tunnel = open(port, `${GET('/later')}${GET('/now')}${CONNECT}${GET('/now?behind')}`);
    await asked;
    // The parser of a connection that Node has let go of serves the next one.
    const other = open(port, 'GET /no');
    tunnel.socket.write(GET('/now?later'));
    answer();
    expect(statusesIn(await tunnel.ended)).toEqual(['200', '200', '404']);
    other.socket.write('w HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => statusesIn(other.received())).toEqual(['200']);
    expect(routed).toEqual(['/later', '/now', '/now']);
  });

  test('an Upgrade is a request as any other, and the connection serves on', async () => {
    const { port, answer, asked } = await serve();
    const upgrade = GET('/now').replace('\r\n\r\n', '\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    const { socket, received } = open(port, GET('/later') + upgrade);
    await asked;
    answer();
    await expect.poll(() => statusesIn(received())).toEqual(['200', '200']);
    socket.write(upgrade);
    await expect.poll(() => statusesIn(received())).toEqual(['200', '200', '200']);
    socket.write(GET('/unknown'));
    await expect.poll(() => statusesIn(received())).toEqual(['200', '200', '200', '404']);
  });

  test('a CONNECT does not break off a streamed answer', async () => {
    const { port } = await serve({ routes: large });
    const { ended } = open(port, GET('/stream') + CONNECT);
    const received = await ended;
    expect(received.length).toBeGreaterThan(LARGE.length);
    expect(statusesIn(received)).toEqual(['200', '404']);
  });

  test('a CONNECT keeps no connection open whose client takes nothing', async () => {
    const { app, port, accepted } = await serve({ routes: large });
    const { socket } = open(port);
    const asked = once(app.server, 'connect');
    socket.pause().write(GET('/stream') + CONNECT);
    await asked;
    const [connection] = accepted as [Socket];
    expect(connection.timeout).toBe(30_000);
    const closed = once(connection, 'close');
    connection.setTimeout(1);
    await closed;
  });
});
