import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { distributedTables } from '../../src/db/server/distribute.ts';
import { migrateDatabase } from '../../src/db/server/migrate.ts';
import { createClusterDatabase } from '../support/databases.ts';
import { populate } from '../support/operations.ts';
import { type Agency, type Service, startService } from '../support/service.ts';

/** A database that is in use is distributed: with npm run test:citus. */

const MOMENT = Date.parse('2026-11-22T12:00:00Z');

/** Of records, in each organization. */
const SETS = 5;

/** Everything that is stored: for each table how many rows it has, and a digest of them. */
async function checksums(service: Service): Promise<Map<string, { rows: number; digest: string }>> {
  const tables = await service.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  );
  const found = new Map<string, { rows: number; digest: string }>();
  for (const { name } of tables) {
    const rows = await service.query<{ row: string }>(`select to_jsonb(t)::text as row from ${name} t`);
    const digest = createHash('sha256').update(JSON.stringify(rows.map(({ row }) => row).sort()));
    found.set(name, { rows: rows.length, digest: digest.digest('hex') });
  }
  return found;
}

/** What the agency reads of everything that it has. */
async function answers(agency: Agency): Promise<Map<string, { etag: string | undefined; text: string }>> {
  const found = new Map<string, { etag: string | undefined; text: string }>();
  const ask = async (path: string) => {
    const { status, headers, text, body } = await agency.get(path);
    expect(status, path).toBe(200);
    found.set(path, { etag: headers.etag, text });
    return body;
  };
  const each = async (list: string, paths: (id: string) => string[]) => {
    for (const { id } of (await ask(`/v1/${list}?limit=100`)).data)
      for (const path of paths(id)) await ask(`/v1/${path}`);
  };
  await each('catalog/products', (id) => [`catalog/products/${id}`]);
  await each('customers', (id) => [`customers/${id}`]);
  await each('opportunities', (id) => [`opportunities/${id}`]);
  await each('conversations', (id) => [`conversations/${id}/messages`]);
  await each('quotes', (id) => [`quotes/${id}/attachments`]);
  for (const path of [
    'team',
    'customers?limit=2&offset=2',
    'customers?query=nandu',
    'catalog/products?query=nandu',
  ])
    await ask(`/v1/${path}`);
  return found;
}

const command = async (url: string): Promise<string[]> => {
  const args = ['--import', './src/runtime.js', 'src/cli/distribute.ts'];
  const env = { DATABASE_DIRECT_URL: url, DATABASE_URL: url, PATH: process.env.PATH };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  return stdout.trim().split('\n');
};

describe.runIf(inject('workerUrls').length > 0)('a filled database', () => {
  test('keeps every row and every answer when it is distributed, and the service goes on', async () => {
    const database = await createClusterDatabase(inject('serverUrl'));
    onTestFinished(database.drop);
    await migrateDatabase(database.ownerUrl);
    const service = await startService({ beside: database, now: () => MOMENT });
    onTestFinished(service.close);
    const agencies: Agency[] = [];
    for (const name of ['North', 'South', 'East', 'West']) {
      const agency = await service.agency(name);
      for (let set = 0; set < SETS; set += 1) await populate({ service, agency }, 'Ñandú', set);
      agencies.push(agency);
    }

    const before = await checksums(service);
    for (const table of ['organizations', 'api_keys', ...distributedTables])
      expect(before.get(table)?.rows, table).toBeGreaterThan(0);
    const shown = await Promise.all(agencies.map(answers));

    const moved = ['organizations', ...distributedTables];
    expect(await command(database.ownerUrl)).toEqual(
      moved.map((table) => `${table}: ${before.get(table)?.rows} rows`),
    );
    expect(await checksums(service)).toEqual(before);
    expect(await Promise.all(agencies.map(answers))).toEqual(shown);

    // Nothing is left on the coordinator of what lies on the workers, and every worker has some.
    const local = await service.query<{ bytes: number }>(
      'select sum(pg_relation_size(name::regclass))::int as bytes from unnest($1::text[]) name',
      [moved],
    );
    expect(local).toEqual([{ bytes: 0 }]);
    expect(await command(database.ownerUrl)).toEqual(['Every table is distributed already.']);
    expect(await checksums(service)).toEqual(before);

    for (const agency of agencies) {
      const { body } = await agency.post('/v1/customers', {
        contacts: [{ identifierType: 'web', identifierValue: 'new' }],
      });
      expect((await agency.patch(`/v1/customers/${body.id}`, { city: 'Lima' })).status).toBe(200);
      expect((await agency.get(`/v1/customers/${body.id}`)).body.city).toBe('Lima');
      expect((await agency.get('/v1/customers')).body.pagination.total).toBe(SETS + 1);
    }
  });
});
