import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client';
import type { FastifyInstance } from 'fastify';
import type { RejectionReason } from '../contract/errors.ts';
import type { Database } from '../db/pool/client.ts';
import type { Phase } from '../db/pool/errors.ts';

/** The metrics of this process, for Prometheus. No label contains an organization, a key or a URL. */
export type Metrics = {
  text: () => Promise<string>;
  contentType: string;
  countRequest: (response: {
    method: string;
    route: string | undefined;
    status: number;
    seconds: number;
    databaseSeconds: number;
    rejected: RejectionReason | undefined;
    timedOut: Phase | undefined;
  }) => void;
  jobDone: (counts: Record<string, number>) => void;
};

/** One series for all unknown paths, because clients can send any path with any method. */
const UNKNOWN = { method: 'any', route: 'unknown' };

type Sources = {
  db: Database;
  keys: { stats: () => { hits: number; misses: number } };
};

export function createMetrics({ db, keys }: Sources): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const requests = new Counter({
    name: 'http_requests_total',
    help: 'Responses, by route and status.',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const histogram = (name: string, help: string) =>
    new Histogram({
      name,
      help,
      labelNames: ['method', 'route'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    });
  const durations = histogram(
    'http_request_duration_seconds',
    'Time from a request to the end of its response, by route.',
  );
  const databaseDurations = histogram(
    'http_request_database_seconds',
    'The part of that time in which PostgreSQL worked for the request, by route.',
  );
  const timeouts = new Counter({
    name: 'database_timeouts_total',
    help: 'Requests whose database time ran out, by the phase in which it did.',
    labelNames: ['at'],
    registers,
  });
  const rejections = new Counter({
    name: 'rate_limit_rejections_total',
    help: 'Requests rejected because a key exceeded its limit.',
    registers,
  });
  const overload = new Counter({
    name: 'requests_rejected_total',
    help: 'Requests rejected for overload, or abandoned by their clients, by reason.',
    labelNames: ['reason'],
    registers,
  });
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  const removed: Record<string, Counter> = {
    products: counter('purged_products_total', 'Archived products that the purge job removed.'),
    variants: counter('purged_variants_total', 'Variants of purged products.'),
    organizations: counter('purged_organizations_total', 'Closed organizations that the purge job removed.'),
    records: counter('purged_organization_records_total', 'Rows of purged organizations, of all tables.'),
    purgedFiles: counter('purged_organization_files_total', 'Files of purged organizations.'),
    erasedFiles: counter('erased_files_total', 'Files of erased customers that the job removed.'),
    files: counter('swept_files_total', 'Files without an attachment that the sweep removed.'),
    keys: counter('swept_idempotency_keys_total', 'Expired idempotency keys that the sweep removed.'),
  };

  const read = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
  read('database_connections_in_use', 'Pool connections in use.', () => db.stats().total - db.stats().idle);
  read('database_connections_idle', 'Idle pool connections.', () => db.stats().idle);
  read('database_requests_waiting', 'Reads and writes that wait for a connection.', () => db.stats().waiting);

  const readTotal = (name: string, help: string, value: () => number) =>
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(value());
      },
    });
  readTotal('key_cache_hits_total', 'Keys found in memory.', () => keys.stats().hits);
  readTotal(
    'key_cache_misses_total',
    'Keys that were looked up in the database while a request waited.',
    () => keys.stats().misses,
  );

  return {
    text: () => registry.metrics(),
    contentType: registry.contentType,
    countRequest({ method, route, status, seconds, databaseSeconds, rejected, timedOut }) {
      const known = route === undefined ? UNKNOWN : { method, route };
      requests.inc({ ...known, status });
      durations.observe(known, seconds);
      if (databaseSeconds > 0) databaseDurations.observe(known, databaseSeconds);
      if (timedOut) timeouts.inc({ at: timedOut });
      if (status === 429) rejections.inc();
      if (rejected) overload.inc({ reason: rejected });
    },
    jobDone(counts) {
      for (const [name, count] of Object.entries(counts)) removed[name]?.inc(count);
    },
  };
}

export function observeRequests(app: FastifyInstance, { countRequest }: Pick<Metrics, 'countRequest'>): void {
  app.addHook('onResponse', (request, reply, done) => {
    countRequest({
      method: request.method,
      route: request.routeOptions.url,
      status: reply.statusCode,
      seconds: reply.elapsedTime / 1_000,
      databaseSeconds: request.databaseMilliseconds / 1_000,
      rejected: request.rejected,
      timedOut: request.timedOut,
    });
    done();
  });
}
