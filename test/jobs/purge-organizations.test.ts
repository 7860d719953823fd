import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, describe, expect, test } from 'vitest';
import { hashKey } from '../../src/api-keys/api-key.ts';
import { findKey } from '../../src/api-keys/repository.ts';
import { type Database, newId } from '../../src/db/index.ts';
import { diskStorage, type FileStorage, storageKey } from '../../src/files/storage.ts';
import { createLogger } from '../../src/http/logging.ts';
import type { JobContext } from '../../src/jobs/context.ts';
import { purgeOrganizations } from '../../src/jobs/purge-organizations.ts';
import { closeOrganization, reopenOrganization } from '../../src/organizations/repository.ts';
import { useDashboard } from '../support/dashboard.ts';
import { countAtWork, hold } from '../support/databases.ts';
import { findDrift } from '../support/drift.ts';
import { populate } from '../support/operations.ts';
import { startProcess } from '../support/process.ts';
import { conversation, customer, member, message, opportunity } from '../support/records.ts';
import type { Agency } from '../support/service.ts';
import { collect } from '../support/storages.ts';
import { hasWord, inDatabase, inFiles, postgresLog } from '../support/words.ts';

const { service, dashboard } = useDashboard();
const silent = createLogger('silent');
const WORD = 'zqxagenciaida';

const purge = (options: Partial<JobContext & { storage: FileStorage }> = {}) =>
  purgeOrganizations({ db: service.db, storage: service.storage, logger: silent, ...options });
// A purge deletes all closed organizations.
beforeEach(() => purge().then(() => undefined));

async function close({ id, scope }: Agency, ago = '30 days 1 second'): Promise<void> {
  await closeOrganization(scope);
  await service.query('update organizations set closed_at = now() - $2::interval where id = $1', [id, ago]);
}

/** The database; `around` runs each write. */
function watched(around: (name: string, write: () => Promise<unknown[]>) => Promise<unknown[]>): Database {
  const watch = <Within extends Pick<Database, 'write'>>(within: Within): Within => ({
    ...within,
    write: ((statement, values) =>
      around(statement.name, () => within.write(statement, values))) as typeof within.write,
  });
  return {
    ...watch(service.db),
    transaction: (work) => service.db.transaction((within) => work(watch(within))),
  };
}

/** An organization with rows in every table, a chain of conversations, and a file without an attachment. */
async function fullAgency(word = 'Oaxaca'): Promise<Agency> {
  const agency = await service.agency(`Agencia ${word}`);
  await populate({ service, agency }, word);
  await customer(agency, { contacts: [{ identifierType: 'web', identifierValue: word }] });
  let rotatedFrom: string | undefined;
  for (let count = 0; count < 5; count += 1) {
    const thread = await conversation(agency, { contactName: word, ...(rotatedFrom && { rotatedFrom }) });
    await message(agency, thread.id, { content: word });
    rotatedFrom = thread.id;
  }
  await service.storage.put(storageKey(agency.id, newId()), Readable.from([word]));
  return agency;
}

const rowsOf = async (agency: Agency): Promise<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(await dashboard.stored(agency)).map(([table, rows]) => [table, rows.length]),
  );
const countRows = async (agency: Agency): Promise<number> =>
  Object.values(await dashboard.stored(agency)).flat().length;
const exists = async ({ id }: Agency): Promise<boolean> =>
  (await service.query('select from organizations where id = $1', [id])).length === 1;
const expectPurged = async (agency: Agency) =>
  expect([await countRows(agency), await exists(agency)]).toEqual([0, false]);
const filesOf = async ({ id }: Agency): Promise<string[]> =>
  (await collect(service.storage.list(id))).map(({ key }) => key);

describe('an organization that was closed more than 30 days ago', () => {
  test('is purged: no table, file, log line or response has its text, and one that was closed later keeps everything', async () => {
    const lines: string[] = [];
    const neighbour = await fullAgency('Vecina');
    await close(neighbour, '29 days 23 hours 30 minutes');
    const neighbours = [await dashboard.stored(neighbour), await filesOf(neighbour)];
    const agency = await fullAgency(WORD);
    const counts = await rowsOf(agency);
    for (const [table, count] of Object.entries(counts)) expect(count, table).toBeGreaterThan(0);
    const before = await inDatabase(service, WORD);
    const hasText = (table: string) => [...before].some((column) => column.startsWith(`${table}.`));
    for (const table of ['organizations', ...Object.keys(counts)])
      if (!['live_counts', 'erasures', 'idempotency_keys'].includes(table))
        expect(hasText(table), table).toBe(true);
    expect(await inFiles(service.dataDir, WORD)).toHaveLength(2);
    expect((await filesOf(agency)).length).toBeGreaterThan(2);
    await close(agency);
    const logger = createLogger('trace', { write: (line: string) => lines.push(line) });
    const purged = await purge({ logger });
    expect(purged).toEqual({ organizations: 1, records: expect.any(Number), purgedFiles: 3 });
    expect([...(await inDatabase(service, WORD))]).toEqual([]);
    expect([...(await inDatabase(service, agency.id))]).toEqual(['purged_organizations.id']);
    expect(await inFiles(service.dataDir, WORD)).toEqual([]);
    expect(await readdir(join(service.dataDir, agency.id))).toEqual([]);
    const [one, all] = lines.map((line) => JSON.parse(line));
    expect(one).toMatchObject({
      msg: 'purged an organization',
      organizationId: agency.id,
      closedAt: expect.any(String),
      files: 3,
      rows: { customers: counts.customers, conversations: 7, products: 2, api_keys: counts.api_keys },
    });
    expect(all).toMatchObject({ ...purged, stopped: false });
    const deleted: number[] = Object.values(one.rows);
    expect(deleted.reduce((sum, count) => sum + count, 0)).toBe(purged.records);
    expect(hasWord(lines.join(''), WORD)).toBe(false);
    expect(hasWord((await postgresLog(service)) ?? '', WORD)).toBe(false);
    expect((await dashboard.of(agency).get('')).body.error.code).toBe('ORGANIZATION_NOT_FOUND');
    expect(await findKey(service.db, hashKey(agency.key))).toBeUndefined();

    expect([await dashboard.stored(neighbour), await filesOf(neighbour)]).toEqual(neighbours);
    await reopenOrganization(neighbour.scope);
    expect((await neighbour.get('/v1/customers')).status).toBe(200);
    expect(await findDrift(service, neighbour)).toEqual([]);
    expect(await purge()).toEqual({ organizations: 0, records: 0, purgedFiles: 0 });
  });

  test('is purged in batches: derived data is right after each of them, and the next run resumes a stopped one', async () => {
    const agency = await fullAgency();
    await close(agency);
    const all = await countRows(agency);
    let runs = 0;
    for (let organizations = 0; organizations === 0; runs += 1) {
      const stop = new AbortController();
      const sizes: number[] = [];
      const db = watched(async (name, write) => {
        const rows = await write();
        if (!/live_counts|claim/.test(name)) sizes.push(rows.length);
        if (rows.length > 0) stop.abort();
        return rows;
      });
      ({ organizations } = await purge({ db, batchSize: 3, signal: stop.signal }));
      expect(Math.max(...sizes)).toBeLessThanOrEqual(3);
      expect(await findDrift(service, agency)).toEqual([]);
      expect((await dashboard.of(agency).post('/reopen')).status).toBe(404);
    }
    expect(runs).toBeGreaterThan(10);
    expect(all).toBeGreaterThan(2 * runs);
    await expectPurged(agency);
  });

  test('is purged by the next run after a process was killed', async () => {
    const agency = await fullAgency();
    await close(agency);
    const commit = await hold(
      service.ownerUrl,
      'select from opportunities where organization_id = $1 order by id desc limit 1 for update',
      [agency.id],
    );
    const before = await rowsOf(agency);
    const files = diskStorage(join(service.dataDir, 'files'));
    await files.put(storageKey(agency.id, newId()), Readable.from(['x']));
    const environment = { DATABASE_URL: service.url, DATA_DIR: service.dataDir };
    const args = ['--import', './src/runtime.js', 'src/cli/job.ts', 'purge-organizations'];
    const run = () => startProcess(environment, args);
    const { child, ended } = run();
    await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
    child.kill('SIGKILL');
    await ended;
    await commit();
    const { conversations, customers } = await rowsOf(agency);
    expect([conversations, customers]).toEqual([0, before.customers]);
    expect(await exists(agency)).toBe(true);
    expect(await findDrift(service, agency)).toEqual([]);

    expect(await run().ended).toBe(0);
    await expectPurged(agency);
    expect(await collect(files.list(agency.id))).toEqual([]);
  });

  test('keeps its rows while its files cannot be listed or removed; others are purged, and the error is logged', async () => {
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
    const lines: string[] = [];
    const logger = createLogger('error', { write: (line: string) => lines.push(line) });
    const storedRows = () => Promise.all([unremovable, unlisted].map((agency) => dashboard.stored(agency)));
    const before = await storedRows();
    expect(await purge({ storage, logger })).toMatchObject({ organizations: 1, purgedFiles: 3 });
    expect(await exists(other)).toBe(false);
    expect(await storedRows()).toEqual(before);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 50, organizationId: unremovable.id, err: { message: 'The storage does not respond.' } },
      { level: 50, organizationId: unlisted.id, err: { message: 'The bucket does not respond.' } },
    ]);
    expect(await purge()).toMatchObject({ organizations: 2, purgedFiles: 6 });
    expect([await exists(unremovable), await exists(unlisted)]).toEqual([false, false]);
  });
});

describe('of a reopening and a purge at the same time', () => {
  test('the reopening wins if it was first: the purge waits for it and deletes nothing', async () => {
    const agency = await fullAgency();
    await close(agency);
    const before = await dashboard.stored(agency);
    const commit = await hold(service.ownerUrl, 'update organizations set closed_at = null where id = $1', [
      agency.id,
    ]);
    const purging = purge();
    await expect.poll(() => countAtWork(service.ownerUrl, 'Lock')).toBe(1);
    await commit();
    expect(await purging).toEqual({ organizations: 0, records: 0, purgedFiles: 0 });
    expect(await dashboard.stored(agency)).toEqual(before);
    expect((await agency.get('/v1/customers')).status).toBe(200);
  });

  test('the purge wins if it was first: the reopening waits for its claim, and then the organization is not found', async () => {
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
  await expectPurged(agency);
  expect(await exists(neighbour)).toBe(true);
});

test('a row that is inserted during a purge is deleted by the next run', async () => {
  const agency = await fullAgency();
  await close(agency);
  const db = watched(async (name, write) => {
    if (name === 'organizations.remove')
      await service.query(
        `insert into team_members (organization_id, id, user_id, name, email) values ($1, $2, 'u', 'n', 'e')`,
        [agency.id, randomUUID()],
      );
    return write();
  });
  expect(await purge({ db })).toMatchObject({ organizations: 0 });
  expect(await exists(agency)).toBe(true);
  expect(await purge()).toMatchObject({ organizations: 1, records: 1 });
  await expectPurged(agency);
});
