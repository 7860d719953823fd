import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadDemo } from '../demo/load.ts';
import { hashKey } from '../src/api-keys/api-key.ts';
import { issueApiKey } from '../src/api-keys/repository.ts';
import { parseJson, scopeTo } from '../src/db/index.ts';
import type { FileStorage } from '../src/files/storage.ts';
import { PUBLIC } from './support/contract.ts';
import { findDrift } from './support/drift.ts';
import { PROGRAM } from './support/process.ts';
import { type Client, type Service, startService } from './support/service.ts';

const TABLES = [
  'organizations',
  'team_members',
  'pipeline_stages',
  'products',
  'customers',
  'customer_contact_keys',
  'opportunities',
  'conversations',
  'whatsapp_messages',
  'channel_messages',
  'quotes',
  'quote_attachments',
  'erasures',
  'idempotency_keys',
];

/** The number of rows of each table. */
async function counts({ query }: Service): Promise<Record<string, number>> {
  const each = TABLES.map((table) => `select '${table}' as name, count(*)::int from ${table}`);
  const rows = await query<{ name: string; count: number }>(each.join(' union all '));
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
}

/** Lists of /v1, with their numbers of records. */
const LISTS = {
  '/v1/catalog/products': 60,
  '/v1/customers': 400,
  '/v1/team': 8,
  '/v1/opportunities': 180,
  '/v1/quotes': 150,
};

let first: Service;
let second: Service;
let key: string;
let client: Client;

beforeAll(async () => {
  [first, second] = await Promise.all([startService(), startService()]);
  key = (await loadDemo(first)) ?? '';
  client = first.client(key);
});
afterAll(() => Promise.all([first?.close(), second?.close()]));

test('the demo has the records of the documented examples, and activity in the last week', async () => {
  for (const [path, { get }] of Object.entries(PUBLIC.paths)) {
    if (!get || !path.includes('{')) continue;
    const { example } = get.parameters?.find((parameter) => parameter.in === 'path') ?? {};
    expect((await client.get(path.replace(/\{\w+\}/, String(example)))).status, path).toBe(200);
  }
  const weekAgo = new Date(Date.now() - 7 * 86_400_000).toISOString();
  for (const list of ['conversations', 'opportunities', 'quotes']) {
    const { pagination } = (await client.get(`/v1/${list}?updatedSince=${weekAgo}`)).body;
    expect(pagination.total, list).toBeGreaterThan(1);
  }
});

describe('loading', () => {
  test('happens once: the next start changes nothing, and returns the key unless it was revoked', async () => {
    const before = await counts(first);
    const setRevoked = (value: string) =>
      first.query(`update api_keys set revoked_at = ${value} where hash = decode($1, 'hex')`, [hashKey(key)]);
    expect(await loadDemo(first)).toBe(key);
    await setRevoked('now()');
    expect(await loadDemo(first)).toBeUndefined();
    await setRevoked('null');
    expect(await counts(first)).toEqual(before);
  });

  test('that is interrupted leaves nothing, and the next one loads everything', async () => {
    let count = 0;
    const killing: FileStorage = {
      ...second.storage,
      put: async (name, content) => {
        count += 1;
        if (count === 60)
          await second.query(`select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and backend_xid is not null and pid <> pg_backend_pid()`);
        return second.storage.put(name, content);
      },
    };
    await expect(loadDemo({ ...second, storage: killing })).rejects.toThrow();
    expect(Object.values(await counts(second))).toEqual(TABLES.map(() => 0));
    const again = await loadDemo(second);
    expect(again).not.toBe(key);
    expect((await second.client(again ?? '').get('/v1/team')).body.pagination.total).toBe(8);
    expect(await counts(second)).toEqual(await counts(first));
  });
});

test('npm run demo creates another organization with the records of the demo, beside any others', async () => {
  const before = await counts(second);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', './src/runtime.js', 'src/cli/demo.ts'],
    { env: { DATABASE_URL: second.url, DATA_DIR: second.dataDir, ...PROGRAM } },
  );
  const id = /^Organization: (\S+)\n$/.exec(stdout)?.[1] ?? '';
  const issued = await issueApiKey(scopeTo(second.db, id), { name: 'Another' });
  const another = second.client(parseJson(issued).key);
  for (const [path, count] of Object.entries(LISTS))
    expect((await another.get(path)).body.pagination.total, path).toBe(count);
  expect(await counts(second)).toMatchObject({ organizations: Number(before.organizations) + 1 });
  expect(await findDrift(second, { id })).toEqual([]);
});
