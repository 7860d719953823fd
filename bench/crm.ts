import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openDatabase } from '../src/db/run/client.ts';
import { scopeTo } from '../src/db/run/scope.ts';
import { databaseUrl, startEmbeddedPostgres } from '../src/db/server/embedded.ts';
import { migrateDatabase } from '../src/db/server/migrate.ts';
import { parseJson } from '../src/db/sql/json.ts';
import { issueApiKey } from '../src/api-keys/repository.ts';
import { createOrganization } from '../src/organizations/repository.ts';
import { machine } from './machine.ts';
import { productionFlags, startServer } from './servers.ts';
import { median } from './statistics.ts';

/**
 * The command crm beside what a person would write in its place: loops of fetch that import (row by row, or so many at
 * once) and export (page by page). Rows per second of whole processes, their start included; sides alternate.
 */

const AT_ONCE = 16;
const CRM = fileURLToPath(new URL('../crm/src/main.ts', import.meta.url));
const LOOP = fileURLToPath(new URL('crm-loop.ts', import.meta.url));

const row = (index: number): string[] => [
  `Ana ${index}`,
  'Peña',
  `+5255${String(index).padStart(8, '0')}`,
  `ana${index}@example.com`,
  'Ciudad de México',
];

type At = { CRM_URL: string; CRM_API_KEY: string };

/** Seconds that a process takes from its start to its end. */
async function timed(args: readonly string[], at: At): Promise<number> {
  const start = performance.now();
  const child = spawn(process.execPath, args, { env: { ...at }, stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(errors);
  return (performance.now() - start) / 1_000;
}

const crm = (...args: string[]) => [CRM, ...args];

async function main(rows: number, rounds: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'crm-bench-'));
  const closers: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    const embedded = await startEmbeddedPostgres(join(folder, 'postgres'));
    closers.unshift(() => embedded.stop());
    const url = databaseUrl(embedded.host, 'postgres');
    await migrateDatabase(url);
    const db = openDatabase({ url, poolSize: 2, maxWaiting: 10, statementTimeout: 10_000 });
    closers.unshift(() => db.close());
    const newKey = async (): Promise<string> => {
      const { id } = await createOrganization(db, 'Bench');
      return parseJson(await issueApiKey(scopeTo(db, id), { name: 'bench', requestsPerMinute: 0 })).key;
    };
    const first = await newKey();
    const server = await startServer({
      flags: productionFlags,
      script: new URL('../src/main.js', import.meta.url),
      environment: { DATA_DIR: folder, DASHBOARD_PORT: '0', DATABASE_URL: url },
      log: join(folder, 'service.log'),
      probe: '/v1/customers?limit=1',
      key: first,
    });
    closers.unshift(() => server.stop());

    const file = join(folder, 'leads.csv');
    const lines = Array.from({ length: rows }, (_, index) => row(index).join(','));
    await writeFile(file, `firstName,lastName,whatsapp,email,city\n${lines.join('\n')}\n`);
    const out = join(folder, 'out.ndjson');
    const imports: Record<string, string[]> = {
      'import: loop of fetch, one at a time': [LOOP, 'import', file, '1'],
      [`import: loop of fetch, ${AT_ONCE} at once`]: [LOOP, 'import', file, String(AT_ONCE)],
      'import: crm': crm('import', 'customers', file, '--yes'),
    };
    const exports: Record<string, string[]> = {
      'export: loop of fetch, NDJSON': [LOOP, 'export', out],
      'export: crm, NDJSON': crm('export', 'customers', '-o', out),
      'export: crm, CSV': crm('export', 'customers', '-o', join(folder, 'out.csv')),
    };
    const seconds = new Map<string, number[]>();
    const note = (name: string, taken: number): void => {
      seconds.set(name, [...(seconds.get(name) ?? []), taken]);
      process.stderr.write(`${name}: ${Math.round(rows / taken)} rows/s\n`);
    };
    for (let round = 0; round < rounds; round += 1) {
      let key = first;
      for (const [name, args] of Object.entries(imports)) {
        // Contacts belong to one customer of an organization: each import has one of its own.
        key = await newKey();
        note(name, await timed(args, { CRM_URL: `http://127.0.0.1:${server.port}`, CRM_API_KEY: key }));
      }
      for (const [name, args] of Object.entries(exports))
        note(name, await timed(args, { CRM_URL: `http://127.0.0.1:${server.port}`, CRM_API_KEY: key }));
      if ((await stat(out)).size < rows * 100) throw new Error('The export is too small.');
    }
    process.stdout.write(`${machine('18')}\n\n| ${rows} rows | rows per second |\n|---|---:|\n`);
    for (const [name, taken] of seconds)
      process.stdout.write(`| ${name} | ${Math.round(rows / median(taken))} |\n`);
  } finally {
    for (const close of closers) await close();
  }
}

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '10000' }, rounds: { type: 'string', default: '3' } },
});
await main(Number(values.rows), Number(values.rounds));
