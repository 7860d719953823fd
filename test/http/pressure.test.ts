import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createLogger } from '../../src/http/logging.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { type PressureLimits, pressureLimits } from '../../src/http/pressure.ts';
import { buildDashboard } from '../support/dashboard.ts';
import { ownApp } from '../support/instance.ts';
import { useService } from '../support/service.ts';

const service = useService();
const NO_LIMIT: PressureLimits = { maxEventLoopDelay: 0, maxHeapUsedBytes: 0, maxRssBytes: 0 };

// The tests set the time and the measured delay of the event loop.
const histogram = Object.getPrototypeOf(Object.getPrototypeOf(monitorEventLoopDelay()));
const setEventLoopDelay = (milliseconds: number) =>
  vi.spyOn(histogram, 'mean', 'get').mockReturnValue(milliseconds * 1e6);
const takeSample = () => vi.advanceTimersByTime(1_000);
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  setEventLoopDelay(10);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** The API with these limits. */
async function startApi(limits: Partial<PressureLimits>) {
  const { key } = await service.agency();
  const errors: string[] = [];
  const logger = createLogger('error', { write: (line) => errors.push(line) });
  const app = await ownApp(service, { logger, pressure: { ...NO_LIMIT, ...limits } });
  const get = () => app.inject({ url: '/v1/team', headers: { 'x-api-key': key } });
  return { get, status: async () => (await get()).statusCode, errors };
}

test.each(['maxHeapUsedBytes', 'maxRssBytes'] as const)(
  'a process over its %s returns 503 without logging an error, and stays alive and ready for the load balancer',
  async (limit) => {
    const { get, status, errors } = await startApi({ [limit]: 1 });
    const metrics = createMetrics({ db: service.db, keys: service.keys });
    const { app } = await buildDashboard(service, { health: { ready: async () => undefined, metrics } });
    onTestFinished(() => app.close());
    expect(await status()).toBe(200);
    takeSample();
    const response = await get();
    expect(response).toMatchObject({ statusCode: 503, headers: { 'retry-after': '1' } });
    const message =
      'The service cannot handle the request right now. Wait the seconds in Retry-After, then retry.';
    expect(response.json()).toEqual({ error: { code: 'SERVICE_UNAVAILABLE', message } });
    expect(errors).toEqual([]);
    for (const url of ['/livez', '/readyz', '/metrics'])
      expect((await app.inject(url)).statusCode, url).toBe(200);
  },
);

test('a process returns 503 while its event loop is blocked, except by its own start', async () => {
  const { status } = await startApi({ maxEventLoopDelay: 30 });
  expect(await status()).toBe(200);
  for (const [delay, expected] of [
    [200, 200],
    [200, 503],
    [10, 200],
    [200, 503],
  ] as const) {
    setEventLoopDelay(delay);
    takeSample();
    expect(await status()).toBe(expected);
  }
});

test('the limits of the service reject no request of a healthy process', async () => {
  const limits = pressureLimits();
  expect(limits.maxEventLoopDelay).toBeGreaterThan(0);
  expect(limits.maxHeapUsedBytes).toBeGreaterThan(process.memoryUsage().heapUsed);
  const { status } = await startApi(limits);
  for (let samples = 0; samples < 3; samples += 1) {
    takeSample();
    expect(await status()).toBe(200);
  }
});
