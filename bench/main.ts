import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startEmbeddedPostgres } from '../src/db/index.ts';
import { LARGE } from '../test/support/dataset.ts';
import { activeIdsOf, createDatabases, withClient } from './data.ts';
import { machine } from './machine.ts';
import { type Bench, type Measured, type Memory, measure, measureMemory, warmUp } from './measure.ts';
import { type Options, readOptions, USAGE } from './options.ts';
import { reportOf } from './report.ts';
import { productionOptions, startLoad, startServer } from './servers.ts';
import { ALL_LISTS, preparedOf, type Side, type Workload, workloads } from './workloads.ts';

/** A run: loads the data, starts the servers, measures the rows, writes the report, and stops everything. */

const MEMORY_SECONDS = 60;

const began = performance.now();
const report = (line: string): void => {
  process.stderr.write(`${((performance.now() - began) / 1_000).toFixed(0).padStart(4)} s  ${line}\n`);
};

/** The texts of the statements that the floor sends, by name. */
async function statementsOf(chosen: readonly Workload[]): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const { sides, organization, works } of chosen) {
    const [work] = sides.includes('floor') ? await works('floor', 1) : [];
    if (!work) continue;
    for (const { name, text } of await preparedOf(work, organization('floor') ?? 0)) texts[name] = text;
  }
  return texts;
}

async function run(options: Options, folder: string, closers: (() => Promise<void>)[]): Promise<void> {
  const closing = <Closable extends { stop: () => Promise<void> }>(started: Closable): Closable => {
    closers.unshift(started.stop);
    return started;
  };
  report('starting PostgreSQL');
  const dataDir = resolve(options.data ?? folder);
  const { host } = closing(await startEmbeddedPostgres(join(dataDir, 'postgres')));
  const { ours, byHand, key } = await createDatabases(host, options, report);
  const [row] = await withClient(ours, async (client) => (await client.query('show server_version')).rows);

  const isChosen = ({ name }: { name: string }): boolean =>
    options.only.length === 0 || options.only.some((part) => name.includes(part));
  const chosen = workloads(activeIdsOf(ours), options).filter(isChosen);
  const start = async (name: Side, script: URL, probe: string, environment: Record<string, string>) =>
    closing(
      await startServer({
        script,
        environment,
        probe,
        key: key(LARGE),
        log: join(folder, `${name}.log`),
      }),
    );
  const startOurs = () =>
    start('ours', new URL('../src/main.js', import.meta.url), '/v1/customers?limit=1', {
      DATABASE_URL: ours,
      DATA_DIR: folder,
      DASHBOARD_PORT: '0',
      NODE_OPTIONS: productionOptions,
    });
  const STATEMENTS = JSON.stringify(await statementsOf(chosen));
  const bench: Bench = {
    postgres: Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]),
    servers: {
      ours: await startOurs(),
      byHand: await start('byHand', new URL('by-hand/server.ts', import.meta.url), '/v1/customers?limit=1', {
        DATABASE_URL: byHand,
      }),
      floor: await start('floor', new URL('floor.ts', import.meta.url), '/', {
        DATABASE_URL: ours,
        STATEMENTS,
      }),
    },
    load: closing(startLoad()),
    key,
    seconds: options.seconds,
    connections: options.connections,
  };

  for (const workload of chosen) {
    report(`warming up: ${workload.name}`);
    await warmUp(bench, workload);
  }
  const measured: Measured[] = [];
  for (const workload of chosen) {
    report(`measuring: ${workload.name}`);
    measured.push(await measure(bench, workload));
  }
  let memory: Memory | undefined;
  if (isChosen(ALL_LISTS)) {
    report(`measuring: ${ALL_LISTS.name}`);
    const fresh = { ...bench, servers: { ...bench.servers, ours: await startOurs() } };
    memory = await measureMemory(fresh, ALL_LISTS, MEMORY_SECONDS);
  }
  const { scale, seconds, connections } = options;
  const command = `npm run bench -- --scale ${scale} --seconds ${seconds} --connections ${connections}`;
  const [date] = new Date().toISOString().split('T');
  const title = `${date}, \`${command}\`: ${machine()}, PostgreSQL ${row?.server_version}.`;
  process.stdout.write(`${reportOf(title, measured, memory)}\n`);
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  const folder = await mkdtemp(join(tmpdir(), 'crm-bench-'));
  const closers: (() => Promise<void>)[] = [];
  try {
    await run(options, folder, closers);
  } finally {
    for (const close of closers) await close().catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  }
}

if (process.argv.includes('--help')) process.stdout.write(`${USAGE}\n`);
else await main();
