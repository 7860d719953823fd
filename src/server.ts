import { join } from 'node:path';
import { buildApp } from './app.ts';
import { type Config, ConfigError, readConfig } from './config.ts';
import { openDatabase } from './db/client.ts';
import { startEmbeddedPostgres } from './db/embedded.ts';
import { migrateDatabase } from './db/migrate.ts';
import { loadDemo } from './demo/load.ts';
import { ownLinks } from './files/links.ts';
import { keptSecret } from './files/secret.ts';
import { diskStorage } from './files/storage.ts';
import { memoryLimiter, sharedLimiter } from './http/limiter.ts';
import { createLogger } from './http/logging.ts';
import { randomBase62 } from './keys/api-key.ts';
import { openKeyDirectory } from './keys/directory.ts';

/** The process: reads the environment, opens everything, listens, and closes in the opposite order. */

type Closer = () => Promise<unknown>;

async function start(config: Config, closers: Closer[]): Promise<void> {
  const logger = createLogger(config.LOG_LEVEL);
  const closing = (close: Closer) => closers.unshift(close);
  const publicUrl = config.PUBLIC_URL ?? `http://localhost:${config.PORT}`;

  const embedded = config.DATABASE_URL
    ? undefined
    : await startEmbeddedPostgres(join(config.DATA_DIR, 'postgres'));
  if (embedded) closing(embedded.stop);
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
  const keys = openKeyDirectory({ db, url: directUrl, logger });
  closing(keys.close);

  const filesRoot = join(config.DATA_DIR, 'files');
  const secrets = {
    current:
      config.FILE_SIGNING_SECRET ??
      (await keptSecret(join(config.DATA_DIR, 'file-signing-secret'), () => randomBase62(32))),
    previous: config.FILE_SIGNING_SECRET_PREVIOUS,
  };
  const demoKey = embedded
    ? await loadDemo({ db, storage: diskStorage(filesRoot), dataDir: config.DATA_DIR })
    : undefined;

  const app = await buildApp({
    db,
    keys,
    rateLimit: {
      limiter: limiterOf(config, directUrl, onConnectionError, closing),
      requestsPerMinute: config.RATE_LIMIT_PER_MINUTE,
    },
    links: ownLinks({ secrets, publicUrl, ttlSeconds: config.SIGNED_URL_TTL_SECONDS }),
    files: { root: filesRoot, secrets },
    logger,
    trustProxy: config.TRUST_PROXY,
  });
  closing(() => app.close());
  await app.listen({ host: config.HOST, port: config.PORT });
  greet(app.server.address(), demoKey);
}

function limiterOf(
  config: Config,
  url: string,
  onError: (error: Error) => void,
  closing: (close: Closer) => void,
) {
  if (config.RATE_LIMIT_STORE === 'memory') return memoryLimiter();
  const shared = sharedLimiter(url, onError);
  closing(shared.close);
  return shared.limiter;
}

function greet(address: unknown, demoKey: string | undefined): void {
  const port = (address as { port: number }).port;
  process.stdout.write(`listening ${port} ${demoKey}\n`);
}

const closers: Closer[] = [];
async function shutDown(code: number): Promise<never> {
  for (const close of closers) await close().catch(() => undefined);
  process.exit(code);
}
try {
  await start(readConfig(), closers);
  process.once('SIGTERM', () => shutDown(0));
  process.once('SIGINT', () => shutDown(0));
} catch (error) {
  process.stderr.write(
    `${error instanceof ConfigError ? `Configuration: ${error.message}` : String(error)}\n`,
  );
  process.stderr.write(`${(error as Error).stack}\n`);
  await shutDown(1);
}
