import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, expect, test } from 'vitest';
import { hashKey } from '../../src/api-keys/api-key.ts';
import { findKey } from '../../src/api-keys/repository.ts';
import { type Database, newId } from '../../src/db/index.ts';
import { type FileStorage, storageKey } from '../../src/files/storage.ts';
import { createLogger } from '../../src/http/logging.ts';
import type { JobContext } from '../../src/jobs/context.ts';
import { purgeOrganizations } from '../../src/jobs/purge-organizations.ts';
import { closeOrganization, reopenOrganization } from '../../src/organizations/repository.ts';
import { useDashboard } from '../support/dashboard.ts';
import { countAtWork, hold } from '../support/databases.ts';
import { findDrift } from '../support/drift.ts';
import { ownLog } from '../support/instance.ts';
import { populate } from '../support/operations.ts';
import { customer, member, opportunity, web } from '../support/records.ts';
import type { Agency } from '../support/service.ts';
import { hasWord, inDatabase, inFiles, postgresLog } from '../support/words.ts';

const { service, dashboard } = await useDashboard();
const WORD = 'zqxagenciaida';

const { db, storage } = service;
const purge = (options: Partial<JobContext & { storage: FileStorage }> = {}) =>
  purgeOrganizations({ db, storage, logger: createLogger('silent'), ...options });
// A purge deletes all closed organizations.
beforeEach(() => purge().then(() => undefined));

async function close({ id, scope }: Agency, ago = '30 days 1 second'): Promise<void> {
  await closeOrganization(scope);
  await service.query('update organizations set closed_at = now() - $2::interval where id = $1', [id, ago]);
}

/** The database; `onWrite` is called with the name and the rows of each write. */
const watched = (onWrite: (name: string, rows: unknown[]) => void): Database => ({
  ...service.db,
  write: async (statement, values) => {
    const rows = await service.db.write(statement, values);
    onWrite(statement.name, rows);
    return rows;
  },
});

/** An organization with rows in every table, and a file without an attachment. */
async function fullAgency(word = 'Oaxaca'): Promise<Agency> {
  const agency = await service.agency(`Agencia ${word}`);
  await populate({ service, agency }, word);
  await customer(agency, { contacts: [web(word)] });
  await service.storage.put(storageKey(agency.id, newId()), Readable.from([word]));
  return agency;
}

const countRows = async (agency: Agency): Promise<number> =>
  Object.values(await dashboard.stored(agency)).flat().length;
const exists = async ({ id }: Agency): Promise<boolean> =>
  (await service.query('select from organizations where id = $1', [id])).length === 1;
const filesOf = async ({ id }: Agency): Promise<string[]> =>
  (await Array.fromAsync(service.storage.list(id))).map(({ key }) => key);

test('an organization that was closed more than 30 days ago is purged: no table, file, log line or response has its text, and one that was closed later keeps everything', async () => {
  const neighbour = await fullAgency('Vecina');
  await close(neighbour, '29 days 23 hours 30 minutes');
  const neighbours = [await dashboard.stored(neighbour), await filesOf(neighbour)];
  const agency = await fullAgency(WORD);
  const stored = await dashboard.stored(agency);
  for (const [table, rows] of Object.entries(stored)) expect(rows, table).not.toEqual([]);
  const before = [...(await inDatabase(service, WORD))].map((column) => column.split('.', 1)[0]);
  const withoutText = new Set(['live_counts', 'erasures', 'idempotency_keys']);
  const withText = new Set(['organizations', ...Object.keys(stored)]).difference(withoutText);
  expect(new Set(before)).toEqual(withText);
  expect(await inFiles(service.dataDir, WORD)).toHaveLength(2);
  expect((await filesOf(agency)).length).toBeGreaterThan(2);
  await close(agency);
  const { logger, lines } = ownLog('trace');
  const purged = await purge({ logger });
  expect(purged).toEqual({ organizations: 1 });
  expect([...(await inDatabase(service, WORD))]).toEqual([]);
  expect([...(await inDatabase(service, agency.id))]).toEqual(['purged_organizations.id']);
  expect(await inFiles(service.dataDir, WORD)).toEqual([]);
  expect(await readdir(join(service.dataDir, agency.id))).toEqual([]);
  const { customers, api_keys } = stored;
  const rows = { customers: customers?.length, conversations: 2, products: 2, api_keys: api_keys?.length };
  expect(lines).toMatchObject([{ organizationId: agency.id, closedAt: expect.any(String), files: 3, rows }]);
  expect(hasWord(JSON.stringify(lines), WORD)).toBe(false);
  expect(hasWord((await postgresLog(service)) ?? '', WORD)).toBe(false);
  expect((await dashboard.of(agency).get('')).body.error.code).toBe('ORGANIZATION_NOT_FOUND');
  expect(await findKey(service.db, hashKey(agency.key))).toBeUndefined();

  expect([await dashboard.stored(neighbour), await filesOf(neighbour)]).toEqual(neighbours);
  await reopenOrganization(neighbour.scope);
  expect((await neighbour.get('/v1/customers')).status).toBe(200);
  expect(await findDrift(service, neighbour)).toEqual([]);
  expect(await purge()).toEqual({ organizations: 0 });
});

test('an organization that was closed more than 30 days ago is purged in batches: derived data is right after each of them, and the next run resumes a stopped one', async () => {
  const agency = await fullAgency();
  await close(agency);
  const all = await countRows(agency);
  let runs = 0;
  for (let organizations = 0; organizations === 0; runs += 1) {
    const stop = new AbortController();
    const sizes: number[] = [];
    const db = watched((name, rows) => {
      if (/live_counts|claim/.test(name)) return;
      sizes.push(rows.length);
      if (rows.length > 0) stop.abort();
    });
    ({ organizations } = await purge({ db, batchSize: 1, signal: stop.signal }));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1);
    expect(await findDrift(service, agency)).toEqual([]);
    expect((await dashboard.of(agency).post('/reopen')).status).toBe(404);
  }
  expect(runs).toBeGreaterThan(10);
  expect(all).toBeGreaterThan(runs);
  expect([await countRows(agency), await exists(agency)]).toEqual([0, false]);
});

test('an organization that was closed more than 30 days ago keeps its rows while its files cannot be listed or removed; others are purged, the error is logged, and the run fails', async () => {
  const [unremovable, unlisted, other] = [await fullAgency(), await fullAgency(), await fullAgency()];
  for (const agency of [unremovable, unlisted]) await close(agency, '32 days');
  await close(other);
  const storage: FileStorage = {
    ...service.storage,
    list: (id) => {
      if (id === unlisted.id) throw new Error('The bucket does not respond.');
      return service.storage.list(id);
    },
    remove: async (key) => {
      if (key.startsWith(unremovable.id)) throw new Error('The storage does not respond.');
      await service.storage.remove(key);
    },
  };
  const { logger, lines } = ownLog('error');
  const storedRows = () => Promise.all([unremovable, unlisted].map((agency) => dashboard.stored(agency)));
  const before = await storedRows();
  await expect(purge({ storage, logger })).rejects.toThrow('does not respond.');
  expect(await exists(other)).toBe(false);
  expect(await storedRows()).toEqual(before);
  const failed = lines.map(({ organizationId, err }) => [organizationId, (err as Error).message]);
  expect(Object.fromEntries(failed)).toEqual({
    [unremovable.id]: 'The storage does not respond.',
    [unlisted.id]: 'The bucket does not respond.',
  });
  expect(await purge()).toEqual({ organizations: 2 });
  expect([await exists(unremovable), await exists(unlisted)]).toEqual([false, false]);
});

test('a reopening that was first wins over a purge at the same time: the purge waits for it and deletes nothing', async () => {
  const agency = await fullAgency();
  await close(agency);
  const before = await dashboard.stored(agency);
  const reopen = 'update organizations set closed_at = null where id = $1';
  const commit = await hold(service.ownerUrl, reopen, [agency.id]);
  const purging = purge();
  await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
  await commit();
  expect(await purging).toEqual({ organizations: 0 });
  expect(await dashboard.stored(agency)).toEqual(before);
  expect((await agency.get('/v1/customers')).status).toBe(200);
});

test('a purge that was first wins over a reopening at the same time: the reopening waits for its claim, and then the organization is not found', async () => {
  const agency = await fullAgency();
  await closeOrganization(agency.scope);
  const claim = 'update organizations set purge_began_at = now() where id = $1';
  const commit = await hold(service.ownerUrl, claim, [agency.id]);
  const reopening = dashboard.of(agency).post('/reopen');
  await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
  await commit();
  expect((await reopening).body.error.code).toBe('ORGANIZATION_NOT_FOUND');
  expect(await purge()).toMatchObject({ organizations: 1 });
  expect(await exists(agency)).toBe(false);
});

test('the list that docs/operating.md saves beside a backup has the ids of purged organizations, and purges them again after a restore', async () => {
  const chapter = /## Backups\n([\s\S]+?)\n## /.exec(readFileSync('docs/operating.md', 'utf8'))?.[1] ?? '';
  const [, list = ''] = /-c '(select [^']+)' >purged/.exec(chapter) ?? [];
  const [, again = ''] = /<<'END'\n([\s\S]+?)END/.exec(chapter) ?? [];
  const agency = await fullAgency();
  await close(agency);
  expect(await purge()).toMatchObject({ organizations: 1 });
  const ids = (await service.query<{ id: string }>(list)).map(({ id }) => id);
  expect(ids).toContain(agency.id);
  await service.query('insert into organizations (id, name) values ($1, $2)', [agency.id, 'Restaurada']);
  await opportunity(agency);
  await member(agency);
  const neighbour = await fullAgency();
  await service.query(again.replace(":'ids'", '$1'), [ids]);
  expect(await purge()).toMatchObject({ organizations: 1 });
  expect(await exists(agency)).toBe(false);
  expect(await exists(neighbour)).toBe(true);
});
