import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../src/db/embedded.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { administer, EMPTY_TEMPLATE, serviceRole, TEMPLATE, withDatabase } from './databases.ts';

/**
 * The server of a test run: embedded, with TEST_POSTGRES=container one in a container, with TEST_POSTGRES=pooler one that
 * runs already. It holds one migrated template; every test file clones a database of its own from it.
 */
let server: Server | undefined;

export async function setup(project: TestProject): Promise<void> {
  server = await startServer();
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  // In the encoding that the service needs, whatever the server was initialised with.
  const utf8 = `encoding 'UTF8' locale 'C.UTF-8' template template0`;
  for (const template of [EMPTY_TEMPLATE, TEMPLATE]) {
    // One that runs already may have been used before.
    await admin.query(`drop database if exists ${template} with (force)`);
    await admin.query(`create database ${template} ${utf8}`);
  }
  const { rowCount: hasRole } = await admin.query(`select from pg_roles where rolname = 'crm_service'`);
  if (!hasRole) await admin.query(serviceRole.role);
  await admin.end();
  const template = withDatabase(server.url, TEMPLATE);
  await administer(template, (client) => client.query(serviceRole.rights));
  await migrateDatabase(template);
  project.provide('serverUrl', server.url);
  project.provide('poolerUrl', server.poolerUrl);
}

export const teardown = (): Promise<unknown> | undefined => server?.stop();

type Server = {
  url: string;
  /** The same server, for all that the service does in transactions. */
  poolerUrl?: string;
  stop: () => Promise<unknown>;
};

/** Durability costs time and protects nothing here. */
const SETTINGS = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' };

function startServer(): Promise<Server> {
  if (process.env.TEST_POSTGRES === 'pooler') return useRunning();
  return process.env.TEST_POSTGRES === 'container' ? startContainer() : startEmbedded();
}

async function useRunning(): Promise<Server> {
  const { TEST_POSTGRES_URL: url, TEST_POOLER_URL: poolerUrl } = process.env;
  if (!url || !poolerUrl)
    throw new Error(
      'npm run test:pooler needs TEST_POOLER_URL, a pooler that leads to any database of a PostgreSQL (test/support/pgbouncer.ini), and TEST_POSTGRES_URL, the same PostgreSQL as a superuser and without the pooler.',
    );
  return { url, poolerUrl, stop: async () => undefined };
}

async function startEmbedded(): Promise<Server> {
  const directory = await mkdtemp(join(tmpdir(), 'crm-test-'));
  const embedded = await startEmbeddedPostgres(join(directory, 'postgres'), SETTINGS);
  return {
    url: embedded.url,
    stop: async () => {
      await embedded.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

const LOGIN = { POSTGRES_USER: 'crm', POSTGRES_PASSWORD: 'crm', POSTGRES_DB: 'crm' };

async function startContainer(): Promise<Server> {
  const { GenericContainer } = await import('testcontainers');
  const command = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // The image's own initialisation does not listen on the port: once it is open, the server is the final one.
  const container = await new GenericContainer(process.env.TEST_POSTGRES_IMAGE ?? 'postgres:18')
    .withEnvironment(LOGIN)
    .withExposedPorts(5432)
    .withCommand(['postgres', ...command])
    .start();
  const address = `${container.getHost()}:${container.getMappedPort(5432)}`;
  return { url: `postgres://crm:crm@${address}/crm`, stop: () => container.stop() };
}

declare module 'vitest' {
  export interface ProvidedContext {
    serverUrl: string;
    poolerUrl: string | undefined;
  }
}
