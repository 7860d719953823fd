import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createCustomer, updateCustomer } from '../src/customers/repository.ts';
import { openDatabase } from '../src/db/run/client.ts';
import { type OrganizationScope, scopeTo } from '../src/db/run/scope.ts';
import { databaseUrl, startEmbeddedPostgres } from '../src/db/server/embedded.ts';
import { migrateDatabase } from '../src/db/server/migrate.ts';
import { LARGE, loadDataSet, organizationId, SCALES } from './dataset.ts';
import { nanosecondsOf } from './machine.ts';
import { median } from './statistics.ts';
import { newCustomer } from './workloads.ts';

/**
 * What each thing that PostgreSQL keeps beside a customer costs a write: `npm run bench:steps`. One connection writes with all
 * triggers, or without some of them, in alternating rounds; the processor time is that of its backend. Linux only.
 */

const ROUNDS = 24;
const WRITES = 200;
const RECORDS = 5_000;

/** What is left out, and its triggers by their names. */
const CASES = {
  nothing: /^$/,
  'the count': /_count_/,
  'the search row: searches and tags': /_search_/,
  'updated_at, and a look whether anything changes': /_touch$/,
  'all of these': /_(count|search|touch)/,
};

let written = 0;
let customers: string[] = [];

function nextCustomer(): string {
  written += 1;
  return customers[written % customers.length] ?? '';
}

const WRITTEN: Record<string, (scope: OrganizationScope) => Promise<unknown>> = {
  'create customer, two contacts': (scope) => createCustomer(scope, newCustomer()),
  'patch customer, city': (scope) => updateCustomer(scope, nextCustomer(), { city: `Lima ${written}` }),
  'patch customer, summary': (scope) =>
    updateCustomer(scope, nextCustomer(), {
      summary: `Viaja con su familia y le interesa Cartagena en enero, ${written}.`,
    }),
};

async function measure(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const db = openDatabase({ url, poolSize: 1, maxWaiting: 10, statementTimeout: 60_000 });
  const scope = scopeTo(db, organizationId(LARGE));
  await createCustomer(scope, newCustomer());
  const { rows } = await client.query<{ pid: number }>(
    'select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
  const pid = rows[0]?.pid ?? 0;
  const found = await client.query<{ id: string }>(
    'select id from customers where organization_id = $1 and archived_at is null order by id limit $2',
    [organizationId(LARGE), RECORDS],
  );
  customers = found.rows.map(({ id }) => id);
  const { rows: triggers } = await client.query<{ name: string }>(
    `select tgname as name from pg_trigger where tgrelid = 'customers'::regclass and not tgisinternal`,
  );

  for (const [name, write] of Object.entries(WRITTEN)) {
    const times = new Map<string, number[]>(Object.keys(CASES).map((without) => [without, []]));
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [without, left] of Object.entries(CASES)) {
        for (const trigger of triggers)
          await client.query(
            `alter table customers ${left.test(trigger.name) ? 'disable' : 'enable'} trigger ${trigger.name}`,
          );
        // The connection plans its statements anew after a change of the table.
        await write(scope);
        const began = nanosecondsOf(pid);
        for (let done = 0; done < WRITES; done += 1) await write(scope);
        times.get(without)?.push((nanosecondsOf(pid) - began) / WRITES / 1_000);
      }
    }
    const all = median(times.get('nothing') ?? []);
    process.stdout.write(`${name}\n`);
    console.table(
      Array.from(times, ([without, measured]) => {
        const microseconds = median(measured);
        return { without, µs: Math.round(microseconds), 'of all': (microseconds / all).toFixed(2) };
      }),
    );
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
