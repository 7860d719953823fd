import { expect, test } from 'vitest';
import { loadDemo } from '../demo/load.ts';
import { hashKey } from '../src/api-keys/api-key.ts';
import type { FileStorage } from '../src/files/storage.ts';
import { PUBLIC } from './support/contract.ts';
import { useDashboard } from './support/dashboard.ts';
import { findAllDrift } from './support/drift.ts';
import { runProgram } from './support/process.ts';

const { service, dashboard } = await useDashboard();

/** The number of rows of each table of the organization, without its keys. */
async function counts(id: string): Promise<Record<string, number>> {
  const { api_keys: _, ...tables } = await dashboard.stored({ id });
  return Object.fromEntries(Object.entries(tables).map(([table, rows]) => [table, rows.length]));
}

const organizations = async () =>
  (await service.query<{ id: string }>('select id from organizations order by id')).map(({ id }) => id);

test('a load of the demo that is interrupted leaves nothing; the next one loads everything, and happens once', async () => {
  let files = 0;
  const killing: FileStorage = {
    ...service.storage,
    put: async (name, content) => {
      files += 1;
      if (files === 60)
        await service.query(`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and backend_xid is not null and pid <> pg_backend_pid()`);
      return service.storage.put(name, content);
    },
  };
  await expect(loadDemo({ ...service, storage: killing })).rejects.toThrow();
  expect(await organizations()).toEqual([]);

  const key = (await loadDemo(service)) ?? '';
  const loaded = await organizations();
  expect(loaded).toHaveLength(2);
  const client = service.client(key);
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

  const setRevoked = (value: string) =>
    service.query(`update api_keys set revoked_at = ${value} where hash = decode($1, 'hex')`, [hashKey(key)]);
  expect(await loadDemo(service)).toBe(key);
  await setRevoked('now()');
  expect(await loadDemo(service)).toBeUndefined();
  expect(await organizations()).toEqual(loaded);
});

test('npm run demo creates another organization with the records and a key of the demo, beside any others', async () => {
  const before = await organizations();
  const access = { DATABASE_URL: service.url, DATA_DIR: service.dataDir };
  const { stdout } = await runProgram('src/cli/demo.ts', [], access);
  const [, id = '', key = ''] = /^Organization: (\S+)\nKey: (\S+)\n$/.exec(stdout) ?? [];
  expect((await organizations()).toSorted()).toEqual([...before, id].toSorted());
  const all = await Promise.all(before.map(counts));
  expect(all).toContainEqual(await counts(id));
  expect((await service.client(key).get('/v1/team')).status).toBe(200);
  expect(await findAllDrift(service, { id })).toEqual([]);
});
