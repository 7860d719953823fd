import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { distributeDatabase, migrateDatabase, startEmbeddedPostgres } from '../../src/db/index.ts';
import { EMPTY_TEMPLATE, formCluster, runSql, serviceRole, TEMPLATE, withDatabase } from './databases.ts';

/** A file system in memory. To copy a database of 700 files took 260 ms on a disk, and 17 ms here. */
const MEMORY = '/dev/shm';
/** Bytes. A run uses less than a quarter of it; a container may have only 64 MiB. */
const NEEDED = 2 * 2 ** 30;

async function hasSpace(path: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(path).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize >= NEEDED;
}

/**
 * Starts the server of a project's test run, and creates the migrated template that every test file clones.
 * TEST_POSTGRES chooses the server: `container`, `pooler` or `citus`; without it, the embedded one.
 * @returns the function that ends the server
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // For PostgreSQL's data, and the temporary folders of all tests and of the programs that they start.
  const folder = await mkdtemp(join((await hasSpace(MEMORY)) ? MEMORY : tmpdir(), 'crm-tests-'));
  // Some tests run programs as other users in it.
  await chmod(folder, 0o711);
  process.env.TMPDIR = folder;
  // Tests start the same programs many times: Node compiles them once.
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled');
  const { url, workers = [], poolerUrl, stop } = await startServer();
  // The encoding that the service needs, whatever the server's default is.
  const utf8 = `encoding 'UTF8' locale 'C.UTF-8' template template0`;
  for (const node of [url, ...workers])
    for (const template of [EMPTY_TEMPLATE, TEMPLATE]) {
      // A server that runs already may have templates of an earlier run.
      await runSql(node, `drop database if exists ${template} with (force)`);
      await runSql(node, `create database ${template} ${utf8}`);
    }
  const roles = await runSql(url, `select from pg_roles where rolname = 'crm_service'`);
  if (roles.length === 0) await runSql(url, serviceRole.role);
  const template = withDatabase(url, TEMPLATE);
  if (workers.length > 0) await formCluster([url, ...workers].map((node) => withDatabase(node, TEMPLATE)));
  await runSql(template, serviceRole.rights);
  await migrateDatabase(template);
  if (workers.length > 0) await distributeDatabase(template);
  project.provide('workerUrls', workers);
  project.provide('serverUrl', url);
  project.provide('poolerUrl', poolerUrl);
  return async () => {
    await stop();
    // Programs of tests may still write into the compile cache.
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  };
}

type Server = {
  url: string;
  /** The same server through a pooler in transaction mode. */
  poolerUrl?: string;
  /** The workers of a Citus cluster. */
  workers?: string[];
  stop: () => Promise<unknown>;
};

/** Tests need neither durability nor autovacuum in hundreds of databases, and both cost time. */
const SETTINGS = {
  ...{ fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
  ...{ autovacuum_naptime: '1min', max_connections: '300' },
};

function startServer(): Promise<Server> {
  if (process.env.TEST_POSTGRES === 'pooler') return useRunning();
  if (process.env.TEST_POSTGRES === 'citus') return useCluster();
  if (process.env.TEST_POSTGRES === 'container') return startContainer();
  return startEmbeddedPostgres(join(tmpdir(), 'postgres'), SETTINGS);
}

async function useRunning(): Promise<Server> {
  const { TEST_POSTGRES_URL: url, TEST_POOLER_URL: poolerUrl } = process.env;
  if (!url || !poolerUrl)
    throw new Error(
      'TEST_POSTGRES=pooler needs TEST_POOLER_URL, a pooler for any database of a PostgreSQL (test/support/pgbouncer.ini), and TEST_POSTGRES_URL, the same PostgreSQL as a superuser and without the pooler.',
    );
  return { url, poolerUrl, stop: async () => undefined };
}

async function useCluster(): Promise<Server> {
  const url = process.env.TEST_CITUS_URL;
  const nodes = url
    ? await runSql<{ host: string; port: number }>(
        url,
        'select nodename as host, nodeport as port from pg_dist_node where groupid <> 0 order by groupid',
      ).catch(() => undefined)
    : undefined;
  if (!url || !nodes || nodes.length < 2)
    throw new Error(
      'TEST_POSTGRES=citus needs TEST_CITUS_URL: a database on the coordinator of a Citus cluster with two workers at least, as a superuser who needs no password among the nodes.',
    );
  const workers = nodes.map(({ host, port }) => url.replace(/@[^/]*\//, `@${host}:${port}/`));
  return { url, workers, stop: async () => undefined };
}

/** Loaded on demand, because loading the library takes longer than PostgreSQL's start. */
async function startContainer(): Promise<Server> {
  const { GenericContainer, getContainerRuntimeClient, Wait } = await import('testcontainers');
  await getContainerRuntimeClient().catch(() => {
    throw new Error('TEST_POSTGRES=container needs a container runtime such as Docker, and none was found.');
  });
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // While the image initialises itself, its server does not listen on the port; later it listens before it answers.
  const container = await new GenericContainer(process.env.TEST_POSTGRES_IMAGE ?? 'postgres:18')
    .withEnvironment({ POSTGRES_USER: 'crm', POSTGRES_PASSWORD: 'crm', POSTGRES_DB: 'crm' })
    .withExposedPorts(5432)
    .withCommand(['postgres', ...settings])
    .withWaitStrategy(Wait.forSuccessfulCommand('pg_isready --host=127.0.0.1 --username=crm'))
    .start();
  const address = `${container.getHost()}:${container.getMappedPort(5432)}`;
  return { url: `postgres://crm:crm@${address}/crm`, stop: () => container.stop() };
}

declare module 'vitest' {
  export interface ProvidedContext {
    serverUrl: string;
    poolerUrl: string | undefined;
    workerUrls: string[];
  }
}
