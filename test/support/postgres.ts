import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../src/db/embedded.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { TEMPLATE, withDatabase } from './databases.ts';

/**
 * The server of a test run: embedded with fsync off, or the one at TEST_DATABASE_URL. It holds one migrated template;
 * every test file clones a database of its own from it.
 */
let server: { url: string; stop: () => Promise<void> } | undefined;

export async function setup(project: TestProject): Promise<void> {
  server = await startServer();
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  await admin.query(`drop database if exists ${TEMPLATE} with (force)`);
  await admin.query(`create database ${TEMPLATE}`);
  await admin.end();
  await migrateDatabase(withDatabase(server.url, TEMPLATE));
  project.provide('serverUrl', server.url);
}

export const teardown = (): Promise<void> | undefined => server?.stop();

async function startServer(): Promise<{ url: string; stop: () => Promise<void> }> {
  const given = process.env.TEST_DATABASE_URL;
  if (given !== undefined) return { url: given, stop: async () => undefined };
  const directory = await mkdtemp(join(tmpdir(), 'crm-test-'));
  const server = await startEmbeddedPostgres(join(directory, 'postgres'), {
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_connections: '300',
  });
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

declare module 'vitest' {
  export interface ProvidedContext {
    serverUrl: string;
  }
}
