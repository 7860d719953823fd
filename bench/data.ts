import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { issueApiKey } from '../src/api-keys/repository.ts';
import { databaseUrl, migrateDatabase, openDatabase, parseJson, scopeTo } from '../src/db/index.ts';
import { type DataSet, loadDataSet, organizationId } from '../test/support/dataset.ts';

async function connected<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return work(client).finally(() => client.end());
}

export const query = (url: string, text: string, values?: unknown[]) =>
  connected(url, async (client) => (await client.query(text, values)).rows);

/** Fills an empty database. Returns the key of each organization, from the number 1. */
export async function load(url: string, sizes: DataSet, requestsPerMinute: number): Promise<string[]> {
  await migrateDatabase(url);
  await connected(url, (client) => loadDataSet(client, sizes));
  const db = openDatabase({ url, poolSize: 2, maxWaiting: 10, statementTimeout: 60_000 });
  const keys = [''];
  for (const index of sizes.keys()) {
    const scope = scopeTo(db, organizationId(index + 1));
    keys.push(parseJson(await issueApiKey(scope, { name: 'bench', requestsPerMinute })).key);
  }
  await db.close();
  return keys;
}

export async function copyByHand(host: string, from: string): Promise<string> {
  await query(databaseUrl(host, 'template1'), `create database by_hand template ${from} strategy file_copy`);
  const url = databaseUrl(host, 'by_hand');
  await query(url, await readFile(new URL('by-hand/schema.sql', import.meta.url), 'utf8'));
  await query(url, 'vacuum analyze');
  await query(url, 'checkpoint');
  return url;
}
