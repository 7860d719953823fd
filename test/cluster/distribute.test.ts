import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { distributeDatabase, migrateDatabase } from '../../src/db/index.ts';
import {
  EMPTY_TEMPLATE,
  formCluster,
  nodesOf,
  ownClusterDatabase,
  ownDatabase,
  runSql,
  serviceRole,
} from '../support/databases.ts';
import { findDrift } from '../support/drift.ts';
import { populate } from '../support/operations.ts';
import { customer } from '../support/records.ts';
import { type Service, startService } from '../support/service.ts';

/** How tables are distributed; see docs/cluster.md. With TEST_POSTGRES=citus the suite runs on a cluster too. */

test('every table of an organization is distributed', async () => {
  const database = await ownClusterDatabase();
  await distributeDatabase(database.ownerUrl);
  const tables = await runSql<{ name: string; type: string | null }>(
    database.ownerUrl,
    `select t.table_name as name, citus_table_type as type from information_schema.columns t
      left join citus_tables c on c.table_name = to_regclass(quote_ident(t.table_name))
      where table_schema = 'public' and (column_name = 'organization_id' or (t.table_name, column_name) = ('organizations', 'id'))`,
  );
  const types = new Map(tables.map(({ name, type }) => [name, type]));
  expect(types.get('customers')).toBe('distributed');
  expect(types.get('organizations')).toBe('reference');
  expect([...types].filter(([, type]) => !/^(distributed|reference)$/.test(type ?? ''))).toEqual([
    ['api_keys', 'local'],
  ]);
});
async function rowsOf(service: Service): Promise<Map<string, string[]>> {
  const names = `select tablename as name from pg_tables where schemaname = 'public'`;
  const tables = await service.query<{ name: string }>(names);
  const stored = new Map<string, string[]>();
  for (const { name } of tables) {
    const rows = await service.query<{ row: string }>(`select to_jsonb(t)::text as row from ${name} t`);
    stored.set(name, rows.map(({ row }) => row).sort());
  }
  return stored;
}

async function runDistribute(url: string): Promise<string[]> {
  const args = ['--import', './src/runtime.js', 'src/cli/distribute.ts'];
  const env = { DATABASE_DIRECT_URL: url, DATABASE_URL: url, PATH: process.env.PATH };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  return stdout.trim().split('\n');
}

test('a server that becomes the coordinator loses no row, and continues to serve', async () => {
  const database = await ownDatabase(EMPTY_TEMPLATE);
  await runSql(database.ownerUrl, serviceRole.rights);
  await migrateDatabase(database.ownerUrl);
  await expect(distributeDatabase(database.ownerUrl)).rejects.toThrow(
    'The database has no extension citus: create it on every node first.',
  );
  const service = await startService({ beside: database });
  onTestFinished(service.close);
  const agencies = [await service.agency('North'), await service.agency('South')];
  for (const agency of agencies) await populate({ service, agency }, 'Ñandú', 0);
  const before = await rowsOf(service);

  await formCluster(nodesOf(database.ownerUrl));
  const output = await runDistribute(database.ownerUrl);
  expect(output).toContain('customers');
  expect(await rowsOf(service)).toEqual(before);
  const size = 'select sum(pg_relation_size(name::regclass))::int as bytes from unnest($1::text[]) name';
  const [local] = await service.query<{ bytes: number }>(size, [output]);
  expect(local?.bytes).toBe(0);
  expect(await runDistribute(database.ownerUrl)).toEqual(['Every table is distributed already.']);

  for (const agency of agencies) {
    const total = async () => (await agency.get('/v1/customers')).body.pagination.total;
    const active = await total();
    const { id } = await customer(agency);
    expect((await agency.patch(`/v1/customers/${id}`, { summary: 'Lima' })).status).toBe(200);
    expect((await agency.get('/v1/customers?query=lima')).body.data).toMatchObject([{ id }]);
    expect(await total()).toBe(active + 1);
  }
  expect(await findDrift(service, ...agencies)).toEqual([]);
});
