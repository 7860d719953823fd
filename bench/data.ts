import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { issueApiKey } from '../src/api-keys/repository.ts';
import { databaseUrl, migrateDatabase, openDatabase, parseJson, scopeTo } from '../src/db/index.ts';
import { LARGE, loadDataSet, MIDDLE, organizationId, SCALES } from '../test/support/dataset.ts';
import type { Options } from './options.ts';
import { type ActiveIds, ARCHIVED, type Kind, SIDES } from './workloads.ts';

/** The databases of the servers, and the keys and ids for requests. */

export async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return work(client).finally(() => client.end());
}

async function copy(host: string, from: string, name: string): Promise<string> {
  await withClient(databaseUrl(host, 'template1'), async (client) => {
    await client.query(`drop database if exists ${name} with (force)`);
    await client.query(`create database ${name} template ${from} strategy file_copy`);
  });
  return databaseUrl(host, name);
}

/** A limit that is never exceeded: its headers are part of the measurement. */
const REQUESTS_PER_MINUTE = 2_000_000_000;
const MALFORMED_KEY = 'tcrm_not-a-key';

/** The organizations whose customers are archived. */
const TO_ARCHIVE = SIDES.map(() => ({
  customers: ARCHIVED,
  products: 0,
  opportunities: 0,
  conversations: 0,
  quotes: 0,
}));

type Keys = (organization: number | undefined) => string;

/** A key for each organization that a workload uses. */
async function issueKeys(url: string, scale: Options['scale']): Promise<Keys> {
  const keys = new Map<number | undefined, string>([[undefined, MALFORMED_KEY]]);
  const db = openDatabase({ url, poolSize: 2, maxWaiting: 10, statementTimeout: 60_000 });
  const first = [MIDDLE, SCALES[scale].length + 1];
  for (const organization of [LARGE, ...first.flatMap((number) => SIDES.map((_, index) => number + index))]) {
    const scope = scopeTo(db, organizationId(organization));
    const key = await issueApiKey(scope, { name: 'bench', requestsPerMinute: REQUESTS_PER_MINUTE });
    keys.set(organization, parseJson(key).key);
  }
  await db.close();
  return (organization) => keys.get(organization) ?? '';
}

/**
 * The databases of the service and of the server by hand, with the same data and keys. Loads the data if they are not there.
 * @param report is called with each step before it starts
 */
export async function createDatabases(
  host: string,
  { scale }: Options,
  report: (step: string) => void,
): Promise<{ ours: string; byHand: string; key: Keys }> {
  const [name, nameByHand] = [`loaded_${scale}`, `loaded_${scale}_by_hand`];
  await withClient(databaseUrl(host, 'template1'), async (client) => {
    const isLoaded = await client.query('select from pg_database where datname = $1', [nameByHand]);
    if (isLoaded.rowCount !== 0) return;
    await client.query(`drop database if exists ${name} with (force)`);
    await client.query(`create database ${name}`);
    await migrateDatabase(databaseUrl(host, name));
    await withClient(databaseUrl(host, name), (loader) =>
      loadDataSet(loader, [...SCALES[scale], ...TO_ARCHIVE], (step) => report(`loading: ${step}`)),
    );
    report('loading: the tables of the server by hand');
    await withClient(await copy(host, name, 'by_hand'), async (loader) => {
      await loader.query("set maintenance_work_mem = '512MB'");
      await loader.query(await readFile(new URL('by-hand/schema.sql', import.meta.url), 'utf8'));
      await loader.query('vacuum analyze');
    });
    await client.query(`alter database by_hand rename to ${nameByHand}`);
  });
  report('copying the data');
  const ours = await copy(host, name, 'ours');
  const byHand = await copy(host, nameByHand, 'by_hand');
  const key = await issueKeys(ours, scale);
  const { rows } = await withClient(ours, (client) =>
    client.query('select json_agg(api_keys)::text as keys from api_keys'),
  );
  await withClient(byHand, async (client) => {
    const insert = 'insert into api_keys select * from json_populate_recordset(null::api_keys, $1)';
    await client.query(insert, [rows[0]?.keys]);
    await client.query('checkpoint');
  });
  return { ours, byHand, key };
}

const TABLES: Record<Kind, string> = {
  customer: 'customers',
  product: 'products',
  conversation: 'conversations',
  quote: 'quotes',
  opportunity: 'opportunities',
};

const LONG_TRANSCRIPT = `continued_by is null and (
  select sum(message_count) from conversations thread
  where thread.organization_id = record.organization_id and thread.chain_id = record.chain_id) >= 50`;

export const activeIdsOf =
  (url: string): ActiveIds =>
  (kind, organization, count = 500) =>
    withClient(url, async (client) => {
      const { rows } = await client.query<{ id: string }>(
        `select id from ${TABLES[kind]} record where organization_id = $1
          and ${kind === 'conversation' ? LONG_TRANSCRIPT : 'archived_at is null'}
        order by md5(id::text) limit $2`,
        [organizationId(organization), count],
      );
      return rows.map(({ id }) => id);
    });
