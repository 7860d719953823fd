import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { scopeTo } from '../../src/db/run/scope.ts';
import { migrateDatabase, readMigrations } from '../../src/db/server/migrate.ts';
import { newId } from '../../src/db/sql/ids.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import { createLogger } from '../../src/http/logging.ts';
import { keepCopies } from '../../src/jobs/keep-copies.ts';
import { recountLive } from '../../src/jobs/recount.ts';
import { issueApiKey } from '../../src/api-keys/repository.ts';
import { administer, createTestDatabase, EMPTY_TEMPLATE, serviceRole } from '../support/databases.ts';
import { startService } from '../support/service.ts';

/** What released code sends. A file is named after the newest migration of the release that began to send it. */
const folder = new URL('../support/releases/', import.meta.url);
const releases = readdirSync(folder)
  .map((file) => file.replace('.sql', ''))
  .sort();

type Step = 'create' | 'patch' | 'archive' | 'purge';

/**
 * What a release sends in one transaction to do a step, for each kind of record. A text with several statements is one
 * transaction of PostgreSQL.
 */
function readRelease(tag: string): (step: Step) => string[] {
  const [, ...blocks] = readFileSync(new URL(`${tag}.sql`, folder), 'utf8').split(/^(?=-- \w+ \w+$)/m);
  return (step) => blocks.filter((block) => block.startsWith(`-- ${step} `));
}

type Load = {
  /** Waits until the loops have done so many more rounds. */
  rounds: (count: number) => Promise<void>;
  /** Ends the loops after their round. */
  stop: () => Promise<{ live: string[]; due: string[]; refused: string[] }>;
};

/** Does all that a release does to its records, again and again, over two connections. */
function startLoad(url: string, tag: string, organizationId: string): Load {
  const release = readRelease(tag);
  const live: string[] = [];
  const due: string[] = [];
  const refused: string[] = [];
  let done = 0;
  let isStopped = false;
  let wake = Promise.withResolvers<void>();

  const loop = (): Promise<void> =>
    administer(url, async (client) => {
      const send = async (step: Step, id: string): Promise<void> => {
        for (const text of release(step))
          await client.query(
            text.replaceAll(':organization', `'${organizationId}'`).replaceAll(':id', `'${id}'`),
          );
      };
      while (!isStopped) {
        const [kept, archived] = [newId(), newId()];
        for (const id of [kept, archived]) {
          await send('create', id);
          await send('patch', id);
        }
        await send('archive', archived);
        live.push(kept);
        due.push(archived);
        for (const id of due.splice(0))
          await send('purge', id).catch((error: Error) => {
            refused.push(error.message);
            due.push(id);
          });
        done += 1;
        wake.resolve();
        wake = Promise.withResolvers();
      }
    });
  const loops = Promise.all([loop(), loop()]);

  return {
    rounds: async (count) => {
      for (const until = done + count; done < until; ) await Promise.race([wake.promise, loops]);
    },
    stop: async () => {
      isStopped = true;
      await loops;
      return { live, due, refused };
    },
  };
}

describe('a database of a release', () => {
  test.each(releases)('of %s is upgraded while that release writes', async (tag) => {
    const database = await createTestDatabase(inject('serverUrl'), EMPTY_TEMPLATE);
    onTestFinished(database.drop);
    const { ownerUrl } = database;
    const all = readMigrations();
    const known = all.findIndex((migration) => migration.tag === tag) + 1;
    const organizationId = newId();
    await migrateDatabase(ownerUrl, all.slice(0, known));
    await administer(ownerUrl, async (client) => {
      await client.query(serviceRole.rights);
      await client.query(`insert into organizations (id, name) values ('${organizationId}', 'a')`);
    });

    const load = startLoad(ownerUrl, tag, organizationId);
    onTestFinished(async () => void (await load.stop()));
    await load.rounds(2);
    for (let applied = known + 1; applied <= all.length; applied += 1) {
      await migrateDatabase(ownerUrl, all.slice(0, applied));
      await load.rounds(2);
    }

    // The release of this code works beside the older one.
    const service = await startService({ beside: database });
    onTestFinished(service.close);
    const scope = scopeTo(service.db, organizationId);
    const client = service.client(parseJson(await issueApiKey(scope, { name: 'test' })).key);
    const made = await client.post('/v1/catalog/products', { title: 'Bogotá', variants: [{ label: 'x' }] });
    expect(made.status).toBe(201);
    await load.rounds(2);
    const { live, due, refused } = await load.stop();

    const key = /violates foreign key constraint "(searchable_products|product_bodies)_product_fkey"/;
    for (const message of refused) expect(message).toMatch(key);
    // What was refused while files were applied is done by the next run of the job.
    expect(due).toEqual([]);

    const options = { db: service.db, logger: createLogger('silent') };
    // From read rows on, lists are right from the first request on: the migrations fill what filters compare.
    const compared = () => keepCopies({ ...options, find: 'wrong', fix: false });
    if (tag >= '0015') expect(await compared()).toEqual({ records: 0 });
    await keepCopies(options);
    expect(await compared()).toEqual({ records: 0 });
    expect(await recountLive({ ...options, fix: false })).toMatchObject({ drifts: 0 });
    const total = async (url: string) => (await client.get(url)).body.pagination.total;
    expect(await total('/v1/catalog/products')).toBe(live.length + 1);
    expect(await total('/v1/catalog/products?query=cali')).toBe(live.length);
    expect(await total('/v1/customers?query=nunez')).toBe(live.length);
    for (const id of live.slice(-5)) {
      expect((await client.get(`/v1/catalog/products/${id}`)).body.title).toBe('Cali');
      expect((await client.get(`/v1/customers/${id}`)).body.lastName).toBe('Núñez');
    }
  });

  test('writes what this code writes: a table, or a column of a copy, that comes or goes needs a file of its own', () => {
    const writtenIn = (text: string): string[] => {
      const inserts = text.matchAll(/\binsert into\s+(\w+)(?: as \w+)?\s*\(([^)]*)\)/g);
      const written = Array.from(inserts, ([, table = '', columns = '']) =>
        /_bodies$|^searchable_/.test(table) ? `${table}: ${columns.match(/\w+/g)?.sort()}` : table,
      );
      return [...new Set(written)].sort();
    };
    const sent = ['products', 'customers', 'live_counts'].map((table) =>
      readFileSync(`docs/sql/${table}.sql`, 'utf8'),
    );
    const newest = readFileSync(new URL(`${releases.at(-1)}.sql`, folder), 'utf8');
    expect(writtenIn(newest)).toEqual(writtenIn(sent.join('\n')));
  });
});
