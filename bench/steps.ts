import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createCustomer, updateCustomer } from '../src/customers/repository.ts';
import { type Database, openDatabase } from '../src/db/run/client.ts';
import { type OrganizationScope, type Queries, scopeTo } from '../src/db/run/scope.ts';
import { sendTogether } from '../src/db/run/trip.ts';
import { databaseUrl, startEmbeddedPostgres } from '../src/db/server/embedded.ts';
import { migrateDatabase } from '../src/db/server/migrate.ts';
import { createLogger } from '../src/http/logging.ts';
import { keepCopies } from '../src/jobs/keep-copies.ts';
import { LARGE, loadDataSet, organizationId, recordId, SCALES } from './dataset.ts';
import { median } from './statistics.ts';
import { newCustomer } from './workloads.ts';

/**
 * What each promise of a write costs PostgreSQL: `npm run bench:steps`. One connection sends the steps of a write, all of
 * them or all but one, in alternating rounds; the processor time is that of its backend. Linux only.
 */

const ROUNDS = 24;
const WRITES = 200;
const RECORDS = 5_000;

/** What is left out of a write: steps by the names of their statements. */
type Case = { without: string; steps?: RegExp };

const ALL: Case = { without: 'nothing' };
const CASES: readonly Case[] = [
  ALL,
  { without: 'a refusal that names who has a contact', steps: /refuse_taken/ },
  { without: 'the count', steps: /live_counts/ },
  { without: 'the search row: searches and tags', steps: /put_search_row/ },
  { without: 'the read row', steps: /refresh|customers\.get$/ },
  { without: 'all of these', steps: /refuse|live_counts|search_row|refresh|get$/ },
];

/** The write has no such step. */
class NothingLeftOut extends Error {}

let written = 0;

const WRITTEN: Record<string, (scope: OrganizationScope) => Promise<unknown>> = {
  'create customer, two contacts': (scope) => createCustomer(scope, newCustomer()),
  'patch customer, city': (scope) =>
    updateCustomer(scope, recordId('customer', LARGE, 1 + (written % RECORDS)), { city: `Lima ${written}` }),
  'patch customer, summary': (scope) =>
    updateCustomer(scope, recordId('customer', LARGE, 1 + (written % RECORDS)), {
      summary: `Viaja con su familia y le interesa Cartagena en enero, ${written}.`,
    }),
};

/** The scope of a repository whose writes lack some steps. */
function scopeWithout({ steps: left }: Case, client: pg.Client, db: Database): OrganizationScope {
  const writeTogether = async (steps: Parameters<Queries['writeTogether']>[0]) => {
    const kept = steps.filter(({ query: { name = '' } }) => !left?.test(name));
    if (left && kept.length === steps.length) throw new NothingLeftOut();
    await sendTogether(client, [{ text: 'begin' }, ...kept.map(({ query }) => query), { text: 'commit' }]);
    return [[{ body: '{}' }]];
  };
  const scope = scopeTo(db, organizationId(LARGE));
  return {
    ...scope,
    db: { ...scope.db, writeTogether: writeTogether as unknown as Queries['writeTogether'] },
  };
}

/** Nanoseconds that a process has run. */
const processorTime = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]);

async function measure(url: string): Promise<void> {
  const db = openDatabase({ url, poolSize: 2, maxWaiting: 10, statementTimeout: 60_000 });
  await keepCopies({ db, logger: createLogger('silent') });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('vacuum analyze');
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const pid = rows[0]?.pid ?? 0;

  for (const [name, write] of Object.entries(WRITTEN)) {
    const times = new Map<Case, number[]>(CASES.map((each) => [each, []]));
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [each, measured] of times) {
        const scope = scopeWithout(each, client, db);
        const began = processorTime(pid);
        try {
          for (let done = 0; done < WRITES; done += 1) {
            written += 1;
            await write(scope);
          }
          measured.push((processorTime(pid) - began) / WRITES / 1_000);
        } catch (error) {
          if (!(error instanceof NothingLeftOut)) throw error;
          times.delete(each);
        }
      }
    }
    const all = median(times.get(ALL) ?? []);
    const shares = Array.from(times, ([each, measured]) => {
      const microseconds = median(measured);
      return {
        without: each.without,
        µs: Math.round(microseconds),
        'of all': (microseconds / all).toFixed(2),
      };
    });
    process.stdout.write(`${name}\n`);
    console.table(shares);
  }
  await client.end();
  await db.close();
}

const folder = await mkdtemp(join(tmpdir(), 'bench-steps-'));
const embedded = await startEmbeddedPostgres(join(folder, 'postgres'));
try {
  const url = databaseUrl(embedded.host, 'postgres');
  await migrateDatabase(url);
  const loader = new pg.Client({ connectionString: url });
  await loader.connect();
  await loadDataSet(loader, SCALES.small, () => undefined);
  await loader.end();
  await measure(url);
} finally {
  await embedded.stop();
  await rm(folder, { recursive: true, force: true });
}
