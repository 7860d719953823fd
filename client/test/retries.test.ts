import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ClientOptions, createClient, type Retry } from '../src/index.ts';

const PAGE = { data: [], pagination: { limit: 25, offset: 0, total: 0 } };
const ok = () => Response.json(PAGE);
const refusal = (status: number, code: string, headers: Record<string, string> = {}) =>
  Response.json({ error: { code, message: 'No.' } }, { status, headers });

type Step = () => Response | Promise<Response>;

const broken: Step = () => Promise.reject(new TypeError('fetch failed', { cause: new Error('ECONNRESET') }));

/** Never answers; ends as fetch does when it is aborted. */
const silent = (init: RequestInit | undefined): Promise<Response> =>
  new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)));

/** A client whose requests meet these steps, the last of them again and again. */
function meeting(steps: (Step | 'silence')[], options: Partial<ClientOptions> = {}) {
  const sent: { method: string; at: number; headers: Headers }[] = [];
  const retries: Retry[] = [];
  const start = Date.now();
  const crm = createClient({
    apiKey: 'key',
    baseUrl: 'http://service',
    onRetry: (retry) => retries.push(retry),
    fetch: async (_url, init) => {
      const step = steps[Math.min(sent.length, steps.length - 1)];
      sent.push({
        method: String(init?.method),
        at: Date.now() - start,
        headers: new Headers(init?.headers),
      });
      return step === 'silence' || step === undefined ? silent(init) : step();
    },
    ...options,
  });
  return { crm, sent, retries };
}

/** Lets time pass until the call is settled. */
async function settled<T>(call: Promise<T>): Promise<{ value: T } | { error: unknown }> {
  const outcome = call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  await vi.runAllTimersAsync();
  return outcome;
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a call is repeated', () => {
  test.each([
    ['a broken connection', broken],
    ['503', () => refusal(503, 'SERVICE_UNAVAILABLE', { 'retry-after': '1' })],
    ['429', () => refusal(429, 'RATE_LIMIT_EXCEEDED', { 'retry-after': '2' })],
    ['409 of a request under way', () => refusal(409, 'IDEMPOTENCY_IN_PROGRESS', { 'retry-after': '1' })],
    ['a proxy that lost the service', () => new Response('<h1>Bad Gateway</h1>', { status: 502 })],
  ] as [string, Step][])('after %s', async (_what, step) => {
    const { crm, sent, retries } = meeting([step, step, ok]);
    expect(await settled(crm.customers.list())).toEqual({ value: PAGE });
    expect(sent).toHaveLength(3);
    expect(retries.map(({ method, path }) => `${method} ${path}`)).toEqual(
      Array(2).fill('GET /v1/customers'),
    );
  });

  test('after a try that took too long', async () => {
    const { crm, sent } = meeting(['silence', ok], { timeout: 1_000 });
    expect(await settled(crm.customers.list())).toEqual({ value: PAGE });
    expect(sent[1]?.at).toBeGreaterThanOrEqual(1_000);
  });

  test('a create with the one key that its first try had, others with a key of their own', async () => {
    const { crm, sent } = meeting([broken, broken, () => Response.json({ id: '1' }, { status: 201 })]);
    await settled(crm.products.create({ title: 'One' }));
    await settled(crm.products.create({ title: 'Two' }));
    const keys = sent.map(({ headers }) => headers.get('idempotency-key'));
    expect(new Set(keys.slice(0, 3)).size).toBe(1);
    expect(keys[0]).toMatch(/^[\da-f]{32}$/);
    expect(keys[3]).not.toBe(keys[0]);
    await settled(crm.products.create({ title: 'Three' }, { idempotencyKey: 'mine' }));
    expect(sent.at(-1)?.headers.get('idempotency-key')).toBe('mine');
    await settled(crm.products.list());
    expect(sent.at(-1)?.headers.has('idempotency-key')).toBe(false);
  });
});

describe('waiting', () => {
  test('is as long as the service asks, and a little longer at random', async () => {
    const limited: Step = () => refusal(429, 'RATE_LIMIT_EXCEEDED', { 'retry-after': '30' });
    const { crm, sent } = meeting([limited, ok]);
    await settled(crm.customers.list());
    expect(sent[1]?.at).toBeGreaterThanOrEqual(30_000);
    expect(sent[1]?.at).toBeLessThan(31_000);
  });

  test('holds every call of a client whose key is over its limit', async () => {
    const limited: Step = () => refusal(429, 'RATE_LIMIT_EXCEEDED', { 'retry-after': '30' });
    const { crm, sent } = meeting([limited, ok]);
    const first = crm.customers.list();
    await vi.advanceTimersByTimeAsync(1_000);
    await settled(Promise.all([first, crm.team.list(), crm.quotes.list()]));
    expect(sent).toHaveLength(4);
    expect(sent.slice(1).every(({ at }) => at >= 30_000)).toBe(true);
  });

  test('grows from try to try, each time at random', async () => {
    const random = vi.spyOn(Math, 'random').mockReturnValue(0.5);
    const { crm, retries } = meeting([broken], { retries: 4 });
    await settled(crm.customers.list());
    expect(retries.map(({ wait }) => wait)).toEqual([250, 500, 1_000, 2_000]);
    random.mockRestore();
  });
});

describe('a call fails', () => {
  test('when its tries are used up, and says how many there were', async () => {
    const { crm, sent } = meeting([broken], { retries: 3 });
    const outcome = await settled(crm.customers.list());
    expect(outcome).toMatchObject({ error: { code: 'CONNECTION_FAILED', status: 0, attempts: 4 } });
    expect(String((outcome as { error: Error }).error.message)).toContain('ECONNRESET');
    expect(sent).toHaveLength(4);
  });

  test('when the service asks for more patience than it has', async () => {
    const limited: Step = () => refusal(429, 'RATE_LIMIT_EXCEEDED', { 'retry-after': '60' });
    const { crm, sent } = meeting([limited], { maxRetryTime: 10_000 });
    expect(await settled(crm.customers.list())).toMatchObject({ error: { code: 'RATE_LIMIT_EXCEEDED' } });
    expect(sent).toHaveLength(1);
  });

  test('when no try is answered in time', async () => {
    const { crm } = meeting(['silence'], { timeout: 1_000, retries: 1 });
    expect(await settled(crm.customers.list())).toMatchObject({ error: { code: 'TIMED_OUT', attempts: 2 } });
  });

  test.each([
    [400, 'VALIDATION_FAILED'],
    [401, 'UNAUTHORIZED'],
    [404, 'CUSTOMER_NOT_FOUND'],
    [409, 'CUSTOMER_CONTACT_CONFLICT'],
    [412, 'PRECONDITION_FAILED'],
    [500, 'INTERNAL_ERROR'],
  ])('at once after %i %s', async (status, code) => {
    const { crm, sent } = meeting([() => refusal(status, code), ok]);
    expect(await settled(crm.customers.get('1'))).toMatchObject({ error: { status, code, attempts: 1 } });
    expect(sent).toHaveLength(1);
  });

  test('when what answers is not the service', async () => {
    const { crm } = meeting([() => new Response('<h1>Welcome to the hotel</h1>')]);
    const outcome = await settled(crm.customers.list());
    expect(outcome).toMatchObject({ error: { status: 200, code: 'UNEXPECTED_RESPONSE' } });
  });
});

describe('a signal', () => {
  test('ends a try, the waiting and what has not begun, with its own reason', async () => {
    const reason = new Error('enough');
    for (const steps of [['silence' as const], [broken]]) {
      const controller = new AbortController();
      const { crm, sent } = meeting(steps);
      setTimeout(() => controller.abort(reason), 100);
      const outcome = await settled(crm.customers.list({}, { signal: controller.signal, retries: 1_000 }));
      expect(outcome).toEqual({ error: reason });
      expect(sent.every(({ at }) => at <= 100)).toBe(true);
    }
    const { crm, sent } = meeting([ok]);
    const outcome = await settled(crm.customers.list({}, { signal: AbortSignal.abort(reason) }));
    expect(outcome).toEqual({ error: reason });
    expect(sent).toEqual([]);
  });

  test('leaves nothing behind on itself when calls end', async () => {
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    const { crm } = meeting([broken, ok]);
    await settled(crm.customers.list({}, { signal }));
    expect(added.mock.calls.length).toBeGreaterThan(1);
    expect(removed.mock.calls.length).toBe(added.mock.calls.length);
  });

  test('has one listener however many calls share it, and ends them all', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const added = vi.spyOn(signal, 'addEventListener');
    const { crm } = meeting(['silence']);
    const { crm: waiting } = meeting([broken], { retries: 1_000 });
    const reason = new Error('enough');
    setTimeout(() => controller.abort(reason), 100);
    const calls = Array.from({ length: 50 }, (_, index) =>
      settled((index % 2 ? crm : waiting).customers.list({}, { signal })),
    );
    expect(added).toHaveBeenCalledTimes(1);
    expect(await Promise.all(calls)).toEqual(Array(50).fill({ error: reason }));
  });
});

describe('ifMatch', () => {
  const tagged = () => Response.json({ id: '1' }, { headers: { etag: '"v1"' } });

  test('is refused for an object that came with no version', async () => {
    const { crm, sent } = meeting([tagged]);
    expect(await settled(crm.customers.archive('1', { ifMatch: { id: '1' } }))).toMatchObject({
      error: expect.any(TypeError),
    });
    expect(sent).toEqual([]);
  });
});
