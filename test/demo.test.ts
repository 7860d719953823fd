import { execFile } from 'node:child_process';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { fillOrganization } from '../demo/fill.ts';
import { loadDemo } from '../demo/load.ts';
import { hashKey } from '../src/api-keys/api-key.ts';
import { newId, scopeTo } from '../src/db/index.ts';
import type { FileStorage } from '../src/files/storage.ts';
import { operationsOf, readDocument, type Schema } from './support/contract.ts';
import { administer } from './support/databases.ts';
import { copyRecord, findDrift } from './support/drift.ts';
import { populate } from './support/operations.ts';
import { PROGRAM } from './support/process.ts';
import { type Client, type Service, startService } from './support/service.ts';

type Row = Record<string, unknown>;

const tables = [
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

/** The database sets `created_at` in these tables. */
const CREATED_AT_LOAD = ['organizations', 'pipeline_stages', 'quote_attachments'];

/** All rows without generated values: clock readings, secrets, the order of arrival, the ids of contacts and variants. */
async function storedRows({ query }: Service): Promise<Record<string, Row[]>> {
  const entries = tables.map(async (table) => {
    const generated = ['updated_at', 'token', 'arrival'];
    if (CREATED_AT_LOAD.includes(table)) generated.push('created_at');
    const list = { customers: 'contacts', products: 'variants' }[table];
    const withoutIds = list
      ? `|| jsonb_build_object('${list}', regexp_replace(t.${list}::text, '"id":"[^"]*"', '', 'g'))`
      : '';
    const row = `to_jsonb(t) - '{${generated}}'::text[] ${withoutIds}`;
    return [table, await query(`select ${row} as row from ${table} t order by (${row})::text`)] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
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
  // A token is about four characters.
  let calls = 0;
  let characters = 0;
  const exchange = async (method: string, params: object) => {
    const { body } = await client.post('/mcp', { jsonrpc: '2.0', id: 1, method, params });
    return body.result;
  };
  const call = async (name: string, args: object): Promise<Row[]> => {
    const { content, isError } = await exchange('tools/call', { name, arguments: args });
    const texts = content.map(({ text }: { text: string }) => text);
    expect(isError, texts.join()).toBe(false);
    calls += 1;
    characters += [name, JSON.stringify(args), ...texts].join(' ').length;
    return JSON.parse(texts[0]).data;
  };
  const { tools } = await exchange('tools/list', {});
  const reads = operationsOf(readDocument('openapi/openapi.json')).filter(({ method }) => method === 'GET');
  expect(tools).toHaveLength(reads.length);
  const clientInfo = { name: 'agent', version: '1.0.0' };
  const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  characters += `${JSON.stringify(tools)} ${(await exchange('initialize', initialize)).instructions}`.length;
  const start = characters / 4;
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

  // Which hot leads has nobody touched for two weeks, and whose are they?
  const hot = await call('listOpportunities', {
    temperature: 'hot',
    updatedBefore: daysAgo(14),
    limit: 100,
    fields: ['title', 'sellerName'],
  });
  const whole = await readAll(client, `/v1/opportunities?temperature=hot&updatedBefore=${daysAgo(14)}`);
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
  const [customer] = await call('listCustomers', {
    contact: '+57 314 630 0883',
    fields: ['id', 'displayName'],
  });
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
  const trips = await call('listCatalogProducts', {
    query: 'patagonia',
    fields: ['title', 'fromPrice', 'currency', 'status'],
  });
  expect(trips.length).toBeGreaterThan(1);

  expect(calls).toBe(9);
  expect(characters / 4 - start).toBeLessThanOrEqual(2_500);

  // Which quotes were opened, and their customers have not answered our last message?
  [calls, characters] = [0, start * 4];
  const silent = await call('listConversations', {
    activityState: 'waiting_for_customer',
    limit: 100,
    fields: ['customerId'],
  });
  const customerId = silent.flatMap((row) => row.customerId ?? []).join();
  const unanswered = await call('listQuotes', {
    opened: true,
    status: 'published',
    customerId,
    limit: 100,
    fields: ['title', 'customerName'],
  });
  expect(unanswered.length).toBeGreaterThan(5);
  expect(calls).toBe(2);
  expect(characters / 4 - start).toBeLessThanOrEqual(1_000);
  expect(start / tools.length).toBeLessThanOrEqual(300);
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
      const { schemas } = readDocument('openapi/openapi.json').components;
      const rows = await readAll(client, path);
      expect(rows).toHaveLength(count);
      const expectEveryValue = (rows: Row[], { properties = {} }: Schema) => {
        for (const [field, schema] of Object.entries(properties)) {
          if (Array.isArray(schema.enum))
            expect(distinct(rows, field), field).toEqual([...schema.enum].sort());
          if ([schema.type].flat().includes('boolean'))
            expect(distinct(rows, field), field).toEqual([false, true]);
          const { $ref } = (schema.items ?? {}) as Schema;
          if ($ref) {
            const entries = rows.flatMap((row) => row[field] as Row[]);
            expectEveryValue(entries, schemas[String($ref).replace(/.*\//, '')] ?? {});
          }
        }
      };
      expectEveryValue(rows, schemas[name] ?? {});
    },
  );

  test('has the records whose ids are examples in the document', async () => {
    const { paths } = readDocument('openapi/openapi.json');
    const withIds = Object.entries(paths).filter(([path, { get }]) => get && path.includes('{'));
    let requests = 0;
    for (const [path, { get }] of withIds) {
      // The demo may not have records of a new resource yet.
      if ((await client.get(path.replace(/\/\{.*/, ''))).body.pagination.total === 0) continue;
      requests += 1;
      const [example = ''] = (get?.parameters ?? [])
        .filter((parameter) => parameter.in === 'path')
        .map((parameter) => String(parameter.example));
      const { status } = await client.get(path.replace(/\{\w+\}/, example));
      expect(status, path).toBe(200);
    }
    expect(requests).toBeGreaterThan(4);
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
    const before = await storedRows(first);
    expect(await loadDemo(first)).toBe(key);
    expect(await storedRows(first)).toEqual(before);
    const path = join(first.dataDir, 'demo-key');
    expect(await readFile(path, 'utf8')).toBe(`${key}\n`);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('that is interrupted leaves nothing, and the next one loads the same records, ids and files as any other', async () => {
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
    for (const table of tables)
      expect(await second.query(`select * from ${table} limit 1`), table).toEqual([]);

    const path = join(second.dataDir, 'demo-key');
    await writeFile(path, 'tcrm_of_an_earlier_database\n', { mode: 0o644 });
    const again = await loadDemo(second);
    expect(again).not.toBe(key);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await second.client(again ?? '').get('/v1/team')).body.pagination.total).toBe(8);
    expect(await storedRows(second)).toEqual(await storedRows(first));

    const [organization = ''] = (await readdir(first.dataDir)).filter((name) => name !== 'demo-key');
    const files = await readdir(join(first.dataDir, organization));
    expect((await readdir(join(second.dataDir, organization))).sort()).toEqual(files.sort());
    for (const name of files) {
      const [one, other] = await Promise.all(
        [first, second].map(({ dataDir }) => readFile(join(dataDir, organization, name))),
      );
      expect(other).toEqual(one);
    }
  });

  test('does not return a revoked key', async () => {
    const setRevoked = async (value: string) => {
      const update = `update api_keys set revoked_at = ${value} where hash = decode($1, 'hex')`;
      await first.query(update, [hashKey(key)]);
    };
    await setRevoked('now()');
    onTestFinished(() => setRevoked('null'));
    expect(await loadDemo(first)).toBeUndefined();
  });

  test('changes nothing in a database that has an organization', async () => {
    const service = await startService();
    onTestFinished(service.close);
    await service.agency('Somebody');
    const before = await storedRows(service);
    expect(await loadDemo(service)).toBeUndefined();
    expect(await storedRows(service)).toEqual(before);
    expect(await readdir(service.dataDir)).toEqual([]);
  });
});

describe('npm run demo', () => {
  let organizationId: string;
  let agency: Client;
  beforeAll(async () => {
    agency = second.client((await loadDemo(second)) ?? '');
    const keys = `select organization_id as id from api_keys where name = 'Demo key'`;
    [{ id: organizationId } = { id: '' }] = await second.query<{ id: string }>(keys);
  });

  const run = (...options: string[]) =>
    promisify(execFile)(process.execPath, ['--import', './src/runtime.js', 'src/cli/demo.ts', ...options], {
      env: { DATABASE_URL: second.url, DATA_DIR: second.dataDir, ...PROGRAM },
    });

  test('with --reset restores the demo in an organization that has it, whatever was written to any table since', async () => {
    const filled = await storedRows(second);
    const { data } = (await agency.get('/v1/catalog/products?limit=1')).body;
    await agency.delete(`/v1/catalog/products/${data[0].id}`);
    const scope = scopeTo(second.db, organizationId);
    await populate({ service: second, agency: { ...agency, id: organizationId, scope } });
    const used = await storedRows(second);
    for (const table of tables.slice(1)) expect(used[table], table).not.toEqual(filled[table]);
    await expect(run('--organization', organizationId)).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^The organization has the demo already\. --reset deletes all its records.*\n$/,
      ),
    });
    expect(await storedRows(second)).toEqual(used);

    // In this process, because dates of the demo are relative to the hour of its start.
    await fillOrganization({ ...second, organizationId, reset: true });
    expect(await storedRows(second), 'src/db/tables/owned.ts has the tables that are cleared').toEqual(
      filled,
    );
    for (const path of ['/v1/customers', '/v1/quotes', '/v1/conversations'])
      expect(await readAll(agency, path), path).toHaveLength((await readAll(client, path)).length);
  });

  test('with --reset during other writes leaves no wrong count and no wrong search document', async () => {
    const ids = [newId(), newId()];
    await administer(second.ownerUrl, async (writer) => {
      const { rows } = await writer.query(
        'select id from products where organization_id = $1 and archived_at is null limit 1',
        [organizationId],
      );
      const write = (id = '') => writer.query(copyRecord('products'), [organizationId, id, rows[0].id]);
      await write(ids[0]);
      // Written before the reset, and committed while the reset waits for the lock, if it does.
      await writer.query('begin');
      await write(ids[1]);
      let isDone = false;
      const reset = run('--organization', organizationId, '--reset').finally(() => {
        isDone = true;
      });
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await expect.poll(async () => isDone || (await second.query(waiting)).length > 0).toBe(true);
      await writer.query('commit');
      expect((await reset).stdout).toBe('The organization has exactly the records of the demo agency.\n');
    });
    const remaining = await second.query('select id from products where id = any($1)', [ids]);
    expect(remaining).toEqual([{ id: ids[1] }]);
    expect(await findDrift(second, { id: organizationId })).toEqual([]);
  });

  test('changes nothing in an organization that has other records', async () => {
    const { id: organizationId, ...agency } = await second.agency('Somebody');
    await agency.post('/v1/catalog/products', { title: 'Oaxaca' });
    const before = await storedRows(second);
    for (const reset of [false, true])
      expect(await fillOrganization({ ...second, organizationId, reset })).toBe('used');
    expect(await storedRows(second)).toEqual(before);
  });

  test.each([
    [['--organization', 'nobody'], /^The organization "nobody" does not exist\. /],
    [['--reset'], /^--organization is required\.\n\nUsage: npm run demo /],
  ])('explains in one line why it did nothing with %j', async (options, message) => {
    const stderr = expect.stringMatching(message);
    await expect(run(...options)).rejects.toMatchObject({ code: 1, stdout: '', stderr });
  });
});
