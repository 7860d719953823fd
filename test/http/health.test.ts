import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { checkDatabase, latestMigration } from '../../src/db/index.ts';
import { type HealthOptions, healthRoutes } from '../../src/http/health.ts';
import { memoryLimiter } from '../../src/http/limiter.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { createHttpServer } from '../../src/http/server.ts';
import { ownDashboard } from '../support/dashboard.ts';
import { ownDatabase, runSql } from '../support/databases.ts';
import { newFolder } from '../support/folder.ts';
import { ownApp, ownLog } from '../support/instance.ts';
import { startProxy } from '../support/proxy.ts';
import { useService } from '../support/service.ts';

const service = await useService();

/** Longer than in production, because a busy machine is slow. */
const TIMEOUT_MS = 60_000;

/** A server with nothing but the routes for operators. */
function startHealth(options: Partial<HealthOptions>) {
  const { logger, lines } = ownLog();
  const app = createHttpServer({ logger });
  const metrics = { text: async () => '', contentType: 'text/plain' };
  app.register(healthRoutes, { ready: async () => undefined, metrics, ...options });
  onTestFinished(() => app.close());
  return { get: (url: string) => app.inject(url), lines };
}

describe('GET /readyz', () => {
  test('is 200 while the database works, and 503 while it is cut off or silent', async () => {
    const proxy = await startProxy(service.url);
    onTestFinished(proxy.close);
    let timeout = TIMEOUT_MS;
    const { get } = startHealth({ ready: () => checkDatabase(proxy.url, timeout) });
    const status = async () => (await get('/readyz')).statusCode;
    expect(await status()).toBe(200);
    proxy.cut();
    expect(await status()).toBe(503);
    proxy.mend();
    expect(await status()).toBe(200);
    // A silent database: only the timeout of the check ends it.
    proxy.freeze();
    timeout = 100;
    expect(await status()).toBe(503);
    proxy.mend();
    timeout = TIMEOUT_MS;
    expect(await status()).toBe(200);
    // Without the proxy, a connection that the check leaves open stays.
    await checkDatabase(service.url, TIMEOUT_MS);
  });

  test('is 503 until the latest migration is applied', async () => {
    const [database, empty] = [await ownDatabase(), await ownDatabase('template0')];
    const readiness = async ({ url }: { url: string }) => {
      const response = await startHealth({ ready: () => checkDatabase(url, TIMEOUT_MS) }).get('/readyz');
      return [response.statusCode, response.headers['retry-after'], response.json().error?.code];
    };
    const UNAVAILABLE = [503, '1', 'SERVICE_UNAVAILABLE'];
    expect(await readiness(database)).toEqual([200, undefined, undefined]);
    expect(await readiness(empty)).toEqual(UNAVAILABLE);
    const undo = 'delete from drizzle.__drizzle_migrations where created_at = $1';
    await runSql(database.ownerUrl, undo, [latestMigration]);
    expect(await readiness(database)).toEqual(UNAVAILABLE);
  });
});

test('simultaneous requests for /readyz check the database once', async () => {
  const checked = Promise.withResolvers<void>();
  const ready = vi.fn(() => checked.promise);
  const { get } = startHealth({ ready });
  const responses = Promise.all([get('/readyz'), get('/readyz'), get('/readyz')]);
  await expect.poll(() => ready.mock.calls.length).toBe(1);
  checked.resolve();
  expect((await responses).map(({ statusCode }) => statusCode)).toEqual([200, 200, 200]);
  await get('/readyz');
  expect(ready).toHaveBeenCalledTimes(2);
});

test('an outage of the database is one line in the log, however often /readyz is asked', async () => {
  let isDown = true;
  const ready = () => (isDown ? Promise.reject(new Error('gone')) : Promise.resolve());
  const { get, lines } = startHealth({ ready });
  const ask = async () => (await get('/readyz')).statusCode;
  expect([await ask(), await ask(), await ask()]).toEqual([503, 503, 503]);
  expect(lines).toHaveLength(1);
  isDown = false;
  expect(await ask()).toBe(200);
  isDown = true;
  expect([await ask(), await ask()]).toEqual([503, 503]);
  expect(lines).toHaveLength(2);
});

test('GET /livez is 200 without a database; neither it nor /metrics is logged', async () => {
  const { get, lines } = startHealth({ ready: () => Promise.reject(new Error('gone')) });
  const response = await get('/livez');
  expect([response.statusCode, response.json()]).toEqual([200, { status: 'alive' }]);
  await get('/metrics');
  expect(lines).toEqual([]);
});

test('GET /metrics has the free bytes of DATA_DIR as they are now', async () => {
  const dataDir = join(await newFolder(), 'later');
  const { text } = createMetrics(service.db, dataDir);
  expect(await text()).toMatch(/^data_dir_free_bytes nan$/im);
  await mkdir(dataDir);
  expect(await text()).toMatch(/^data_dir_free_bytes \d{4,}$/m);
});

test('GET /metrics has durations in seconds', async () => {
  const { countRequest, text } = createMetrics(service.db);
  const request = { method: 'GET', routeOptions: { url: '/slow' }, databaseMilliseconds: 250 };
  countRequest(request as FastifyRequest, { statusCode: 200, elapsedTime: 1_500 } as FastifyReply);
  expect(await text()).toContain('http_request_duration_seconds_sum{method="GET",route="/slow"} 1.5');
  expect(await text()).toContain('http_request_database_seconds_sum{method="GET",route="/slow"} 0.25');
});

test('GET /metrics counts the requests of this process by route and status, without an organization, a key or a path', async () => {
  const metrics = createMetrics(service.db);
  const rateLimit = { limiter: memoryLimiter(), requestsPerMinute: 3 };
  const app = await ownApp(service, { rateLimit, metrics });
  const agency = await service.agency();
  const headers = { authorization: `Bearer ${agency.key}` };
  for (const url of ['/v1/team', '/v1/team?limit=5', `/v1/catalog/products/${agency.id}`, '/v1/team'])
    await app.inject({ url, headers });
  for (const [method, url] of [
    ['GET', `/v1/${agency.id}`],
    ['PUT', '/v1/team'],
    ['DELETE', '/planted-path?planted=query'],
  ] as const)
    await app.inject({ method, url, headers });
  const dashboard = await ownDashboard(service, { health: { ready: async () => undefined, metrics } });
  await dashboard.get('/organizations');
  const lines = (await dashboard.app.inject('/metrics')).body.split('\n');
  expect(lines.filter((line) => line.startsWith('http_requests_total{')).sort()).toEqual([
    'http_requests_total{method="GET",route="/dashboard/v1/organizations",status="200"} 1',
    'http_requests_total{method="GET",route="/v1/catalog/products/:productId",status="404"} 1',
    'http_requests_total{method="GET",route="/v1/team",status="200"} 2',
    'http_requests_total{method="GET",route="/v1/team",status="429"} 1',
    'http_requests_total{method="any",route="unknown",status="404"} 3',
  ]);
  expect(lines).toContain('http_request_duration_seconds_count{method="GET",route="/v1/team"} 3');
  // The rejected request did not reach the database.
  expect(lines).toContain('http_request_database_seconds_count{method="GET",route="/v1/team"} 2');
  expect(lines).toContain('rate_limit_rejections_total 1');
  expect(lines).toContain('database_timeouts_total 0');
  for (const secret of [agency.id, agency.key, agency.key.slice(0, 12), 'planted'])
    expect(lines.join()).not.toContain(secret);
});
