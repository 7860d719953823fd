import { mkdir, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { openKeyCache } from './api-keys/cache.ts';
import { buildApp } from './app.ts';
import { type Config, ConfigError, readConfig } from './config.ts';
import { randomBase62 } from './contract/base62.ts';
import { buildDashboardApp } from './dashboard-app.ts';
import {
  checkDatabase,
  type EmbeddedPostgres,
  isDatabaseError,
  MigrationError,
  migrateDatabase,
  openDatabase,
  sqlState,
  startEmbeddedPostgres,
} from './db/index.ts';
import { openFiles } from './files/open.ts';
import { persistedSecret } from './files/secret.ts';
import { listen, stopListening } from './http/connections.ts';
import { type Limiter, memoryLimiter, redisLimiter } from './http/limiter.ts';
import { createLogger, everySecond } from './http/logging.ts';
import { createMetrics } from './http/metrics.ts';
import { watchPressure } from './http/overload.ts';
import { startJobs } from './jobs/schedule.ts';
import { startWatchdog } from './watchdog.ts';

type Closer = () => Promise<unknown>;

/** Run in reverse order of registration. */
const closers: Closer[] = [];
const closing = (close: Closer) => closers.unshift(close);
/** Also called on a forced exit. */
let stopPostgres: Closer = async () => undefined;
/** Rejects if the embedded PostgreSQL ends by itself. */
const postgresLost = Promise.withResolvers<never>();
/** Aborted when the shutdown begins. */
const leaving = new AbortController();

function startPostgres({ DATA_DIR }: Config): Promise<EmbeddedPostgres> {
  const starting = startEmbeddedPostgres(join(DATA_DIR, 'postgres'));
  let stopping: Promise<void> | undefined;
  starting
    .then(({ ended }) => ended)
    .then(
      () => stopping ?? postgresLost.reject(new PostgresLost(DATA_DIR)),
      () => undefined,
    );
  // Set before PostgreSQL runs, so that a signal during its start also stops it.
  stopPostgres = () => {
    stopping ??= starting.then(
      ({ stop }) => stop(),
      () => undefined,
    );
    return stopping;
  };
  closing(stopPostgres);
  return starting;
}

class DataDirError extends Error {}

/** @throws DataDirError unless 1 MiB can be written in the folder */
async function checkDataDir({ DATA_DIR }: Config): Promise<void> {
  const probe = join(DATA_DIR, 'probe');
  try {
    await mkdir(DATA_DIR, { recursive: true });
    await writeFile(probe, Buffer.alloc(1_048_576), { flush: true });
  } catch (error) {
    const [reason] = (error as Error).message.split(',');
    throw new DataDirError(
      `DATA_DIR, ${resolve(DATA_DIR)}, cannot be written (${reason}). Free space on its disk, make it writable, or set DATA_DIR to another folder.`,
    );
  } finally {
    await rm(probe, { force: true }).catch(() => undefined);
  }
}

async function start(config: Config): Promise<void> {
  const logger = createLogger(config.LOG_LEVEL);
  if (!config.DATABASE_URL) await checkDataDir(config);
  else if (config.FILE_STORAGE === 'disk')
    await checkDataDir(config).catch(({ message }: Error) => logger.error(`Uploads fail: ${message}`));
  const publicUrl = config.PUBLIC_URL ?? `http://localhost:${config.PORT}`;

  const embedded = config.DATABASE_URL ? undefined : await startPostgres(config);
  const url = config.DATABASE_URL ?? embedded?.url ?? '';
  const directUrl = config.DATABASE_DIRECT_URL ?? url;
  await migrateDatabase(directUrl);

  const onConnectionError = (error: Error) => logger.warn({ err: error }, 'a database connection broke');
  const db = openDatabase({
    url,
    poolSize: config.DATABASE_POOL_SIZE,
    maxWaiting: config.DATABASE_QUEUE_SIZE,
    statementTimeout: config.DATABASE_TIMEOUT_MS,
    onConnectionError,
  });
  closing(db.close);
  const keys = openKeyCache({ db, logger });

  const files = await openFiles(config, publicUrl);
  closing(files.close);
  const { storage, links, serve } = files;
  // Not for a database that may be in production.
  const demoKey = embedded
    ? await (await import('../demo/load.ts')).loadDemo({ db, storage, dataDir: config.DATA_DIR })
    : undefined;
  const metrics = createMetrics({ db, keys });
  const jobs = startJobs({ db, url: directUrl, storage, logger, onDone: metrics.jobDone });
  closing(jobs.stop);

  const pressure = watchPressure();
  closing(pressure.stop);
  const app = await buildApp({
    db,
    keys,
    rateLimit: {
      limiter: await limiterOf(config, logger),
      requestsPerMinute: config.RATE_LIMIT_PER_MINUTE,
    },
    links,
    ...(serve && { files: serve }),
    logger,
    trustProxy: config.TRUST_PROXY,
    metrics,
    lingering: lingeringOf(config),
    pressure,
    mcp: config.MCP,
    publisher: { publicUrl: config.PUBLIC_URL, contact: config.SUPPORT_CONTACT },
  });
  // Closed together, so that neither waits for the other's clients.
  const servers: FastifyInstance[] = [app];
  closing(() => Promise.all(servers.map((server) => stopListening(server).then(() => server.close()))));
  await listen(app, { host: config.HOST, port: config.PORT });

  const generatedToken =
    embedded && !config.DASHBOARD_TOKEN
      ? await persistedSecret(join(config.DATA_DIR, 'dashboard-token'), () => randomBase62(32))
      : undefined;
  const dashboardToken = config.DASHBOARD_TOKEN ?? generatedToken;
  const dashboard = await buildDashboardApp({
    db,
    token: dashboardToken,
    storage,
    links,
    logger,
    trustProxy: config.TRUST_PROXY,
    health: { ready: () => checkDatabase(url), pressure, metrics },
    leaving: leaving.signal,
    lingering: lingeringOf(config),
    publisher: { contact: config.SUPPORT_CONTACT },
  });
  servers.push(dashboard);
  await listen(dashboard, { host: config.DASHBOARD_HOST, port: config.DASHBOARD_PORT });
  startWatchdog();
  greet(app, config, demoKey, [
    dashboardToken === undefined
      ? '  Dashboard  closed: DASHBOARD_TOKEN is not set'
      : `  Dashboard  ${addressOf(dashboard, config.DASHBOARD_HOST)}/dashboard/v1`,
    ...(generatedToken === undefined ? [] : [`  Its token  ${generatedToken}`]),
  ]);
}

async function limiterOf({ REDIS_URL: url }: Config, logger: FastifyBaseLogger): Promise<Limiter> {
  if (!url) return memoryLimiter();
  const failures = everySecond((failed) =>
    logger.warn({ failed }, 'the rate limit store failed; requests were counted in memory'),
  );
  const { limiter, close } = await redisLimiter(url, ({ message }) => failures.count(message));
  closing(close);
  return limiter;
}

function addressOf({ server }: FastifyInstance, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${['0.0.0.0', '::'].includes(host) ? 'localhost' : host}:${port}`;
}

function greet(
  app: FastifyInstance,
  config: Config,
  demoKey: string | undefined,
  dashboard: readonly string[],
): void {
  const { port } = app.server.address() as AddressInfo;
  const address = addressOf(app, config.HOST);
  const key = demoKey ?? '<key>';
  const lines = [
    '',
    `The travel agency CRM API listens on ${config.HOST}:${port}.`,
    '',
    `  API        ${address}/v1`,
    `  Guide      ${address}/docs/guide`,
    `  Reference  ${address}/docs`,
    demoKey === undefined
      ? '  Keys       npm run keys -- issue --organization NAME --name "my integration"'
      : `  Demo key   ${demoKey}`,
    ...dashboard,
    '',
    'Try it:',
    '',
    `  curl -s '${address}/v1/catalog/products?limit=1' -H 'Authorization: Bearer ${key}'`,
    '',
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** The supervisor of the service then restarts both. */
class PostgresLost extends Error {
  constructor(dataDir: string) {
    const log = join(dataDir, 'postgres', 'server.log');
    super(`The embedded PostgreSQL ended unexpectedly, and the service ends with it. See ${log}.`);
  }
}

function explain(
  error: Error & { code?: string; syscall?: string; port?: number; address?: string; path?: string },
): string {
  if ([ConfigError, MigrationError, PostgresLost, DataDirError].some((known) => error instanceof known))
    return error.message;
  if (error.syscall === 'listen') {
    return error.code === 'EADDRINUSE'
      ? `Port ${error.port} on ${error.address} is in use. Set PORT or DASHBOARD_PORT to another one.`
      : `Cannot listen on ${error.address}:${error.port} (${error.code}).`;
  }
  // The error of a file has a path, and can have a code of connections.
  if (error.path === undefined && (isDatabaseError(error) || sqlState(error) !== undefined)) {
    return `The database at DATABASE_URL cannot be used: ${error.message || error.code}.`;
  }
  return `The service cannot start: ${error.message}`;
}

const SHUTDOWN_LIMIT_MS = 30_000;

/** For load balancers that check `/readyz` every second. */
const DEFAULT_DRAIN_MS = 2_000;

/** For proxies without health checks, which notice only that no new connection is accepted. */
const LINGERING_MS = 2_000;

/** An embedded database means that there is no proxy. */
const lingeringOf = ({ DATABASE_URL }: Config): number => (DATABASE_URL ? LINGERING_MS : 0);

/** Waits only for the embedded PostgreSQL. */
async function endNow(): Promise<void> {
  await stopPostgres().catch(() => undefined);
  process.exit(1);
}

async function shutDown(code: number): Promise<void> {
  setTimeout(endNow, SHUTDOWN_LIMIT_MS).unref();
  for (const close of closers) {
    await close().catch((error: Error) => process.stderr.write(`While stopping: ${error.message}\n`));
  }
  process.exit(code);
}

/** Serves on while load balancers move to other instances. On Ctrl-C it does not wait. */
async function drain(config: Config, signal: NodeJS.Signals): Promise<void> {
  leaving.abort();
  const drainMs = config.SHUTDOWN_DRAIN_MS ?? (config.DATABASE_URL ? DEFAULT_DRAIN_MS : 0);
  if (signal === 'SIGTERM') await pause(drainMs);
}

/** npm and the terminal can both forward one Ctrl-C: two signals within this time count as one. */
const SAME_SIGNAL_MS = 500;

/** Resolves with the first signal. A later one ends the process at once. */
const stopRequested = new Promise<NodeJS.Signals>((done) => {
  let first: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    first ??= performance.now();
    if (performance.now() - first > SAME_SIGNAL_MS) endNow();
    else done(signal);
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('SIGHUP', onSignal);
});

try {
  const config = readConfig();
  const served = start(config).then(async () => drain(config, await stopRequested));
  await Promise.race([served, postgresLost.promise]);
  await shutDown(0);
} catch (error) {
  process.stderr.write(`${explain(error as Error)}\n`);
  await shutDown(1);
}
