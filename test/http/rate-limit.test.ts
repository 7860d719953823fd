import type { RateLimiterRes } from 'rate-limiter-flexible';
import { describe, expect, onTestFinished, test } from 'vitest';
import { issueApiKey } from '../../src/api-keys/repository.ts';
import { readConfig } from '../../src/config.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import { createLogger } from '../../src/http/logging.ts';
import type { Limiter } from '../../src/http/rate-limit.ts';
import { insured, memoryLimiter } from '../../src/http/rate-limit.ts';
import { redisLimiter } from '../../src/http/redis-limiter.ts';
import { ownApp } from '../support/instance.ts';
import { type Agency, type Reply, useService } from '../support/service.ts';

const LIMIT = 5;
const service = useService({ requestsPerMinute: LIMIT });

const LIMIT_HEADERS = [
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
];
const limitHeaders = ({ headers }: Pick<Reply, 'headers'>) =>
  Object.fromEntries(LIMIT_HEADERS.flatMap((name) => (name in headers ? [[name, headers[name]]] : [])));

const seconds = expect.stringMatching(/^([1-9]|[1-5]\d|60)$/);

/** The headers of an answer that leaves this many requests; `t` is between 1 and 60. */
function expectRemaining(answer: Pick<Reply, 'status' | 'headers'>, limit: number, remaining: number): void {
  expect(limitHeaders(answer)).toEqual({
    'ratelimit-policy': `"default";q=${limit};w=60`,
    ratelimit: expect.stringMatching(new RegExp(`^"default";r=${remaining};t=([1-9]|[1-5]\\d|60)$`)),
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': seconds,
    ...(answer.status === 429 && { 'retry-after': seconds }),
  });
}

const keyWith = async ({ scope }: Agency, requestsPerMinute: number | null) =>
  service.client(parseJson(await issueApiKey(scope, { name: 'x', requestsPerMinute })).key);

test('a key is told on every answer what remains, and beyond its limit when to come back; other keys are not', async () => {
  const agency = await service.agency();
  expectRemaining(await agency.get('/v1/team'), LIMIT, 4);
  expectRemaining(await agency.get('/v1/customers/x'), LIMIT, 3);
  expectRemaining(await agency.get('/v1/customers?limit=0'), LIMIT, 2);
  expectRemaining(await agency.post('/v1/customers', 'x'.repeat(1024 * 1024)), LIMIT, 1);
  expectRemaining(await agency.post('/v1/catalog/products', { title: 'Oaxaca' }), LIMIT, 0);
  // Before its request is judged.
  for (const refused of [
    await agency.get('/v1/team'),
    await agency.get('/v1/customers/x'),
    await agency.get('/v1/customers?limit=0'),
    await agency.post('/v1/catalog/products', { title: 'Puebla' }),
  ]) {
    expectRemaining(refused, LIMIT, 0);
    const { status, body, headers } = refused;
    const message = `The API key exceeded its limit of 5 requests per minute. Retry in ${headers['retry-after']} s.`;
    expect([status, body]).toEqual([429, { error: { code: 'RATE_LIMIT_EXCEEDED', message } }]);
    expect(headers['retry-after']).toBe(headers['x-ratelimit-reset']);
  }
  const stored = 'select title from products where organization_id = $1';
  expect(await service.query(stored, [agency.id])).toEqual([{ title: 'Oaxaca' }]);
  expect((await agency.get('/v1/team', { key: 'nonsense' })).status).toBe(401);
  const [second, other] = [await keyWith(agency, null), await service.agency()];
  for (const each of [second, other]) expectRemaining(await each.get('/v1/team'), LIMIT, 4);
});

test('a key has its own limit before the default, higher or lower; 0 switches it off, and no header speaks of one', async () => {
  const agency = await service.agency();
  const [high, low] = [await keyWith(agency, 1_000_000), await keyWith(agency, 1)];
  expectRemaining(await high.get('/v1/team'), 1_000_000, 999_999);
  expectRemaining(await low.get('/v1/team'), 1, 0);
  expect((await low.get('/v1/team')).status).toBe(429);
  const free = await keyWith(agency, 0);
  for (const answer of await Promise.all(Array.from({ length: 3 * LIMIT }, () => free.get('/v1/team'))))
    expect([answer.status, limitHeaders(answer)]).toEqual([200, {}]);
});

/** Another instance of the service on the same database, with this limiter. */
async function instance(limiter: Limiter, lines: string[] = [], requestsPerMinute = LIMIT) {
  const logger = createLogger('info', { write: (line: string) => lines.push(line) });
  const app = await ownApp(service, { rateLimit: { limiter, requestsPerMinute }, logger });
  return {
    get: async (url: string, key: string, others: Record<string, string> = {}) => {
      const { statusCode, headers } = await app.inject({ url, headers: { 'x-api-key': key, ...others } });
      return { status: statusCode, headers: headers as Record<string, string | undefined> };
    },
  };
}

/** Nobody listens on port 1. */
const lostRedis = () => {
  const { limiter, close } = redisLimiter('redis://127.0.0.1:1', () => undefined);
  onTestFinished(close);
  return limiter;
};

describe.each([
  ['memory', memoryLimiter],
  ['memory, for Redis is out of reach', lostRedis],
])('counted in %s', (_store, limiterOf) => {
  test('exactly as many requests pass as the limit says, however many come at once', async () => {
    const { key } = await service.agency();
    const { get } = await instance(limiterOf(), [], 20);
    const answers = await Promise.all(Array.from({ length: 60 }, () => get('/v1/team', key)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(40);
    const remaining = answers.map(({ headers }) => Number(headers['x-ratelimit-remaining']));
    expect(remaining.sort((a, b) => b - a).slice(0, 20)).toEqual(
      Array.from({ length: 20 }, (_, i) => 19 - i),
    );
  });

  test('an unchanged answer does not count, alone or among others, and says what remains after it', async () => {
    const { key } = await service.agency();
    const { get } = await instance(limiterOf());
    const { etag } = (await get('/v1/team', key)).headers;
    const left = async (tag = etag, path = '/v1/team') => {
      const { status, headers } = await get(path, key, { 'if-none-match': String(tag) });
      return [status, headers['x-ratelimit-remaining']];
    };
    const unchanged = await get('/v1/team', key, { 'if-none-match': String(etag) });
    expectRemaining(unchanged, LIMIT, 4);
    for (let index = 0; index < 2 * LIMIT; index += 1) expect(await left()).toEqual([304, '4']);
    const many = await Promise.all(Array.from({ length: LIMIT - 1 }, () => left()));
    expect(many.map(([status]) => status)).toEqual([304, 304, 304, 304]);
    expect(Math.max(...many.map(([, remaining]) => Number(remaining)))).toBe(4);
    // One that shows no copy counts, and what is no unchanged answer.
    expect(await left('*')).toEqual([304, '3']);
    expect(await left('"another"')).toEqual([200, '2']);
    expect(await left(etag, '/v1/nothing')).toEqual([404, undefined]);
    expect(await left(etag, '/v1/customers/x')).toEqual([404, '1']);
    expect(await left('"another"')).toEqual([200, '0']);
    // Beyond the limit nothing is looked at, whether it changed or not.
    expect(await left()).toEqual([429, '0']);
  });
});

test('a key has ten times its limit of unchanged answers, and others have theirs', async () => {
  const [{ key }, other] = [await service.agency(), await service.agency()];
  const { get } = await instance(memoryLimiter());
  const { etag } = (await get('/v1/team', key)).headers;
  const left = async (of = key) =>
    (await get('/v1/team', of, { 'if-none-match': String(etag) })).headers['x-ratelimit-remaining'];
  for (let index = 0; index < 10 * LIMIT; index += 1) expect(await left()).toBe('4');
  expect([await left(), await left(), await left(other.key)]).toEqual(['3', '2', '5']);
});

describe('counted in a store that fails or is busy', () => {
  /** Two instances over one store, which the test stops and starts. */
  function stored() {
    const state = { fails: false, busy: false, asked: 0 };
    const counts = memoryLimiter();
    const store: Limiter = {
      penalty: (key, points) => {
        state.asked += 1;
        return state.fails ? Promise.reject(new Error('out of reach')) : counts.penalty(key, points);
      },
      reward: (key, points) => store.penalty(key, -(points ?? 1)),
    };
    const errors: Error[] = [];
    const one = () => insured(store, { isBusy: () => state.busy, onError: (error) => errors.push(error) });
    return { state, errors, instances: [one(), one()] };
  }
  const passed = async (limiter: Limiter | undefined, requests: number): Promise<number> => {
    let count = 0;
    for (let request = 0; request < requests; request += 1)
      if (((await limiter?.penalty('key'))?.consumedPoints ?? 0) <= LIMIT) count += 1;
    return count;
  };

  test.each(['fails', 'busy'] as const)('%s: each instance lets its limit pass and no more', async (how) => {
    const { state, errors, instances } = stored();
    state[how] = true;
    for (const instance of instances) expect(await passed(instance, 3 * LIMIT)).toBe(LIMIT);
    expect(errors).toHaveLength(how === 'fails' ? 6 * LIMIT : 0);
    expect(state.asked).toBe(how === 'fails' ? 6 * LIMIT : 0);
  });

  test('what was counted in memory is told to the store; no key gets its allowance again', async () => {
    const { state, instances } = stored();
    const [one, other] = instances;
    expect(await passed(one, LIMIT - 2)).toBe(LIMIT - 2);
    state.fails = true;
    expect(await passed(one, 1)).toBe(1);
    state.fails = false;
    expect(await passed(one, 1)).toBe(1);
    expect([await passed(other, LIMIT), await passed(one, LIMIT)]).toEqual([0, 0]);
    state.busy = true;
    expect(await passed(one, LIMIT)).toBe(0);
  });
});

test('an unchanged answer after the end of its window takes nothing off the next', async () => {
  const { key } = await service.agency();
  const calls: string[] = [];
  const count = (name: string, msBeforeNext: number) => async () => {
    calls.push(name);
    return { consumedPoints: 1, remainingPoints: 0, msBeforeNext } as RateLimiterRes;
  };
  const ofWindow = (left: number) => ({ penalty: count('penalty', left), reward: count('reward', left) });
  const named = { 'if-none-match': String((await service.client(key).get('/v1/team')).headers.etag) };
  expect((await (await instance(ofWindow(0))).get('/v1/team', key, named)).status).toBe(304);
  expect(calls).toEqual(['penalty']);
  expect((await (await instance(ofWindow(60_000))).get('/v1/team', key, named)).status).toBe(304);
  expect(calls).toEqual(['penalty', 'penalty', 'reward']);
});

test('when the store fails at an unchanged answer, it is sent, stays counted, and the log says so', async () => {
  const { key } = await service.agency();
  const lines: string[] = [];
  const reward = () => Promise.reject(new Error('out of reach'));
  const limiter = memoryLimiter();
  const { get } = await instance({ penalty: (...args) => limiter.penalty(...args), reward }, lines);
  const { etag } = (await get('/v1/team', key)).headers;
  const answer = await get('/v1/team', key, { 'if-none-match': String(etag) });
  expect(answer.status).toBe(304);
  expect(answer.headers['x-ratelimit-remaining']).toBe('3');
  expect((await get('/v1/team', key)).headers['x-ratelimit-remaining']).toBe('2');
  const warnings = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 40);
  expect(warnings).toMatchObject([
    {
      msg: 'the rate limit store failed; a 304 stays counted',
      requestId: expect.any(String),
      err: { message: 'out of reach' },
    },
  ]);
});

test('a limit that nobody set is 6,000 a minute; an address that is none of Redis is refused at the start', () => {
  expect(readConfig({}).RATE_LIMIT_PER_MINUTE).toBe(6_000);
  const start = () => readConfig({ REDIS_URL: 'http://redis' });
  expect(start).toThrow('REDIS_URL must be a redis:// or rediss:// URL.');
});
