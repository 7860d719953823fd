import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import fastify, { type FastifyBaseLogger, type FastifyReply, type FastifyRequest } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { handleErrors } from '../../src/http/error-handler.ts';
import { boundUnsent } from '../../src/http/load/unsent.ts';
import { createLogger } from '../../src/http/logging.ts';
import { exchange, listen, requestBytes } from '../support/socket.ts';

const MIB = 1024 * 1024;
/** More than the operating system keeps for a connection that nobody reads. */
const BIG = Buffer.alloc(24 * MIB, 'x');

/** An application with answers of 24 MiB and small ones; the header x-api-key is the organization. */
async function serve(size = 80 * MIB) {
  const lines: string[] = [];
  const made: string[] = [];
  const held: FastifyReply[] = [];
  const loggerInstance: FastifyBaseLogger = createLogger('info', { write: (line) => lines.push(line) });
  const app = fastify({ loggerInstance, forceCloseConnections: true });
  handleErrors(app);
  app.addHook('onRequest', (request, _reply, done) => {
    const organizationId = String(request.headers['x-api-key'] ?? '');
    if (organizationId !== '') request.scope = { organizationId } as FastifyRequest['scope'];
    done();
  });
  boundUnsent(app, size);
  for (const [method, url, body] of [
    ['GET', '/big', BIG],
    ['GET', '/page', BIG.subarray(0, MIB)],
    ['GET', '/small', '{}'],
    ['POST', '/written', BIG.subarray(0, 8 * MIB)],
  ] as const) {
    const handler = async (request: FastifyRequest) => {
      made.push(`${request.headers['x-api-key']} ${url}`);
      return body;
    };
    app.route({ method, url, handler });
  }
  app.get('/held', (_request, reply) => {
    held.push(reply);
  });
  const { port } = await listen({ app });
  onTestFinished(() => app.close());
  return { app, port, lines, made, held };
}

const get = (key: string, path: string) =>
  requestBytes(path === '/written' ? 'POST' : 'GET', path, { 'x-api-key': key });

/** Asks and takes no more than the first bytes of the answer: its status, and the connection. */
const ask = (port: number, key: string, path: string): Promise<{ status: number; socket: Socket }> =>
  new Promise((done) => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    onTestFinished(() => {
      socket.destroy();
    });
    socket.once('data', (chunk) => {
      socket.pause();
      done({ status: Number(chunk.toString('latin1', 9, 12)), socket });
    });
    socket.write(get(key, path));
  });

/** Takes the rest of an answer of 24 MiB. */
async function take(socket: Socket): Promise<void> {
  let taken = 0;
  socket.on('data', (chunk) => {
    taken += chunk.length;
  });
  socket.resume();
  await expect.poll(() => taken).toBeGreaterThan(BIG.length - MIB);
}

const small = async (port: number, key: string) => (await exchange(port, get(key, '/small')))?.status;

test('an organization has so many bytes waiting; beyond them its answers are refused unmade, and no others, until they have gone', async () => {
  const { port, lines, made } = await serve();
  const { status, socket } = await ask(port, 'a', '/big');
  expect(status).toBe(200);
  for (let count = 0; count < 3; count += 1) {
    const refused = await exchange(port, get('a', '/big'));
    expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    expect(JSON.parse(refused?.text ?? '').error.code).toBe('SERVICE_UNAVAILABLE');
  }
  expect(made).toEqual(['a /big']);
  expect(lines.filter((line) => line.includes('    at '))).toEqual([]);
  expect([await small(port, 'a'), await small(port, 'b')]).toEqual([200, 200]);
  expect((await ask(port, 'b', '/big')).status).toBe(200);
  socket.destroy();
  await expect.poll(async () => (await ask(port, 'a', '/big')).status).toBe(200);
});

test('all organizations together have so many', async () => {
  const { port } = await serve(30 * MIB);
  expect((await ask(port, 'a', '/big')).status).toBe(200);
  expect((await ask(port, 'b', '/big')).status).toBe(503);
  expect(await small(port, 'b')).toBe(200);
});

test('whoever has little unsent finds room, and who has no key has a share of his own', async () => {
  const { port } = await serve();
  for (const key of ['a', 'b', '']) expect((await ask(port, key, '/big')).status).toBe(200);
  for (const key of ['a', 'b', 'c', '']) expect((await ask(port, key, '/big')).status).toBe(503);
  for (let count = 0; count < 12; count += 1) await ask(port, 'a', '/written');
  for (const key of ['c', 'd', 'e']) expect((await ask(port, key, '/page')).status).toBe(200);
});

test('what is taken waits no longer', async () => {
  const { port } = await serve();
  const { socket } = await ask(port, 'a', '/big');
  expect((await exchange(port, get('a', '/big')))?.status).toBe(503);
  await take(socket);
  expect((await ask(port, 'a', '/big')).status).toBe(200);
});

test('of answers that grow side by side, one that is refused leaves its room to the others', async () => {
  const { app, port, held } = await serve();
  const answers = [0, 1].map(() => exchange(port, get('a', '/held')));
  await expect.poll(() => held.length).toBe(2);
  const grows = (index: number, size: number) => held[index] && app.hasRoomFor(held[index], size * MIB);
  expect([grows(0, 15), grows(1, 15)]).toEqual([true, true]);
  expect(grows(0, 30)).toBe(false);
  expect([grows(1, 30), grows(1, 39)]).toEqual([true, true]);
  for (const reply of held) reply.send('{}');
  await Promise.all(answers);
  await expect.poll(async () => (await ask(port, 'a', '/big')).status).toBe(200);
});

test('an answer that is made when its client has gone takes no room', async () => {
  const { app, port, held } = await serve();
  const client = connect(port, '127.0.0.1');
  client.write(get('a', '/held'));
  await expect.poll(() => held.length).toBe(1);
  const [reply] = held;
  const closed = reply && once(reply.raw, 'close');
  client.destroy();
  await closed;
  expect(reply && app.hasRoomFor(reply, 30 * MIB)).toBe(true);
  await reply?.send(BIG);
  expect((await ask(port, 'a', '/big')).status).toBe(200);
});

test('a client that takes nothing is cut off, and one that reads is not', async () => {
  const { app, port } = await serve(200 * MIB);
  const connected: Socket[] = [];
  app.server.on('connection', (socket: Socket) => connected.push(socket));
  await ask(port, 'a', '/big');
  const reader = await ask(port, 'b', '/big');
  const [idle, read] = connected;
  expect([idle?.timeout, read?.timeout]).toEqual([30_000, 30_000]);
  await take(reader.socket);
  // Its time runs out now. The other one has all of it: nothing here depends on how fast it reads.
  idle?.setTimeout(1);
  await expect.poll(() => idle?.destroyed).toBe(true);
  expect(read?.destroyed).toBe(false);
});
