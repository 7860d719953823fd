import { createServer } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { memoryLimiter, redisLimiter } from '../../src/http/limiter.ts';
import { ownApp } from '../support/instance.ts';
import { type Agency, clientOf, type Reply, useService } from '../support/service.ts';
import { portOf } from '../support/socket.ts';

const LIMIT = 5;
const service = await useService({ requestsPerMinute: LIMIT });

const seconds = expect.stringMatching(/^([1-9]|[1-5]\d|60)$/);

const limitHeaders = ({ headers }: Reply) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => /ratelimit|retry-after/.test(name)));

function expectRemaining(response: Reply, limit: number, remaining: number): void {
  expect(limitHeaders(response)).toEqual({
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': seconds,
    ...(response.status === 429 && { 'retry-after': seconds }),
  });
}

const withLimit = async ({ issueKey }: Agency, requestsPerMinute: number | null) =>
  service.client((await issueKey({ requestsPerMinute })).key);

test('every response says how many requests remain; beyond the limit it is 429 before validation, and nothing is written', async () => {
  const agency = await service.agency();
  const read = await agency.get('/v1/team');
  expectRemaining(read, LIMIT, 4);
  const unchanged = { headers: { 'if-none-match': String(read.headers.etag) } };
  expectRemaining(await agency.get('/v1/team', unchanged), LIMIT, 3);
  expectRemaining(await agency.get('/v1/customers?limit=0'), LIMIT, 2);
  expectRemaining(await agency.post('/v1/customers', 'x'.repeat(1024 * 1024)), LIMIT, 1);
  expectRemaining(await agency.post('/v1/catalog/products', { title: 'Oaxaca' }), LIMIT, 0);
  for (const rejected of [
    await agency.get('/v1/team'),
    await agency.get('/v1/customers/x'),
    await agency.get('/v1/customers?limit=0'),
    await agency.post('/v1/catalog/products', { title: 'Puebla' }),
  ]) {
    expectRemaining(rejected, LIMIT, 0);
    const reset = rejected.headers['x-ratelimit-reset'];
    const message = `The API key exceeded its limit of 5 requests per minute. Retry in ${reset} s.`;
    const error = { code: 'RATE_LIMIT_EXCEEDED', message };
    expect(rejected).toMatchObject({ status: 429, headers: { 'retry-after': reset }, body: { error } });
  }
  const stored = 'select title from products where organization_id = $1';
  expect(await service.query(stored, [agency.id])).toEqual([{ title: 'Oaxaca' }]);
  expect((await agency.get('/v1/team', { key: 'nonsense' })).status).toBe(401);
});

test('each key has its own limit, or else the default; 0 means no limit and no headers', async () => {
  const agency = await service.agency();
  expectRemaining(await agency.get('/v1/team'), LIMIT, 4);
  expectRemaining(await (await withLimit(agency, null)).get('/v1/team'), LIMIT, 4);
  expectRemaining(await (await withLimit(agency, 1_000_000)).get('/v1/team'), 1_000_000, 999_999);
  const low = await withLimit(agency, 1);
  expectRemaining(await low.get('/v1/team'), 1, 0);
  expect((await low.get('/v1/team')).status).toBe(429);
  const unlimited = await withLimit(agency, 0);
  for (let request = 0; request < 3 * LIMIT; request += 1) {
    const response = await unlimited.get('/v1/team');
    expect([response.status, limitHeaders(response)]).toEqual([200, {}]);
  }
});

const remainingOf = ({ headers }: Reply) => Number(headers['x-ratelimit-remaining']);

test.each([
  ['in memory', async () => memoryLimiter()],
  [
    'in memory because Redis cannot be reached',
    async () => {
      const { limiter, close } = await redisLimiter('redis://127.0.0.1:1', () => undefined);
      onTestFinished(close);
      return limiter;
    },
  ],
])(
  'counted %s, as many of simultaneous requests succeed as the limit allows',
  async (_store, createLimiter) => {
    const { key } = await service.agency();
    const rateLimit = { limiter: await createLimiter(), requestsPerMinute: 20 };
    const client = clientOf(await ownApp(service, { rateLimit }))(key);
    const responses = await Promise.all(Array.from({ length: 60 }, () => client.get('/v1/team')));
    const remaining = responses.filter(({ status }) => status === 200).map(remainingOf);
    expect(remaining.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(40);
  },
);

test('after the clock was set back by an hour, Retry-After is still within the window', async () => {
  const agency = await service.agency();
  const client = await withLimit(agency, 1);
  await client.get('/v1/team');
  const set = vi.spyOn(Date, 'now').mockReturnValue(Date.now() - 3_600_000);
  onTestFinished(() => set.mockRestore());
  expectRemaining(await client.get('/v1/team'), 1, 0);
});

/** A primary that becomes a replica, whose clients, when they connect again, reach the new primary. It replies to each command. */
async function startFailover() {
  let isReplica = false;
  const server = createServer((socket) => {
    const rejects = isReplica;
    socket.on('data', (chunk) => {
      for (const command of String(chunk).split(/^(?=\*\d)/m)) {
        const isCount = /^evalsha$/im.test(command);
        if (isCount && isReplica && !rejects) socket.write('-READONLY a replica\r\n');
        else socket.write(isCount ? '*2\r\n:1\r\n:60000\r\n' : '+OK\r\n');
      }
    });
  });
  onTestFinished(() => void server.close());
  const fail = () => {
    isReplica = true;
  };
  return { url: `redis://127.0.0.1:${await portOf(server)}`, fail };
}

test('a Redis that only rejects the counts is reported, and after a failover the new primary counts', async () => {
  const { url, fail } = await startFailover();
  const errors: string[] = [];
  const { limiter, close } = await redisLimiter(url, ({ message }) => errors.push(message));
  onTestFinished(close);
  const countOf = async () => (await limiter.penalty('key')).consumedPoints;
  // Of what is counted in memory, the second is 2.
  const isInRedis = async () => (await countOf()) + (await countOf());
  await expect.poll(isInRedis).toBe(2);
  errors.length = 0;
  fail();
  await countOf();
  expect(errors).toEqual(['READONLY a replica']);
  await expect.poll(isInRedis).toBe(2);
});
