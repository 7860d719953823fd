import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { openKeyCache } from './api-keys/cache.ts';
import { buildApp } from './app.ts';
import { type Config, readConfig } from './config.ts';
import { OperatorError } from './contract/errors.ts';
import { buildDashboardApp } from './dashboard-app.ts';
import { checkDatabase, migrateDatabase, openDatabase, startEmbeddedPostgres } from './db/index.ts';
import { checkDataDir } from './files/data-dir.ts';
import { openFiles } from './files/open.ts';
import { persistedSecret } from './files/secret.ts';
import { closeServer, listen } from './http/connections.ts';
import { watchClock } from './http/health.ts';
import { type Limiter, memoryLimiter, redisLimiter } from './http/limiter.ts';
import { countInLog, createLogger, flushLog } from './http/logging.ts';
import { createMetrics } from './http/metrics.ts';
import { startJobs } from './jobs/schedule.ts';

/** The service starts, waits for a signal, drains, and closes what it has opened. */

/** Closes what was opened, the latest first. */
const closers: (() => Promise<unknown>)[] = [];
const onClose = (close: () => Promise<unknown>) => closers.unshift(close);
/** Aborted when the service begins to drain. */
const draining = new AbortController();
/** Also called when the process ends at once. */
let stopPostgres = async (): Promise<void> => undefined;
/** Rejects if the embedded PostgreSQL ends by itself. */
const postgresLost = Promise.withResolvers<never>();

async function startPostgres({ DATA_DIR }: Config): Promise<string> {
  const directory = join(DATA_DIR, 'postgres');
  const starting = startEmbeddedPostgres(directory);
  let isStopping = false;
  // Set before PostgreSQL runs, so that a signal during its start also stops it.
  stopPostgres = async () => {
    isStopping = true;
    const started = await starting.catch(() => undefined);
    await started?.stop();
  };
  onClose(stopPostgres);
  const { url, ended } = await starting;
  const log = join(directory, 'server.log');
  const lost = `The embedded PostgreSQL ended unexpectedly, and the service ends with it. See ${log}.`;
  // The supervisor of the service then restarts both.
  ended.then(() => isStopping || postgresLost.reject(new OperatorError(lost)));
  return url;
}

async function start(config: Config): Promise<void> {
  const logger = createLogger(config.LOG_LEVEL);
  onClose(async () => flushLog(logger));
  if (!config.DATABASE_URL) await checkDataDir(config.DATA_DIR);
  else if (config.FILE_STORAGE === 'disk')
    await checkDataDir(config.DATA_DIR).catch(({ message }: Error) =>
      logger.error(`Uploads fail: ${message}`),
    );
  const isEmbedded = config.DATABASE_URL === undefined;
  const url = config.DATABASE_URL ?? (await startPostgres(config));
  const directUrl = config.DATABASE_DIRECT_URL ?? url;
  await migrateDatabase(directUrl, config.DATABASE_DIRECT_URL && 'DATABASE_DIRECT_URL');

  const db = openDatabase({
    url,
    poolSize: config.DATABASE_POOL_SIZE,
    statementTimeout: config.DATABASE_TIMEOUT_MS,
    onConnectionError: (err) => logger.warn({ err }, 'a database connection broke'),
  });
  onClose(db.close);
  const keys = openKeyCache({ db, logger });
  const files = await openFiles(config, config.PUBLIC_URL ?? `http://localhost:${config.PORT}`);
  onClose(files.close);
  const { storage, links, serve } = files;
  // Not for a database that may be in production.
  const demoKey = isEmbedded
    ? await (await import('../demo/load.ts')).loadDemo({ db, storage, dataDir: config.DATA_DIR })
    : undefined;
  const metrics = createMetrics(db, config.DATA_DIR);
  const jobs = startJobs({ db, url: directUrl, storage, logger, metrics });
  onClose(jobs.stop);

  // An embedded database means that there is no proxy.
  const drainMs = isEmbedded ? 0 : DRAIN_MS;
  // For a connection, and for the statement.
  const databaseMs = 2 * config.DATABASE_TIMEOUT_MS;
  const shared = { db, links, logger, trustProxy: config.TRUST_PROXY, drainMs, databaseMs };
  const app = await buildApp({
    ...shared,
    keys,
    rateLimit: {
      limiter: await limiterOf(config, logger),
      requestsPerMinute: config.RATE_LIMIT_PER_MINUTE,
    },
    ...(serve && { files: serve }),
    metrics,
    mcp: config.MCP,
    publicUrl: config.PUBLIC_URL,
  });
  // Closed together, so that neither waits for the other's clients.
  const servers: FastifyInstance[] = [app];
  onClose(() => Promise.all(servers.map(closeServer)));
  isServing = true;
  const api = await listenAt(app, '', config.HOST, config.PORT);

  const generatedToken =
    isEmbedded && !config.DASHBOARD_TOKEN
      ? await persistedSecret(join(config.DATA_DIR, 'dashboard-token'))
      : undefined;
  const token = config.DASHBOARD_TOKEN ?? generatedToken;
  const compareClocks = watchClock(logger, metrics.clockCompared);
  const dashboardApp = await buildDashboardApp({
    ...shared,
    token,
    storage,
    health: { ready: () => checkDatabase(url).then(compareClocks), metrics, draining: draining.signal },
  });
  servers.push(dashboardApp);
  const dashboard = await listenAt(dashboardApp, 'DASHBOARD_', config.DASHBOARD_HOST, config.DASHBOARD_PORT);
  process.stdout.write(`
The travel agency CRM API has started.

  API        ${api}/v1
  Guide      ${api}/docs/guide
  Reference  ${api}/docs
  ${demoKey ? `Demo key   ${demoKey}` : 'Keys       issued by the dashboard API: see docs/operating.md'}
  Dashboard  ${token ? `${dashboard}/dashboard/v1` : 'closed: DASHBOARD_TOKEN is not set'}
${generatedToken ? `  Its token  ${generatedToken}\n` : ''}
Try it:

  curl -s '${api}/v1/catalog/products?limit=1' -H 'Authorization: Bearer ${demoKey ?? '<key>'}'

`);
}

async function limiterOf({ REDIS_URL: url }: Config, logger: FastifyBaseLogger): Promise<Limiter> {
  if (!url) return memoryLimiter();
  const failures = countInLog(logger, 'the rate limit store failed; requests were counted in memory');
  const { limiter, close } = await redisLimiter(url, ({ message: reason }) => failures.count({ reason }));
  onClose(close);
  return limiter;
}

/** @param prefix of the variables that name the address */
const listenAt = (app: FastifyInstance, prefix: string, host: string, port: number): Promise<string> =>
  listen(app, { host, port }).catch(({ code }: NodeJS.ErrnoException) => {
    throw new OperatorError(
      code === 'EADDRINUSE'
        ? `Port ${port} on ${host} is in use. Set ${prefix}PORT to another one.`
        : `Cannot listen on ${prefix}HOST ${host}, ${prefix}PORT ${port} (${code}).`,
    );
  });

/** npm and the terminal can both forward one Ctrl-C: two signals within this time count as one. */
const SAME_SIGNAL_MS = 500;

const stopSignal = Promise.withResolvers<NodeJS.Signals>();
let isServing = false;
let signalledAt: number | undefined;
for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
  process.on(name, () => {
    signalledAt ??= performance.now();
    // A start can wait for the migration of another instance.
    if (!isServing) endAtOnce(0);
    else if (performance.now() - signalledAt > SAME_SIGNAL_MS) endAtOnce(1);
    stopSignal.resolve(name);
  });

/** For load balancers that check `/readyz` every second; then for proxies that notice only that no connection is accepted. */
const DRAIN_MS = 2_000;

/** Serves on while load balancers move to other instances. On Ctrl-C it does not wait. */
async function drain(config: Config, signal: NodeJS.Signals): Promise<void> {
  draining.abort();
  if (signal === 'SIGTERM') await pause(config.SHUTDOWN_DRAIN_MS ?? (config.DATABASE_URL ? DRAIN_MS : 0));
}

const CLOSE_LIMIT_MS = 30_000;

/** Completes running requests. */
async function close(code: number): Promise<void> {
  setTimeout(endAtOnce, CLOSE_LIMIT_MS, 1).unref();
  for (const each of closers)
    await each().catch((error: Error) => process.stderr.write(`While stopping: ${error.message}\n`));
  process.exit(code);
}

async function endAtOnce(code: number): Promise<void> {
  await stopPostgres().catch(() => undefined);
  process.exit(code);
}

try {
  const config = readConfig();
  const served = start(config).then(async () => drain(config, await stopSignal.promise));
  await Promise.race([served, postgresLost.promise]);
  await close(0);
} catch (error) {
  // A signal during the start stops the embedded PostgreSQL, so that the start fails.
  if (!isServing && signalledAt !== undefined) await endAtOnce(0);
  const { message } = error as Error;
  process.stderr.write(
    error instanceof OperatorError ? `${message}\n` : `The service cannot start: ${message}\n`,
  );
  await close(1);
}
