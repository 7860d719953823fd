import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { issueApiKey } from '../src/api-keys/repository.ts';
import { type Database, openDatabase } from '../src/db/pool/client.ts';
import { scopeTo } from '../src/db/pool/scope.ts';
import { databaseUrl, startEmbeddedPostgres } from '../src/db/server/embedded.ts';
import { migrateDatabase } from '../src/db/server/migrate.ts';
import { parseJson } from '../src/db/sql/json.ts';
import { createOrganization } from '../src/organizations/repository.ts';
import {
  BODIES,
  LARGE,
  loadDataSet,
  MIDDLE,
  organizationId,
  recordId,
  SCALES,
  SMALL,
} from '../test/support/dataset.ts';
import { createProductsOf } from './body-sizes.ts';
import {
  type Figure,
  figureOfStart,
  figuresOfMemory,
  figuresOfOneClient,
  figuresOfWorkloads,
  measureRefusal,
} from './figures.ts';
import { machine } from './machine.ts';
import { type Bench, type Measured, measure } from './measure.ts';
import { type Options, readOptions, USAGE } from './options.ts';
import { drawThroughput } from './plot.ts';
import { printed, reportOf } from './report.ts';
import { APPLICATIONS, productionOptions, type Server, startLoad, startServer } from './servers.ts';
import { KILOBYTES_OF_BODIES, type LiveIds, SIDES, workloads } from './workloads.ts';

/** The run: data, servers, workloads, figures, and everything stopped again. */

const ROUNDS = { small: 3, full: 5 };
const MEMORY_SECONDS = { small: 12, full: 120 };
/** A limit that nobody reaches: the headers of one are part of what is measured. */
const REQUESTS_PER_MINUTE = 2_000_000_000;

/** The tables of the other servers. */
const RIVALS = new URL('rivals.sql', import.meta.url);

const PICTURE = new URL('../docs/performance.svg', import.meta.url);

const began = performance.now();
const report = (line: string): void => {
  process.stderr.write(`${((performance.now() - began) / 1_000).toFixed(0).padStart(4)} s  ${line}\n`);
};

async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return work(client).finally(() => client.end());
}

async function withDatabase<Result>(url: string, work: (db: Database) => Promise<Result>): Promise<Result> {
  const db = openDatabase({ url, poolSize: 2, maxWaiting: 10, statementTimeout: 60_000 });
  return work(db).finally(db.close);
}

async function load(url: string, { scale }: Options): Promise<void> {
  await migrateDatabase(url);
  await withClient(url, (client) => loadDataSet(client, SCALES[scale], (step) => report(`loading: ${step}`)));
}

/** Loads the database `postgres`; with --data, copies it from the one that was loaded before. */
async function prepareData(host: string, options: Options): Promise<string> {
  const url = databaseUrl(host, 'postgres');
  if (options.data === undefined) {
    await load(url, options);
    return url;
  }
  const loaded = `loaded_${options.scale}`;
  await withClient(databaseUrl(host, 'template1'), async (client) => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [loaded]);
    if (rowCount === 0) {
      await client.query(`create database ${loaded}`);
      await load(databaseUrl(host, loaded), options);
    }
    report('copying the loaded data');
    await client.query('drop database if exists postgres with (force)');
    await client.query(`create database postgres template ${loaded} strategy file_copy`);
  });
  await migrateDatabase(url);
  return url;
}

/** Copies a database that nobody is connected to, and changes the copy by SQL of a file. */
async function copyDatabase(host: string, from: string, name: string, change: URL): Promise<string> {
  report(`copying the data: ${name}`);
  await withClient(databaseUrl(host, 'template1'), async (client) => {
    await client.query(`drop database if exists ${name} with (force)`);
    await client.query(`create database ${name} template ${from} strategy file_copy`);
  });
  const url = databaseUrl(host, name);
  await withClient(url, async (client) => {
    await client.query("set maintenance_work_mem = '512MB'");
    await client.query(await readFile(change, 'utf8'));
    await client.query('vacuum analyze');
  });
  return url;
}

/** A key for each organization that is worked in; and the organizations of body-sizes.ts. */
const issueKeys = (url: string): Promise<Map<number, string>> =>
  withDatabase(url, async (db) => {
    const organizations = [LARGE, SMALL, ...SIDES.map((_, index) => MIDDLE + index)];
    for (const [index, kilobytes] of KILOBYTES_OF_BODIES.entries()) {
      organizations.push(BODIES + index);
      await createOrganization(db, 'Bodies', organizationId(BODIES + index));
      await createProductsOf(scopeTo(db, organizationId(BODIES + index)), kilobytes * 1_000);
    }
    const keys = new Map<number, string>();
    for (const organization of organizations) {
      const input = { name: 'bench', requestsPerMinute: REQUESTS_PER_MINUTE };
      keys.set(
        organization,
        parseJson(await issueApiKey(scopeTo(db, organizationId(organization)), input)).key,
      );
    }
    return keys;
  });

const liveIdsOf =
  (url: string, options: Options): LiveIds =>
  (kind, organization, amount) => {
    const size = SCALES[options.scale][organization - 1]?.[`${kind}s`] ?? 0;
    const step = Math.max(1, Math.floor(size / amount));
    const ids = Array.from({ length: Math.min(size, amount) }, (_, index) =>
      recordId(kind, organization, 1 + index * step),
    );
    return withClient(url, async (client) => {
      const { rows } = await client.query<{ id: string }>(
        `select id from ${kind}s where organization_id = $1 and id = any($2) and archived_at is null order by md5(id::text)`,
        [organizationId(organization), ids],
      );
      return rows.map(({ id }) => id);
    });
  };

async function writeJson({ json }: Options, result: object): Promise<void> {
  if (json !== undefined) await writeFile(json, `${JSON.stringify(result, null, 2)}\n`);
}

async function run(options: Options, folder: string, closers: (() => Promise<void>)[]): Promise<void> {
  const closing = <Closable extends { stop: () => Promise<void> }>(started: Closable): Closable => {
    closers.unshift(() => started.stop());
    return started;
  };
  const wanted = (name: string): boolean =>
    options.only.length === 0 || options.only.some((part) => name.includes(part));

  report('starting PostgreSQL');
  const dataDir = resolve(options.data ?? folder);
  const embedded = closing(await startEmbeddedPostgres(join(dataDir, 'postgres')));
  const url = await prepareData(embedded.host, options);
  const keys = await issueKeys(url);
  const key = (organization: number): string => keys.get(organization) ?? '';
  const version = await withClient(url, async (client) =>
    (await client.query<{ server_version: string }>('show server_version')).rows.map(
      (row) => row.server_version,
    ),
  );

  const start = (script: URL, name: string, probe: string, environment: Record<string, string>) =>
    startServer({ script, environment, probe, key: key(LARGE), log: join(folder, `${name}.log`) });
  const startOurs = (environment: Record<string, string>): Promise<Server> =>
    start(new URL('../src/main.js', import.meta.url), 'ours', '/v1/customers?limit=1', {
      DATA_DIR: dataDir,
      DASHBOARD_PORT: '0',
      NODE_OPTIONS: productionOptions,
      ...environment,
    });
  // Before ours, which is connected to the database that is copied.
  await copyDatabase(embedded.host, 'postgres', 'rivals', RIVALS);
  const startOther = async (side: 'conventional' | 'byHand', server: URL): Promise<Server> => {
    const indexes = new URL('indexes.sql', server);
    return start(server, side, '/v1/customers?limit=1', {
      DATABASE_URL: await copyDatabase(embedded.host, 'rivals', side.toLowerCase(), indexes),
      PGAPPNAME: APPLICATIONS[side],
    });
  };
  const conventional = closing(
    await startOther('conventional', new URL('conventional/server.ts', import.meta.url)),
  );
  const byHand = closing(await startOther('byHand', new URL('by-hand/server.ts', import.meta.url)));
  const bench: Bench = {
    url,
    postgres: Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]),
    ours: closing(await startOurs({ DATABASE_URL: url })),
    conventional,
    byHand,
    empty: closing(await start(new URL('empty.ts', import.meta.url), 'empty', '/', {})),
    load: closing(startLoad()),
    key,
    seconds: options.seconds,
    connections: options.connections,
    rounds: ROUNDS[options.scale],
  };
  const liveIds = liveIdsOf(url, options);

  const conversations = SCALES[options.scale][LARGE - 1]?.conversations ?? 0;
  const all = workloads(liveIds, { conversations });
  const [postgres = ''] = version;

  const reads = all.filter(({ kind, name }) => kind !== 'write' && wanted(name));
  const writes = all.filter(({ kind, name }) => kind === 'write' && wanted(name));
  const measured: Measured[] = [];
  const figures: Figure[] = [];
  for (const workload of reads) {
    report(`measuring: ${workload.name}`);
    measured.push(await measure(bench, workload));
  }
  for (const { name, make } of figuresOfOneClient(bench, liveIds)) {
    if (!wanted(name)) continue;
    report(`measuring: ${name}`);
    figures.push(...(await make()));
  }
  if (wanted('401, malformed key')) {
    report('measuring: 401, malformed key');
    measured.push(await measureRefusal(bench));
  }
  for (const workload of writes) {
    report(`measuring: ${workload.name}`);
    measured.push(await measure(bench, workload));
  }
  const seconds = MEMORY_SECONDS[options.scale];
  if (wanted('resident memory')) {
    report(`measuring: resident memory, ${seconds} s`);
    figures.push(...(await figuresOfMemory(bench, () => startOurs({ DATABASE_URL: url }), seconds)));
  }
  for (const close of closers.splice(0)) await close();
  if (wanted('start to ready')) {
    report('measuring: start to ready');
    figures.push(await figureOfStart(ROUNDS[options.scale], () => startOurs({})));
  }

  const ordered = [...figuresOfWorkloads(measured), ...figures];
  process.stdout.write(`${printed(machine(postgres), measured, ordered)}\n`);
  const result = reportOf(machine(postgres), measured, ordered);
  await writeJson(options, result);
  if (options.plot) await writeFile(PICTURE, drawThroughput(result));
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
