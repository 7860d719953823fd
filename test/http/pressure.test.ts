import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createLogger } from '../../src/http/logging.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { type PressureLimits, pressureLimits } from '../../src/http/pressure.ts';
import { buildDashboard } from '../support/dashboard.ts';
import { ownApp } from '../support/instance.ts';
import { useService } from '../support/service.ts';

/** While the process itself is not well, the API refuses at once; who asks whether it lives and is ready gets an answer. */

const service = useService();
const NO_LIMIT: PressureLimits = { maxEventLoopDelay: 0, maxHeapUsedBytes: 0, maxRssBytes: 0 };

// No time passes by itself, and the event loop was held for as long as the test says.
const histogram = Object.getPrototypeOf(Object.getPrototypeOf(monitorEventLoopDelay()));
const held = (milliseconds: number) => vi.spyOn(histogram, 'mean', 'get').mockReturnValue(milliseconds * 1e6);
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  held(10);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** The process looks at itself. */
const look = () => vi.advanceTimersByTime(1_000);

/** The API with these limits, and an agency's key for it. */
async function watched(limits: Partial<PressureLimits>) {
  const { key } = await service.agency();
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line) => lines.push(line) });
  const app = await ownApp(service, { logger, pressure: { ...NO_LIMIT, ...limits } });
  const ask = () => app.inject({ url: '/v1/team', headers: { 'x-api-key': key } });
  const status = async () => (await ask()).statusCode;
  return { ask, status, lines };
}

test.each(['maxHeapUsedBytes', 'maxRssBytes'] as const)(
  'a process over its %s refuses with 503, without a line of error, and tells the load balancer that it lives',
  async (limit) => {
    const { ask, lines } = await watched({ [limit]: 1 });
    const metrics = createMetrics({ db: service.db, keys: service.keys });
    const { app } = await buildDashboard(service, { health: { ready: async () => undefined, metrics } });
    onTestFinished(() => app.close());
    expect((await ask()).statusCode).toBe(200);
    look();
    const { statusCode, headers, body } = await ask();
    expect([statusCode, headers['retry-after']]).toEqual([503, '1']);
    const message =
      'The service cannot handle the request right now. Wait the seconds in Retry-After, then retry.';
    expect(JSON.parse(body)).toEqual({ error: { code: 'SERVICE_UNAVAILABLE', message } });
    expect(lines.filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
    for (const url of ['/livez', '/readyz', '/metrics'])
      expect((await app.inject(url)).statusCode, url).toBe(200);
  },
);

test('a process whose event loop was held is refusing until it runs again; its start may hold it', async () => {
  const { status } = await watched({ maxEventLoopDelay: 30 });
  expect(await status()).toBe(200);
  for (const [delay, expected] of [
    [200, 200],
    [200, 503],
    [10, 200],
    [200, 503],
  ] as const) {
    held(delay);
    look();
    expect(await status()).toBe(expected);
  }
});

test('a process that is well refuses nothing, by the limits of the service itself', async () => {
  const limits = pressureLimits();
  expect(limits.maxEventLoopDelay).toBeGreaterThan(0);
  expect(limits.maxHeapUsedBytes).toBeGreaterThan(process.memoryUsage().heapUsed);
  const { status } = await watched(limits);
  for (let looks = 0; looks < 3; looks += 1) {
    look();
    expect(await status()).toBe(200);
  }
});
