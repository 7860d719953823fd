import { readFileSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { hashKey } from '../../src/api-keys/api-key.ts';
import { findKeys, issueApiKey } from '../../src/api-keys/repository.ts';
import { listCatalogProducts } from '../../src/catalog/repository.ts';
import { createCustomer, listCustomers, updateCustomer } from '../../src/customers/repository.ts';
import {
  type Database,
  inTransaction,
  migrateDatabase,
  type OrganizationScope,
  openDatabase,
  parseJson,
  scopeTo,
  startEmbeddedPostgres,
} from '../../src/db/index.ts';
import { diskStorage } from '../../src/files/storage.ts';
import { purgeOrganizations } from '../../src/jobs/purge-organizations.ts';
import { scopeOf } from '../../src/organizations/repository.ts';
import { loadDataSet, organizationId } from '../support/dataset.ts';
import { temporaryFolder } from './instance.ts';

/** An agency moves from one installation to another, by the blocks of docs/moving-an-agency.md, while it writes. */

const [MOVED, STAYS] = [organizationId(1), organizationId(2)];
const SIZE = { customers: 3_000, products: 300, opportunities: 300, conversations: 100, quotes: 100 };

type Side = 'old' | 'new';
type Block = { side: string; role: string; text: string };

const GUIDE = readFileSync(new URL('../../docs/moving-an-agency.md', import.meta.url), 'utf8');
/** After ```sql stand the database and what the operator does with the result. The first step's block is left out: it needs a restart. */
const BLOCKS: Block[] = [...GUIDE.matchAll(/^```sql (\w+) ?(.*)\n([^`]*)```$/gm)].map(
  ([, side = '', role = '', text = '']) => ({ side, role, text }),
);

type Installation = { client: pg.Client; db: Database; url: string };

async function install(settings: Record<string, string>): Promise<Installation> {
  const folder = await temporaryFolder();
  const server = await startEmbeddedPostgres(folder, settings);
  onTestFinished(server.stop);
  await migrateDatabase(server.url);
  // Started by root, the servers run as nobody, and the new one connects to the old one.
  await appendFile(join(folder, 'pg_ident.conf'), 'service "nobody" all\n');
  const client = new pg.Client(server.url);
  await client.connect();
  await client.query('select pg_reload_conf()');
  onTestFinished(() => client.end());
  const db = openDatabase({ url: server.url, poolSize: 8, maxWaiting: 100, statementTimeout: 60_000 });
  onTestFinished(db.close);
  return { client, db, url: `host=${server.host} user=postgres dbname=postgres` };
}

/** Creates and changes customers until the signal. */
async function writeUntil(stop: AbortSignal, scope: OrganizationScope): Promise<number> {
  let written = 0;
  for (; !stop.aborted; written += 1) {
    const { id } = parseJson(
      await createCustomer(scope, { firstName: `Ana ${written}`, contacts: [], tags: [] }),
    );
    await updateCustomer(scope, id, { city: 'Bariloche' });
  }
  return written;
}

const read = async (scope: OrganizationScope) => [
  await listCustomers(scope, { limit: 100, offset: 0 }),
  await listCustomers(scope, { limit: 100, offset: 0, query: 'ana' }),
  await listCatalogProducts(scope, { limit: 100, offset: 0 }),
];

test('every write is there after the move, and another agency notices nothing', async ({ annotate }) => {
  const installations: Record<Side, Installation> = {
    old: await install({ wal_level: 'logical' }),
    new: await install({}),
  };
  const { old } = installations;
  await loadDataSet(old.client, [SIZE, SIZE]);
  const moved = scopeTo(old.db, MOVED);
  const { key } = parseJson(await issueApiKey(moved, { name: 'website' }));

  const staying = scopeTo(old.db, STAYS);
  const totalOf = async (scope: OrganizationScope): Promise<number> =>
    parseJson(await listCustomers(scope, { limit: 1, offset: 0 })).pagination.total;
  const stayed = await totalOf(staying);

  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const writing = [1, 2, 3, 4].map(() => writeUntil(stop.signal, moved));
  const writingBeside = writeUntil(stop.signal, staying);

  const context = {
    db: old.db,
    logger: pino({ level: 'silent' }),
    storage: diskStorage(await temporaryFolder()),
  };
  /** The results of the blocks `as NAME`. */
  const known: Record<string, string> = {};
  const run = async (side: Side, text: string) => {
    const names = Object.entries({ ORGANIZATION: MOVED, OLD: old.url, ...known });
    const whole = names.reduce((sql, [name, value]) => sql.replaceAll(name, value), text);
    const result = await installations[side].client.query({ text: whole, rowMode: 'array' });
    return (Array.isArray(result) ? result.at(-1) : result).rows as unknown[][];
  };

  expect(BLOCKS.map(({ side, role }) => `${side} ${role}`.trim())).toEqual([
    'old',
    'new',
    'new until 0',
    'old',
    'old as moment',
    'old until 0',
    'old as position',
    'old until true',
    'compare',
    'new',
    'new',
    'old',
    'old',
  ]);
  const commit = Promise.withResolvers<void>();
  /** Resolves when the write has begun; `commit` ends it. */
  const beginWrite = () =>
    new Promise<void>((begun, fail) => {
      inTransaction(moved, async (scope) => {
        await createCustomer(scope, { firstName: 'Late', contacts: [], tags: [] });
        begun();
        await commit.promise;
      }).catch(fail);
    });
  let written = 0;
  let before: unknown;
  for (const [index, { side, role, text }] of BLOCKS.entries()) {
    // The load balancer sends no more requests. One write has begun, and is not committed.
    if (BLOCKS[index + 1]?.role === 'as moment') {
      stop.abort();
      written = (await Promise.all(writing)).reduce((sum, count) => sum + count, 0);
      await beginWrite();
    }
    if (role === 'as moment') {
      expect((await findKeys(old.db, [hashKey(key)])).size).toBe(0);
      await expect(scopeOf(old.db, MOVED, { isWrite: true })).rejects.toThrow('The organization is closed.');
    }
    if (index === BLOCKS.length - 1) {
      expect(await purgeOrganizations(context)).toMatchObject({ organizations: 0 });
      expect(await totalOf(moved)).toBeGreaterThan(written);
    }
    if (role === 'as position') before = await read(moved);
    if (side === 'compare') {
      const [there, here] = [await run('old', text), await run('new', text)];
      expect(there.length).toBeGreaterThan(12);
      expect(here).toEqual(there);
    } else if (role.startsWith('until ')) {
      const results: string[] = [];
      const isOver = async () => {
        results.push(String((await run(side as Side, text))[0]?.[0]));
        // After the first result, so that the recipe had to wait for the write.
        if ('MOMENT' in known) commit.resolve();
        return results.at(-1) === role.slice(6);
      };
      await vi.waitUntil(isOver, { timeout: 300_000, interval: 50 });
      if (text.includes('MOMENT')) expect(results[0]).not.toBe('0');
    } else {
      const [row] = await run(side as Side, text);
      if (role.startsWith('as ')) known[role.slice(3).toUpperCase()] = String(row?.[0]);
    }
  }

  const arrived = scopeTo(installations.new.db, MOVED);
  expect(await read(arrived)).toEqual(before);
  expect(written).toBeGreaterThan(0);
  await annotate(`${written} customers were written during the move`);
  expect((await findKeys(installations.new.db, [hashKey(key)])).size).toBe(1);
  const { id } = parseJson(await createCustomer(arrived, { firstName: 'Eva', contacts: [], tags: [] }));
  await updateCustomer(arrived, id, { city: 'Ushuaia' });

  expect(await purgeOrganizations(context)).toMatchObject({ organizations: 1 });
  expect(await totalOf(moved)).toBe(0);
  expect(await totalOf(staying)).toBe(stayed + (await writingBeside));
});
