import { statfs } from 'node:fs/promises';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Database } from '../db/index.ts';

/** One series for all unknown paths, because clients can send any path with any method. */
const UNKNOWN = { method: 'any', route: 'unknown' };

export type Metrics = ReturnType<typeof createMetrics>;

/** The metrics of this process, for Prometheus. No label contains an organization, a key or a URL. */
export function createMetrics(db: Database, dataDir = '.') {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const counter = <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = (name: string, help: string) =>
    new Histogram({
      name,
      help,
      labelNames: ['method', 'route'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    });
  const requests = counter('http_requests_total', 'Responses.', 'method', 'route', 'status');
  const durations = histogram('http_request_duration_seconds', 'From a request to the end of its response.');
  const databaseDurations = histogram('http_request_database_seconds', 'The time of that in PostgreSQL.');
  const timeouts = counter('database_timeouts_total', 'Requests that PostgreSQL served too slowly.');
  const rateLimited = counter('rate_limit_rejections_total', 'Requests beyond the limit of a key.');
  const overload = counter('requests_rejected_total', 'Requests rejected for overload.', 'reason');
  const removed = counter('jobs_removed_total', 'What the jobs removed.', 'kind');
  const failedJobs = counter('failed_jobs_total', 'Runs of a job that failed; the log says why.');

  const read = (name: string, help: string, value: () => number | Promise<number>) =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set(await value());
      },
    });
  read('database_connections_in_use', 'Pool connections in use.', () => db.stats().total - db.stats().idle);
  read('database_connections_idle', 'Idle pool connections.', () => db.stats().idle);
  read('database_requests_waiting', 'Reads and writes that wait for a connection.', () => db.stats().waiting);

  read('data_dir_free_bytes', 'Free bytes on the disk of DATA_DIR.', () =>
    statfs(dataDir).then(
      ({ bavail, bsize }) => bavail * bsize,
      () => Number.NaN,
    ),
  );

  const clock = new Gauge({
    name: 'database_clock_difference_seconds',
    help: "How far the database's clock was ahead of this machine's at the last check of readiness.",
    registers,
  });

  return {
    text: () => registry.metrics(),
    contentType: registry.contentType,
    countRequest(
      { method, routeOptions, databaseMilliseconds, rejected, timedOut }: FastifyRequest,
      reply: FastifyReply,
    ): void {
      const { url: route } = routeOptions;
      const known = route === undefined ? UNKNOWN : { method, route };
      requests.inc({ ...known, status: reply.statusCode });
      durations.observe(known, reply.elapsedTime / 1_000);
      if (databaseMilliseconds > 0) databaseDurations.observe(known, databaseMilliseconds / 1_000);
      if (timedOut) timeouts.inc();
      if (reply.statusCode === 429) rateLimited.inc();
      if (rejected) overload.inc({ reason: rejected });
    },
    clockCompared: (difference: number): void => clock.set(difference),
    jobFailed: () => failedJobs.inc(),
    jobDone(counts: Record<string, number>): void {
      for (const [kind, count] of Object.entries(counts)) removed.inc({ kind }, count);
    },
  };
}
