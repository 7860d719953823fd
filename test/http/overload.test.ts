import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createLogger } from '../../src/http/logging.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { watchPressure } from '../../src/http/overload.ts';
import { buildDashboard } from '../support/dashboard.ts';
import { ownApp } from '../support/instance.ts';
import { useService } from '../support/service.ts';

const service = useService();

// The tests set the time and the measured delay of the event loop.
const histogram = Object.getPrototypeOf(Object.getPrototypeOf(monitorEventLoopDelay()));
const setEventLoopDelay = (milliseconds: number) =>
  vi.spyOn(histogram, 'mean', 'get').mockReturnValue(milliseconds * 1e6);
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  setEventLoopDelay(10);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test('while its event loop is blocked, except by its own start, a process returns 503 without logging an error, and is alive and not ready', async () => {
  const { key } = await service.agency();
  const errors: string[] = [];
  const logger = createLogger('error', { write: (line) => errors.push(line) });
  const pressure = watchPressure(30);
  onTestFinished(pressure.stop);
  const app = await ownApp(service, { logger, pressure });
  const metrics = createMetrics(service.db);
  const health = { ready: async () => undefined, pressure, metrics };
  const { app: dashboard } = await buildDashboard(service, { health });
  onTestFinished(() => dashboard.close());
  const get = () => app.inject({ url: '/v1/team', headers: { 'x-api-key': key } });
  expect((await get()).statusCode).toBe(200);
  for (const [delay, expected] of [
    [200, 200],
    [200, 200],
    [200, 503],
    [10, 200],
    [200, 503],
  ] as const) {
    setEventLoopDelay(delay);
    vi.advanceTimersByTime(1_000);
    const response = await get();
    expect(response.statusCode).toBe(expected);
    for (const [url, status] of Object.entries({ '/livez': 200, '/readyz': expected, '/metrics': 200 }))
      expect((await dashboard.inject(url)).statusCode, url).toBe(status);
    if (expected === 200) continue;
    expect([response.headers['retry-after'], response.json().error.code]).toEqual([
      '1',
      'SERVICE_UNAVAILABLE',
    ]);
  }
  expect(errors).toEqual([]);
});
