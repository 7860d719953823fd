import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type ClientOptions, createClient, type Retry } from '../src/index.ts';

const PAGE = { data: [], pagination: { limit: 25, offset: 0, total: 0 } };
const ok = () => Response.json(PAGE);
const rejection = (status: number, code: string, retryAfter?: number) =>
  Response.json(
    { error: { code, message: 'No.' } },
    { status, ...(retryAfter && { headers: { 'retry-after': String(retryAfter) } }) },
  );

type Step = (init: RequestInit | undefined) => Response | Promise<Response>;

const broken: Step = () => Promise.reject(new TypeError('fetch failed', { cause: new Error('ECONNRESET') }));
const limited: Step = () => rejection(429, 'RATE_LIMIT_EXCEEDED', 30);
const brokenOff: Step = () =>
  new Response(new ReadableStream({ start: (body) => body.error(new TypeError('terminated')) }));
/** Returns no response; rejects as fetch does when it is aborted. */
const silent: Step = (init) =>
  new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)));

/** A client whose requests get these responses in turn, and then the last of them again. */
function clientOf(steps: Step[], options: Partial<ClientOptions> = {}) {
  const sent: { at: number; headers: Headers }[] = [];
  const retries: Retry[] = [];
  const start = Date.now();
  const crm = createClient({
    apiKey: 'key',
    baseUrl: 'http://service',
    onRetry: (retry) => retries.push(retry),
    fetch: async (_url, init) => {
      sent.push({ at: Date.now() - start, headers: new Headers(init?.headers) });
      return (steps[sent.length - 1] ?? steps.at(-1) ?? silent)(init);
    },
    ...options,
  });
  return { crm, sent, retries };
}
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
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test.each<[string, Step]>([
  ['a broken connection', broken],
  ['a response that breaks off', brokenOff],
  ['503', () => rejection(503, 'SERVICE_UNAVAILABLE', 1)],
  ['429', limited],
  ['409 while the first request is running', () => rejection(409, 'IDEMPOTENCY_IN_PROGRESS', 1)],
  ["a proxy's 502", () => new Response('<h1>Bad Gateway</h1>', { status: 502 })],
])('a call is retried after %s', async (_what, step) => {
  const { crm, sent, retries } = clientOf([step, step, ok]);
  expect(await settled(crm.customers.list())).toEqual({ value: PAGE });
  expect(sent).toHaveLength(3);
  expect(retries).toMatchObject(Array(2).fill({ method: 'GET', path: '/v1/customers' }));
});

test('a call is retried with the idempotency key of its first attempt; each create has another key, and a list has none', async () => {
  const { crm, sent } = clientOf([broken, broken, () => Response.json({ id: '1' }, { status: 201 })]);
  await settled(crm.products.create({ title: 'One' }));
  await settled(crm.products.create({ title: 'Two' }));
  await settled(crm.products.create({ title: 'Three' }, { idempotencyKey: 'mine' }));
  await settled(crm.products.list());
  const [first, ...others] = sent.map(({ headers }) => headers.get('idempotency-key'));
  expect(first).toMatch(/^[\da-f]{32}$/);
  expect(others).toEqual([first, first, expect.stringMatching(/^[\da-f]{32}$/), 'mine', null]);
  expect(others[2]).not.toBe(first);
});

test('the client waits with all calls as long as the rate limit requires, and less than a second longer', async () => {
  const { crm, sent } = clientOf([limited, ok]);
  const first = crm.customers.list();
  await vi.advanceTimersByTimeAsync(1_000);
  await settled(Promise.all([first, crm.team.list(), crm.quotes.list()]));
  expect(sent).toHaveLength(4);
  for (const { at } of sent.slice(1)) {
    expect(at).toBeGreaterThanOrEqual(30_000);
    expect(at).toBeLessThan(31_000);
  }
});

test('the client waits longer after each attempt, for a random part of the time', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  const { crm, retries } = clientOf([broken], { retries: 4 });
  await settled(crm.customers.list());
  expect(retries.map(({ wait }) => wait)).toEqual([250, 500, 1_000, 2_000]);
  vi.restoreAllMocks();
});

test('a call fails when its attempts are used up, and says how many there were', async () => {
  const { crm, sent } = clientOf([broken], { retries: 3 });
  const message = expect.stringContaining('ECONNRESET');
  // A call without a value of its own has that of the client.
  expect(await settled(crm.customers.list({}, { retries: undefined }))).toMatchObject({
    error: { code: 'CONNECTION_FAILED', status: 0, attempts: 4, message },
  });
  expect(sent).toHaveLength(4);
});

test('a call fails at once at the rate limit when the wait is longer than maxRetryTime, or it must not be retried, also while other calls wait', async () => {
  const { crm, sent } = clientOf([limited]);
  const waiting = crm.customers.list({}, { maxRetryTime: 40_000 }).catch(() => undefined);
  await vi.advanceTimersByTimeAsync(1_000);
  const error = { code: 'RATE_LIMIT_EXCEEDED', attempts: 1 };
  expect(await settled(crm.team.list({}, { retries: 0 }))).toMatchObject({ error });
  expect(sent[1]?.at).toBe(1_000);
  await waiting;
  const impatient = clientOf([limited], { maxRetryTime: 10_000 });
  expect(await settled(impatient.crm.customers.list())).toMatchObject({ error });
});

test('a call fails at a rate limit without Retry-After, when its attempts are used up', async () => {
  const { crm } = clientOf([() => rejection(429, 'RATE_LIMIT_EXCEEDED')]);
  expect(await settled(crm.customers.list())).toMatchObject({ error: { status: 429, attempts: 6 } });
});

test('a call fails when each attempt has exceeded its timeout, which can be infinite', async () => {
  const { crm } = clientOf([silent], { timeout: 1_000, retries: 1 });
  expect(await settled(crm.customers.list())).toMatchObject({ error: { code: 'TIMED_OUT', attempts: 2 } });
  const slow: Step = (init) =>
    Promise.race([silent(init), new Promise<Response>((done) => setTimeout(done, 100, ok()))]);
  const patient = clientOf([slow], { timeout: Number.POSITIVE_INFINITY, retries: 0 });
  expect(await settled(patient.crm.customers.list())).toEqual({ value: PAGE });
});

test('a call fails before it is sent, when no header takes its idempotency key', async () => {
  const { crm, sent } = clientOf([ok]);
  const call = crm.products.create({ title: 'One' }, { idempotencyKey: 'one…' });
  expect(await settled(call)).toEqual({ error: expect.any(TypeError) });
  expect(sent).toEqual([]);
});

test.each([
  ['VALIDATION_FAILED', rejection(400, 'VALIDATION_FAILED')],
  ['CUSTOMER_CONTACT_CONFLICT', rejection(409, 'CUSTOMER_CONTACT_CONFLICT')],
  ['INTERNAL_ERROR', rejection(500, 'INTERNAL_ERROR')],
  ['UNEXPECTED_RESPONSE', new Response('<h1>Welcome to the hotel</h1>')],
])('a call fails at once after %s', async (code, response) => {
  const { crm } = clientOf([() => response, ok]);
  const error = { status: response.status, code, attempts: 1 };
  expect(await settled(crm.customers.get('1'))).toMatchObject({ error });
});

const reason = new Error('enough');

test('a signal has one listener for all calls, and cancels attempts and waits for the next attempt, with its reason', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  await settled(clientOf([broken, ok]).crm.customers.list({}, { signal }));
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  const added = vi.spyOn(signal, 'addEventListener');
  const { crm, sent } = clientOf([silent]);
  const { crm: waiting } = clientOf([broken], { retries: 1_000 });
  setTimeout(() => controller.abort(reason), 100);
  const calls = Array.from({ length: 50 }, (_, index) =>
    settled((index % 2 ? crm : waiting).customers.list({}, { signal })),
  );
  expect(added).toHaveBeenCalledTimes(1);
  expect(await Promise.all(calls)).toEqual(Array(50).fill({ error: reason }));
  expect(sent.every(({ at }) => at <= 100)).toBe(true);
});

test('a signal ends the call at once when onRetry aborts it', async () => {
  const controller = new AbortController();
  const { crm } = clientOf([limited], { onRetry: () => controller.abort(reason) });
  const call = crm.customers.list({}, { signal: controller.signal });
  const start = Date.now();
  await expect(Promise.all([call, vi.advanceTimersToNextTimerAsync()])).rejects.toBe(reason);
  expect(Date.now() - start).toBeLessThan(30_000);
});
