import { execFile } from 'node:child_process';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { fillOrganization } from '../demo/fill.ts';
import { loadDemo } from '../demo/load.ts';
import { hashKey } from '../src/api-keys/api-key.ts';
import { scopeTo } from '../src/db/index.ts';
import type { FileStorage } from '../src/files/storage.ts';
import { PUBLIC, SCHEMAS } from './support/contract.ts';
import { findDrift } from './support/drift.ts';
import { populate } from './support/operations.ts';
import { PROGRAM } from './support/process.ts';
import { type Client, type Service, startService } from './support/service.ts';

type Row = Record<string, unknown>;

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

async function readAll(client: Client, path: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (let total = 1; rows.length < total; ) {
    const separator = path.includes('?') ? '&' : '?';
    const { body } = await client.get(`${path}${separator}limit=100&offset=${rows.length}`);
    rows.push(...body.data);
    total = body.pagination.total;
  }
  return rows;
}

const distinct = (rows: readonly Row[], field: string): unknown[] =>
  [...new Set(rows.map((row) => row[field]))].sort();

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

test('an agent needs nine calls and 2,500 tokens for five questions of the owner, two calls for the sixth, and 300 tokens for each tool', async () => {
  const exchange = async (method: string, params: object) =>
    (await client.post('/mcp', { jsonrpc: '2.0', id: 1, method, params })).body.result;
  const { tools } = await exchange('tools/list', {});
  // A token is about four characters.
  expect(JSON.stringify(tools).length / 4 / tools.length).toBeLessThanOrEqual(300);
  let used = { calls: 0, characters: 0 };
  const call = async (name: string, args: object): Promise<Row[]> => {
    const { content, isError } = await exchange('tools/call', { name, arguments: args });
    expect(isError, content[0].text).toBe(false);
    const { length } = `${name} ${JSON.stringify(args)} ${content[0].text}`;
    used = { calls: used.calls + 1, characters: used.characters + length };
    return JSON.parse(content[0].text).data;
  };
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

  // Which hot leads has nobody touched for two weeks, and whose are they?
  const since = daysAgo(14);
  const fields = ['title', 'sellerName'];
  const hot = await call('listOpportunities', {
    temperature: 'hot',
    updatedBefore: since,
    limit: 100,
    fields,
  });
  const whole = await readAll(client, `/v1/opportunities?temperature=hot&updatedBefore=${since}`);
  expect(hot).toEqual(whole.map(({ title, sellerName }) => ({ title, sellerName })));
  expect(hot.length).toBeGreaterThan(10);
  // Which quotes were opened this week, by whom, and how far are they?
  const opened = await call('listQuotes', {
    status: 'published',
    updatedSince: daysAgo(7),
    limit: 100,
    fields: ['title', 'customerName', 'openCount', 'lastOpenedAt', 'opportunityId'],
  });
  const ids = opened.map(({ opportunityId }) => opportunityId).join();
  expect(await call('listOpportunities', { ids, fields: ['id', 'salesStage'] })).toHaveLength(opened.length);
  // How many customers are new this month, and how many were in the month before?
  for (const days of [30, 60])
    await call('listCustomers', { createdSince: daysAgo(days), limit: 1, fields: ['id'] });
  // What did the customer with this number last write to us?
  const contact = '+57 314 630 0883';
  const [customer] = await call('listCustomers', { contact, fields: ['id', 'displayName'] });
  const [thread] = await call('listConversations', {
    customerId: customer?.id,
    limit: 1,
    fields: ['id', 'channel', 'lastMessageAt'],
  });
  const messages = await call('getConversationTranscript', {
    conversationId: thread?.id,
    limit: 5,
    fields: ['content', 'direction', 'createdAt'],
  });
  expect(messages).toHaveLength(5);
  // Which trips to Patagonia do we sell, and from what price?
  const priced = ['title', 'fromPrice', 'currency', 'status'];
  expect((await call('listCatalogProducts', { query: 'patagonia', fields: priced })).length).toBeGreaterThan(
    1,
  );
  expect(used.calls).toBe(9);
  expect(used.characters / 4).toBeLessThanOrEqual(2_500);

  // Which quotes were opened, and their customers have not answered our last message?
  used = { calls: 0, characters: 0 };
  const silent = await call('listConversations', {
    activityState: 'waiting_for_customer',
    limit: 100,
    fields: ['customerId'],
  });
  const unanswered = await call('listQuotes', {
    opened: true,
    status: 'published',
    customerId: silent.flatMap((row) => row.customerId ?? []).join(),
    limit: 100,
    fields: ['title', 'customerName'],
  });
  expect(unanswered.length).toBeGreaterThan(5);
  expect(used.calls).toBe(2);
  expect(used.characters / 4).toBeLessThanOrEqual(1_000);
});

describe('the agency', () => {
  /** Lists of /v1, with their schemas and numbers of records. */
  const LISTS = {
    '/v1/catalog/products': ['CatalogProduct', 60],
    '/v1/customers': ['Customer', 400],
    '/v1/team': ['TeamMember', 8],
    '/v1/opportunities': ['Opportunity', 180],
    '/v1/quotes': ['Quote', 150],
  } as const;

  test.each(Object.entries(LISTS))(
    '%s has every value of every enum and boolean',
    async (path, [name, count]) => {
      const rows = await readAll(client, path);
      expect(rows).toHaveLength(count);
      for (const [field, schema] of Object.entries(SCHEMAS[name]?.properties ?? {})) {
        const isBoolean = [schema.type].flat().includes('boolean');
        const values = isBoolean ? [false, true] : schema.enum;
        if (Array.isArray(values)) expect(distinct(rows, field), field).toEqual([...values].sort());
      }
    },
  );

  test('has the records whose ids are examples in the document', async () => {
    const withIds = Object.entries(PUBLIC.paths).filter(([path, { get }]) => get && path.includes('{'));
    expect(withIds.length).toBeGreaterThan(4);
    for (const [path, { get }] of withIds) {
      const { example } = get?.parameters?.find((parameter) => parameter.in === 'path') ?? {};
      expect((await client.get(path.replace(/\{\w+\}/, String(example)))).status, path).toBe(200);
    }
  });

  test('has activity in the last week, and departures in the future', async () => {
    const weekAgo = new Date(Date.now() - 7 * 86_400_000).toISOString();
    const fields: [path: string, field: string, since: string][] = [
      ['/v1/conversations', 'lastMessageAt', weekAgo],
      ['/v1/opportunities', 'lastActivityAt', weekAgo],
      ['/v1/quotes', 'publishedAt', weekAgo],
      ['/v1/quotes', 'lastOpenedAt', weekAgo],
      ['/v1/opportunities', 'checkInDate', new Date().toISOString()],
      ['/v1/catalog/products', 'validUntil', new Date().toISOString()],
    ];
    for (const [path, field, since] of fields) {
      const rows = (await readAll(client, path)).filter((row) => row[field] && String(row[field]) > since);
      expect(rows.length, field).toBeGreaterThan(1);
    }
  });
});

describe('loading', () => {
  test('happens once: the next start changes nothing and returns the key, whose file only its owner can read', async () => {
    const before = await counts(first);
    expect(await loadDemo(first)).toBe(key);
    expect(await counts(first)).toEqual(before);
    const path = join(first.dataDir, 'demo-key');
    expect(await readFile(path, 'utf8')).toBe(`${key}\n`);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
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
    await writeFile(join(second.dataDir, 'demo-key'), 'tcrm_of_an_earlier_database\n', { mode: 0o644 });
    const again = await loadDemo(second);
    expect(again).not.toBe(key);
    expect((await stat(join(second.dataDir, 'demo-key'))).mode & 0o777).toBe(0o600);
    expect((await second.client(again ?? '').get('/v1/team')).body.pagination.total).toBe(8);
    expect(await counts(second)).toEqual(await counts(first));
  });

  test('does not return a revoked key', async () => {
    const setRevoked = (value: string) =>
      first.query(`update api_keys set revoked_at = ${value} where hash = decode($1, 'hex')`, [hashKey(key)]);
    await setRevoked('now()');
    onTestFinished(() => void setRevoked('null'));
    expect(await loadDemo(first)).toBeUndefined();
  });

  test('changes nothing in a database that has an organization', async () => {
    const service = await startService();
    onTestFinished(service.close);
    await service.agency('Somebody');
    const before = await counts(service);
    expect(await loadDemo(service)).toBeUndefined();
    expect(await counts(service)).toEqual(before);
  });
});

describe('npm run demo', () => {
  const run = (...options: string[]) =>
    promisify(execFile)(process.execPath, ['--import', './src/runtime.js', 'src/cli/demo.ts', ...options], {
      env: { DATABASE_URL: second.url, DATA_DIR: second.dataDir, ...PROGRAM },
    });

  test('with --reset restores the demo in an organization that has it, whatever was written to any table since', async () => {
    const agency = second.client((await loadDemo(second)) ?? '');
    const [{ id = '' } = {}] = await second.query<{ id: string }>(
      `select organization_id as id from api_keys where name = 'Demo key'`,
    );
    const filled = await counts(second);
    await populate({ service: second, agency: { ...agency, id, scope: scopeTo(second.db, id) } });
    const used = await counts(second);
    for (const table of TABLES.slice(1)) expect(used[table], table).toBeGreaterThan(filled[table] ?? 0);
    await expect(run('--organization', id)).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^The organization has the demo already\. --reset deletes all .*\n$/),
    });
    expect(await counts(second)).toEqual(used);
    expect((await run('--organization', id, '--reset')).stdout).toMatch(/^The organization has exactly/);
    expect(await counts(second), 'src/db/tables/owned.ts has the tables that are cleared').toEqual(filled);
    expect(await findDrift(second, { id })).toEqual([]);
  });

  test('changes nothing in an organization that has other records', async () => {
    const { id: organizationId, ...agency } = await second.agency('Somebody');
    await agency.post('/v1/catalog/products', { title: 'Oaxaca' });
    const before = await counts(second);
    for (const reset of [false, true])
      expect(await fillOrganization({ ...second, organizationId, reset })).toBe('used');
    expect(await counts(second)).toEqual(before);
  });

  test('explains in one line why it did nothing', async () => {
    await expect(run('--reset')).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^--organization is required\.\n\nUsage: npm run demo /),
    });
  });
});
