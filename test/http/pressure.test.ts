import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { ownLinks } from '../../src/files/links.ts';
import { type PressureLimits, pressureLimits } from '../../src/http/load/pressure.ts';
import { createLogger } from '../../src/http/logging.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { memoryLimiter } from '../../src/http/rate-limit.ts';
import { buildDashboard } from '../dashboard/dashboard.ts';
import { useService } from '../support/service.ts';

/** While the process itself is not well, the API refuses at once; who asks whether it lives and is ready gets an answer. */

const service = useService();
const NO_LIMIT: PressureLimits = {
  maxEventLoopDelay: 0,
  maxHeapUsedBytes: 0,
  maxRssBytes: 0,
  sampleInterval: 20,
};

/** The API with these limits, and an agency's key for it. */
async function watched(limits: Partial<PressureLimits>) {
  const { key } = await service.agency();
  const lines: string[] = [];
  const app = await buildApp({
    db: service.db,
    keys: service.keys,
    rateLimit: { limiter: memoryLimiter(), requestsPerMinute: 0 },
    links: ownLinks({ secrets: service.secrets, publicUrl: 'http://localhost', ttlSeconds: 300 }),
    logger: createLogger('info', { write: (line) => lines.push(line) }),
    pressure: { ...NO_LIMIT, ...limits },
  });
  onTestFinished(() => app.close());
  const ask = () => app.inject({ url: '/v1/team', headers: { 'x-api-key': key } });
  const status = async () => (await ask()).statusCode;
  return { ask, status, lines };
}

describe.each(['maxHeapUsedBytes', 'maxRssBytes'] as const)('a process over its %s', (limit) => {
  test('refuses with 503, when to ask again and the error shape, without a line of error', async () => {
    const { ask, status, lines } = await watched({ [limit]: 1 });
    await expect.poll(status).toBe(503);
    const { headers, body } = await ask();
    expect(headers['retry-after']).toBe('1');
    expect(headers['x-request-id']).toMatch(/^[\w-]{8,64}$/);
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(JSON.parse(body)).toEqual({
      error: {
        code: 'SERVICE_UNAVAILABLE',
        message: 'The service cannot answer right now; retry shortly.',
      },
    });
    expect(lines.filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
  });

  test('says to the load balancer what is so: it lives, and its database is there', async () => {
    const { status } = await watched({ [limit]: 1 });
    const metrics = createMetrics({ db: service.db, keys: service.keys });
    const { app } = await buildDashboard(service, { health: { ready: async () => undefined, metrics } });
    onTestFinished(() => app.close());
    await expect.poll(status).toBe(503);
    for (const url of ['/livez', '/readyz', '/metrics'])
      expect((await app.inject(url)).statusCode, url).toBe(200);
  });
});

test('a process that has just started refuses nothing, though its start held the event loop', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const { status } = await watched({ maxEventLoopDelay: 30, sampleInterval: 1_000 });
  const look = async () => {
    // The histogram has a clock of its own, which goes on.
    await nextTick();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    await nextTick();
    vi.advanceTimersByTime(1_000);
  };
  expect(await status()).toBe(200);
  await look();
  expect(await status()).toBe(200);
  await look();
  expect(await status()).toBe(503);
});

test('a process whose event loop was held is refusing until it runs again', async () => {
  const { status } = await watched({ maxEventLoopDelay: 30, sampleInterval: 100 });
  await expect.poll(status).toBe(200);
  const hold = () => {
    const until = performance.now() + 400;
    while (performance.now() < until);
  };
  const held = async () => {
    hold();
    return status();
  };
  await expect.poll(held, { interval: 10 }).toBe(503);
  await expect.poll(status).toBe(200);
});

test('a process that is well refuses nothing, by the limits of the service itself', async () => {
  const limits = pressureLimits();
  expect(limits.maxEventLoopDelay).toBeGreaterThan(0);
  expect(limits.maxHeapUsedBytes).toBeGreaterThan(process.memoryUsage().heapUsed);
  const { status } = await watched({ ...limits, maxEventLoopDelay: 0, sampleInterval: 10 });
  await new Promise((done) => setTimeout(done, 50));
  expect(await status()).toBe(200);
});
