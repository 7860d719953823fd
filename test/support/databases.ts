import { randomBytes } from 'node:crypto';
import pg from 'pg';

/** Migrated, without rows. */
export const TEMPLATE = 'crm_template';
/** Without even the tables. */
export const EMPTY_TEMPLATE = 'crm_empty';

/** The same server's connection string for another database; with a socket there is no host, so no URL to parse. */
export const withDatabase = (url: string, database: string): string =>
  url.replace(/^([a-z]+:\/\/[^/]*\/)[^?]*/, `$1${database}`);

/** Runs statements on the server's own database. */
export async function administer<Result>(
  serverUrl: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export type TestDatabase = { url: string; drop: () => Promise<void> };

/** A database of its own, as the template is. */
export async function createTestDatabase(serverUrl: string, template = TEMPLATE): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(serverUrl, (client) => client.query(`create database ${name} template ${template}`));
  return {
    url: withDatabase(serverUrl, name),
    drop: () =>
      administer(serverUrl, async (client) => {
        await client.query(`drop database if exists ${name} with (force)`);
      }),
  };
}
