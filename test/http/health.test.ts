import type { FastifyInstance } from 'fastify';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { latestMigration } from '../../src/db/server/migrate.ts';
import { checkDatabase } from '../../src/db/server/readiness.ts';
import { type HealthOptions, healthRoutes } from '../../src/http/health.ts';
import { createLogger } from '../../src/http/logging.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { memoryLimiter } from '../../src/http/rate-limit.ts';
import { createHttpServer } from '../../src/http/server.ts';
import { administer, createTestDatabase } from '../support/databases.ts';
import { ownApp } from '../support/instance.ts';
import { startProxy } from '../support/proxy.ts';
import { useService } from '../support/service.ts';

const service = useService();

/** A busy machine needs longer than a service may: here only what is silent is late. */
const PATIENCE_MS = 60_000;

const NO_METRICS = { text: async () => '', contentType: 'text/plain' };

/** Asks the listener of the operators, which has nothing but their routes here. */
async function operators(ready: () => Promise<void>, metrics: HealthOptions['metrics'] = NO_METRICS) {
  const leaving = new AbortController().signal;
  const lines: string[] = [];
  const app = createHttpServer({ logger: createLogger('info', { write: (line) => lines.push(line) }) });
  app.register(healthRoutes, { ready, metrics, leaving });
  onTestFinished(() => app.close());
  return { get: (url: string) => app.inject(url), lines };
}

function expectUnavailable({
  statusCode,
  headers,
  json,
}: Awaited<ReturnType<FastifyInstance['inject']>>): void {
  expect([statusCode, headers['retry-after']]).toEqual([503, '1']);
  expect(json()).toEqual({ error: { code: 'SERVICE_UNAVAILABLE', message: expect.any(String) } });
}

describe('GET /readyz', () => {
  test('is 200 while the database answers and 503 when it is gone, as soon as it is back 200 again', async () => {
    const proxy = await startProxy(service.url);
    onTestFinished(proxy.close);
    let patience = PATIENCE_MS;
    const { get } = await operators(() => checkDatabase(proxy.url, patience));
    const status = async () => (await get('/readyz')).statusCode;
    expect(await status()).toBe(200);
    proxy.cut();
    expect(await status()).toBe(503);
    proxy.mend();
    expect(await status()).toBe(200);
    // Neither refusing nor answering: only the check's own timeout ends it.
    proxy.freeze();
    patience = 100;
    expect(await status()).toBe(503);
    proxy.mend();
    patience = PATIENCE_MS;
    expect(await status()).toBe(200);
  });

  test('is 503 in the error shape until the newest migration is applied', async () => {
    const database = await createTestDatabase(inject('serverUrl'));
    onTestFinished(database.drop);
    const empty = await createTestDatabase(inject('serverUrl'), 'template0');
    onTestFinished(empty.drop);
    const ask = async ({ url }: { url: string }) =>
      (await operators(() => checkDatabase(url, PATIENCE_MS))).get('/readyz');
    expect((await ask(database)).json()).toEqual({ status: 'ready' });
    expectUnavailable(await ask(empty));
    await administer(database.ownerUrl, (client) =>
      client.query('delete from drizzle.__drizzle_migrations where created_at = $1', [latestMigration]),
    );
    expectUnavailable(await ask(database));
  });

  test('asks the database once for all who ask at the same time', async () => {
    let checks = 0;
    const answer = Promise.withResolvers<void>();
    const { get } = await operators(() => {
      checks += 1;
      return answer.promise;
    });
    const asked = Promise.all([get('/readyz'), get('/readyz'), get('/readyz')]);
    await expect.poll(() => checks).toBe(1);
    answer.resolve();
    expect((await asked).map(({ statusCode }) => statusCode)).toEqual([200, 200, 200]);
    expect(checks).toBe(1);
    await get('/readyz');
    expect(checks).toBe(2);
  });
});

test('GET /livez is 200 whatever the database does, and none of these requests is logged', async () => {
  const { get, lines } = await operators(() => Promise.reject(new Error('gone')));
  const answer = await get('/livez');
  expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'alive' }]);
  await get('/metrics');
  expect(lines).toEqual([]);
});

describe('GET /metrics', () => {
  async function measured(requestsPerMinute = 0) {
    const metrics = createMetrics({ db: service.db, keys: service.keys });
    const rateLimit = { limiter: memoryLimiter(), requestsPerMinute };
    const app = await ownApp(service, { rateLimit, metrics });
    const { get } = await operators(() => Promise.resolve(), metrics);
    return { app, metrics, get, lines: async () => (await get('/metrics')).body.split('\n') };
  }

  test('counts requests by route and status, unknown paths as one, and refusals; it tells no organization and no key', async () => {
    const [{ app, lines }, other] = [await measured(3), await measured()];
    const agency = await service.agency();
    const headers = { authorization: `Bearer ${agency.key}` };
    const known = ['/v1/team', '/v1/team?limit=5', `/v1/catalog/products/${agency.id}`, '/v1/team'];
    for (const url of known) await app.inject({ url, headers });
    for (const [method, url] of [
      ['GET', `/v1/${agency.id}`],
      ['PUT', '/v1/team'],
      ['GET', '/.env'],
      ['DELETE', '/planted-path?planted=query'],
    ] as const)
      await app.inject({ method, url, headers });
    const shown = await lines();
    const series = (all: string[]) => all.filter((line) => line.startsWith('http_requests_total{')).sort();
    expect(series(shown)).toEqual([
      'http_requests_total{method="GET",route="/v1/catalog/products/:productId",status="404"} 1',
      'http_requests_total{method="GET",route="/v1/team",status="200"} 2',
      'http_requests_total{method="GET",route="/v1/team",status="429"} 1',
      'http_requests_total{method="any",route="unknown",status="404"} 4',
    ]);
    for (const line of [
      'http_request_duration_seconds_count{method="GET",route="/v1/team"} 3',
      // The third was refused.
      'http_request_database_seconds_count{method="GET",route="/v1/team"} 2',
      'rate_limit_rejections_total 1',
    ])
      expect(shown).toContain(line);
    for (const secret of [agency.id, agency.key, agency.key.slice(0, 12), 'planted'])
      expect(shown.join()).not.toContain(secret);
    expect(series(await other.lines()), 'of another application').toEqual([]);
  });

  test('shows the pool, the key cache and what the jobs removed', async () => {
    const agency = await service.agency();
    await agency.get('/v1/team');
    const { metrics, lines } = await measured();
    for (const removed of [
      { products: 2, variants: 5 },
      { products: 1, variants: 0 },
      { files: 4 },
      { keys: 7 },
    ])
      metrics.jobDone(removed);
    const enough = Promise.withResolvers<void>();
    // One organization has half of the connections.
    const busy = Array.from({ length: 12 }, () => agency.scope.db.transaction(() => enough.promise));
    const inUse = () => service.db.stats().total - service.db.stats().idle;
    await expect.poll(() => [service.db.stats().waiting, inUse()]).toEqual([7, 5]);
    const shown = await lines();
    const { idle } = service.db.stats();
    const { hits, misses } = service.keys.stats();
    enough.resolve();
    await Promise.all(busy);
    for (const line of [
      'purged_products_total 3',
      'purged_variants_total 5',
      'swept_files_total 4',
      'swept_idempotency_keys_total 7',
      'database_connections_in_use 5',
      `database_connections_idle ${idle}`,
      'database_requests_waiting 7',
      `key_cache_hits_total ${hits}`,
      `key_cache_misses_total ${misses}`,
    ])
      expect(shown).toContain(line);
    expect(misses).toBeGreaterThan(0);
    expect((await lines()).find((line) => line.startsWith('database_connections_in_use'))).toMatch(/ 0$/);
  });
});
