import { onTestFinished } from 'vitest';
import type { AppOptions } from '../../src/app.ts';
import { type Database, type DatabaseOptions, openDatabase } from '../../src/db/index.ts';
import { createLogger } from '../../src/http/logging.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { type Agency, appOf, type Service } from './service.ts';

/** Parts of the service that a test builds for itself, in addition to the service of its file. */

/** Another pool on the service's database, or on another `url`; it closes with the test. */
export function ownPool(service: Service, options: Partial<DatabaseOptions> = {}): Database {
  const db = openDatabase({
    url: service.url,
    poolSize: 4,
    maxWaiting: 500,
    // So long that only a statement that never ends exceeds it.
    statementTimeout: 240_000,
    ...options,
  });
  onTestFinished(db.close);
  return db;
}

/** Another app on the database and keys of the service, without log and rate limit; it closes with the test. */
export async function ownApp(service: Service, options: Partial<AppOptions> = {}) {
  const app = await appOf(service, options);
  onTestFinished(() => app.close());
  return app;
}

/** A logger, and the lines that it has written. */
export function ownLog<Line = Record<string, unknown>>(level = 'info', onLine: () => void = () => undefined) {
  const lines: Line[] = [];
  const write = (line: string) => {
    lines.push(JSON.parse(line));
    onLine();
  };
  return { logger: createLogger(level, { write }), lines };
}

export type Asked = { method: 'GET' | 'POST' | 'PATCH' | 'DELETE'; url: string; body?: object };
type Line = {
  msg: string;
  level: number;
  status?: number;
  organizationId?: string;
  rejected?: Record<string, number>;
};

/** Another instance, with its own pool and log. It shares the service's keys, so that only the pool under test fails. */
export async function ownInstance(service: Service, options: Partial<DatabaseOptions> = {}) {
  const { logger, lines } = ownLog<Line>();
  const db = ownPool(service, options);
  const metrics = createMetrics(db);
  const app = await ownApp(service, { db, logger, metrics, mcp: 'write' });
  const ask = async ({ key }: Agency, { method, url, body }: Asked) => {
    const headers = { 'x-api-key': key };
    const response = await app.inject({ method, url, headers, ...(body && { payload: body }) });
    const { statusCode: status } = response;
    return { status, retryAfter: response.headers['retry-after'], body: response.json() };
  };
  const send = (agency: Agency, method: Asked['method'], url: string, body?: object) =>
    ask(agency, { method, url, ...(body && { body }) });
  return { app, db, lines, metrics, ask, send };
}
