import { onTestFinished } from 'vitest';
import type { AppOptions } from '../../src/app.ts';
import { type Database, type DatabaseOptions, openDatabase } from '../../src/db/index.ts';
import { createLogger } from '../../src/http/logging.ts';
import { appOf, type Service } from './service.ts';

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

/** A pool on the service's database whose connections have these settings: `datestyle=SQL`. */
export const poolWith = (service: Service, ...settings: string[]): Database => {
  const list = encodeURIComponent(settings.map((setting) => `-c ${setting}`).join(' '));
  return ownPool(service, {
    url: `${service.url}${service.url.includes('?') ? '&' : '?'}options=${list}`,
  });
};

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
