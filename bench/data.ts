import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { issueApiKey } from '../src/api-keys/repository.ts';
import { databaseUrl, migrateDatabase, openDatabase, parseJson, scopeTo } from '../src/db/index.ts';
import { type DataSet, loadDataSet, organizationId } from '../test/support/dataset.ts';

/** The numbers of the organizations: the large one, then the small ones, then those of middle size. */
export const LARGE = 1;
const SMALL = 2;
const SMALL_ORGANIZATIONS = 5;
const MIDDLE_ORGANIZATIONS = 10;
export const MIDDLE = SMALL + SMALL_ORGANIZATIONS;

const ofCustomers = (customers: number): DataSet[number] => ({
  customers,
  products: customers / 5,
  opportunities: customers / 4,
  conversations: customers / 4,
  quotes: customers / 5,
});

export const SCALES: Record<'small' | 'full', DataSet> = {
  small: [
    { customers: 105_000, products: 10_000, opportunities: 20_000, conversations: 8_000, quotes: 12_000 },
    ...Array.from({ length: SMALL_ORGANIZATIONS }, () => ofCustomers(1_000)),
    ...Array.from({ length: MIDDLE_ORGANIZATIONS }, () => ofCustomers(2_000)),
  ],
  full: [
    {
      customers: 1_000_000,
      products: 100_000,
      opportunities: 200_000,
      conversations: 200_000,
      quotes: 120_000,
    },
    ...Array.from({ length: SMALL_ORGANIZATIONS }, () => ofCustomers(1_000)),
    ...Array.from({ length: MIDDLE_ORGANIZATIONS }, () => ofCustomers(10_000)),
  ],
};

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
