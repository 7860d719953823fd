import { once } from 'node:events';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { CatalogProductCreate } from '../../src/catalog/schema.ts';
import { excessOf } from '../../src/http/load/json-bodies.ts';
import { createLogger } from '../../src/http/logging.ts';
import { createHttpServer } from '../../src/http/server.ts';
import { validatorCompiler } from '../../src/http/validation.ts';
import { useService } from '../support/service.ts';
import { exchange, listen, requestBytes } from '../support/socket.ts';
import { open, serve } from './held.ts';

const DEEP = 'must not be nested deeper than 32 levels';
const MANY = 'must have at most 12000 names, objects and lists';
const excess = (text: string) => excessOf(Buffer.from(text));

test.each([
  ['['.repeat(32) + ']'.repeat(32), undefined],
  [`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`, DEEP],
  [`[${Array(11_999).fill('{}').join(',')}]`, undefined],
  [`[${Array(12_000).fill('[]').join(',')}]`, MANY],
  [`{${Array(11_999).fill('"a":1').join(',')}}`, undefined],
  [`{${Array(12_000).fill('"a":1').join(',')}}`, MANY],
  [`[${Array(100_000).fill('""').join(',')}]`, undefined],
  [JSON.stringify({ a: '['.repeat(20_000), [':'.repeat(20_000)]: '\\"['.repeat(5_000) }), undefined],
])('what no body needs is found in the bytes: %#', (text, fault) => {
  expect(excess(text)).toBe(fault);
});

test('and nowhere else, whatever the texts hold', () => {
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
  const wrapped = (json: unknown, levels: number): unknown =>
    levels === 0 ? json : levels % 2 ? [wrapped(json, levels - 1)] : { '["{': wrapped(json, levels - 1) };
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat(36), (inner, levels) => {
      const json = wrapped(inner, levels);
      return excess(JSON.stringify(json)) === (depthOf(json) > 32 ? DEEP : undefined);
    }),
  );
});

test('a list beyond its maximum is refused without a look at its entries', () => {
  let looks = 0;
  const variants = new Proxy(Array(5_000).fill({ label: 'x' }), {
    get: (list, name, receiver) => {
      if (/^\d+$/.test(String(name))) looks += 1;
      return Reflect.get(list, name, receiver);
    },
  });
  const validate = validatorCompiler({ schema: CatalogProductCreate, method: 'POST', url: '/' });
  const { error } = validate({ title: 'x', variants }) as unknown as { error: { issues: unknown[] } };
  expect(error.issues).toMatchObject([{ path: ['variants'], message: 'must have at most 100 entries' }]);
  expect(looks).toBe(0);
});

test('a large body without room is refused after a wait, and not at once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const app = createHttpServer({ logger: createLogger('silent') });
  onTestFinished(() => app.close());
  app.post('/', () => '{}');
  let answered = 0;
  // It says that it is of a megabyte, and sends nothing of it.
  const begin = async (): Promise<number> => {
    const headers = { 'content-type': 'application/json', 'content-length': String(1024 * 1024) };
    const payload = new Readable({ read: () => undefined });
    const { statusCode } = await app.inject({ method: 'POST', url: '/', headers, payload });
    answered += 1;
    return statusCode;
  };
  await app.ready();
  // Callers without a key have room for sixteen of them.
  for (let begun = 0; begun < 16; begun += 1) begin();
  const refused = begin();
  while (answered === 0 && vi.getTimerCount() === 0) await new Promise((done) => setImmediate(done));
  expect(answered).toBe(0);
  vi.runOnlyPendingTimers();
  expect(await refused).toBe(503);
});

test('a body broken off while its key is looked up leaves the room to others', async () => {
  let brokenOff = 0;
  const { port } = await serve({
    // A key that is looked up until the client has gone.
    onRequest: (request, reply, found) => {
      if (request.headers['x-whole']) return found();
      reply.raw.once('close', () =>
        setImmediate(() => {
          found();
          brokenOff += 1;
        }),
      );
      request.raw.socket.destroy();
    },
  });
  const body = JSON.stringify({ text: 'x'.repeat(1_000_000) });
  const post = (headers = {}) =>
    requestBytes('POST', '/now', { 'Content-Type': 'application/json', ...headers }, body);
  // Callers without a key have room for sixteen of them.
  for (let count = 0; count < 20; count += 1) await open(port, post().toString('latin1')).ended;
  await expect.poll(() => brokenOff).toBe(20);
  expect((await exchange(port, post({ 'X-Whole': '1' })))?.status).toBe(200);
});

describe('the service', () => {
  const service = useService();

  const post = (key: string, body: string, headers: Record<string, string> = {}) =>
    requestBytes(
      'POST',
      '/v1/catalog/products',
      { 'x-api-key': key, 'Content-Type': 'application/json', ...headers },
      body,
    );

  let port: number;
  beforeAll(async () => {
    ({ port } = await listen(service));
  });

  test('answers each of sixty large bodies at once, also one whose length is not told', async () => {
    const agency = await service.agency();
    const body = JSON.stringify({ title: 'x', description: 'x'.repeat(40_000) });
    const chunked = requestBytes('POST', '/v1/catalog/products', {
      'x-api-key': agency.key,
      'Content-Type': 'application/json',
      'Transfer-Encoding': 'chunked',
    });
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const answers = await Promise.all([
      ...Array.from({ length: 59 }, () => exchange(port, post(agency.key, body))),
      exchange(port, chunked, chunks),
    ]);
    expect(answers.map((answer) => answer?.status)).toEqual(Array(60).fill(201));
    expect((await agency.get('/v1/catalog/products')).body.pagination.total).toBe(60);
  });

  test('finds room for another organization while four have begun all that they may and send no more', async () => {
    const whole = (key: string) => post(key, JSON.stringify({ title: 'x'.repeat(1_000_000) }));
    let refused = 0;
    for (const amount of [35, 20, 12, 8]) {
      const { key } = await service.agency();
      const begun = Array.from({ length: amount }, () => {
        const { socket } = open(port);
        socket.on('data', () => {
          refused += 1;
        });
        socket.write(whole(key).subarray(0, 20_000));
        return once(socket, 'connect');
      });
      await Promise.all(begun);
    }
    // Of 64 MiB the first has half, the next half of the rest.
    await expect.poll(() => refused).toBeGreaterThanOrEqual(75 - 67);
    const agency = await service.agency();
    const body = JSON.stringify({ title: 'x', description: 'x'.repeat(40_000) });
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => exchange(port, post(agency.key, body))),
    );
    expect(answers.map((answer) => answer?.status)).toEqual(Array(8).fill(201));
  });
});
