import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { generateKey } from '../src/api-keys/api-key.ts';
import { issueApiKey } from '../src/api-keys/repository.ts';
import { migrateDatabase, openDatabase, parseJson, scopeTo, startEmbeddedPostgres } from '../src/db/index.ts';
import { loadDataSet, organizationId, recordId, TERMS } from '../test/support/dataset.ts';
import { get, openConnection, toolCall } from './connection.ts';
import { startServer } from './servers.ts';
import {
  beside,
  goodClient,
  inProcess,
  type Load,
  outcomeOf,
  type Responses,
  summed,
  timed,
} from './traffic.ts';

/**
 * How one organization's load affects another one, and how overload affects all: `npm run bench:fairness`. A separate
 * process sends the load. Every figure stands beside the same figure without the load, measured in the same run.
 */

const ms = (value: number): string => `${value.toFixed(1)} ms`;
const shown = ({ statuses, p50, p99, max }: Responses): string =>
  `${JSON.stringify(statuses)}, p50 ${ms(p50)}, p99 ${ms(p99)}, max ${ms(max)}`;
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

type Tenants = { big: string; small: string; port: number; url: string };

async function scenarios(
  { big, small, port, url }: Tenants,
  wanted: (name: string) => boolean,
): Promise<void> {
  const product = get(`/v1/catalog/products/${recordId('product', 2, 1)}`, small);
  const search = get(`/v1/customers?query=${TERMS.common}`, big);
  const compared = async (name: string, load: Load): Promise<void> => {
    if (!wanted(name)) return;
    const alone = await goodClient(port, product, () => true, 300);
    const { good, seen } = await beside(port, product, load);
    say(`${name}`);
    say(`  the other tenant alone:   ${shown(alone)}`);
    say(
      `  the other tenant beside:  ${shown(good)} (p50 x ${(good.p50 / alone.p50).toFixed(1)}, p99 x ${(good.p99 / alone.p99).toFixed(1)})`,
    );
    say(`  clients of the load:      ${shown(summed(seen.samples))} in ${seen.seconds.toFixed(1)} s`);
    await pause(1_000);
  };

  await compared('1a: 1,500 searches pipelined on one socket', {
    kind: 'pipelined',
    port,
    requests: Array.from({ length: 1_500 }, () => search),
  });
  for (const clients of [32, 200])
    await compared(`1b: ${clients} clients on a common term`, {
      kind: 'closed',
      port,
      request: search,
      clients,
      seconds: 4,
    });
  const bigProduct = recordId('product', 1, 1);
  for (const [what, request] of [
    ['search over /v1', search],
    ['search over /mcp', toolCall('listCustomers', { query: TERMS.common }, big)],
    ['get over /v1', get(`/v1/catalog/products/${bigProduct}`, big)],
    ['get over /mcp', toolCall('getCatalogProduct', { productId: bigProduct }, big)],
  ] as const)
    await compared(`8: 32 clients ${what}`, { kind: 'closed', port, request, clients: 32, seconds: 4 });
  await compared('3: 1,500 well-formed keys pipelined on one socket', {
    kind: 'pipelined',
    port,
    requests: Array.from({ length: 1_500 }, () => get('/v1/team', generateKey())),
  });

  if (wanted('2: twelve PATCHes of a locked row')) {
    say('2: twelve PATCHes of a locked row');
    const id = recordId('customer', 1, 1);
    const locker = new pg.Client({ connectionString: url });
    await locker.connect();
    await locker.query('begin');
    await locker.query('select from customers where id = $1 for update', [id]);
    const body = '{"firstName":"Locked"}';
    const head = `PATCH /v1/customers/${id} HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${big}\r\nContent-Type: application/json`;
    const patch = `${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const writers = await Promise.all(Array.from({ length: 12 }, () => openConnection(port)));
    const writes = writers.map((connection) => timed(connection, patch));
    await pause(300);
    const [other, same] = await Promise.all([
      goodClient(port, product, () => true, 300),
      goodClient(port, get('/v1/customers?limit=1', big), () => true, 100),
    ]);
    say(`  the other tenant reads:   ${shown(other)}`);
    say(`  the same one reads:       ${shown(same)}`);
    const patched = await Promise.all(writes);
    say(`  the PATCHes:              ${shown(summed(patched))}`);
    await locker.query('rollback');
    await locker.end();
    for (const connection of writers) connection.close();
  }

  if (wanted('7: 100 searches given up after 200 ms')) {
    const admin = new pg.Client({ connectionString: url });
    await admin.connect();
    const sessions = async (): Promise<number> => {
      await admin.query('select pg_stat_clear_snapshot()');
      const text =
        'select sessions::int as sessions from pg_stat_database where datname = current_database()';
      return (await admin.query<{ sessions: number }>(text)).rows[0]?.sessions ?? 0;
    };
    await pause(2_000);
    const before = await sessions();
    const rounds = 20;
    for (let round = 0; round < rounds; round += 1)
      await inProcess({ kind: 'abandoned', port, request: search, clients: 100, after: 200 }).seen;
    await pause(2_000);
    say(`7: ${rounds} times 100 searches given up after 200 ms: ${(await sessions()) - before} new sessions`);
    await inProcess({ kind: 'abandoned', port, request: search, clients: 100, after: 200 }).seen;
    const start = performance.now();
    for (;;) {
      const { rowCount } = await admin.query(
        `select from pg_stat_activity where state = 'active' and query like '%customers%' and pid <> pg_backend_pid()`,
      );
      if (rowCount === 0) break;
      await pause(5);
    }
    say(`7: 100 searches given up after 200 ms: none runs ${ms(performance.now() - start)} later`);
    await admin.end();
  }

  if (wanted('4: overload')) {
    const request = get('/v1/customers?limit=25', small);
    let most = 0;
    for (let round = 0; round < 3; round += 1) {
      const { samples, seconds } = await inProcess({ kind: 'closed', port, request, clients: 32, seconds: 2 })
        .seen;
      most = Math.max(most, samples.length / seconds);
    }
    say(`4: overload of lists of 25; 32 clients in a closed loop are served ${most.toFixed(0)} a second`);
    const offered = async (rate: number): Promise<Responses> => {
      const seen = await inProcess({ kind: 'open', port, requests: [request], rate, seconds: 4 }).seen;
      const { accepted, rejected, errors } = outcomeOf(seen);
      const perSecond = (accepted.statuses[200] ?? 0) / seen.seconds;
      say(`  offered ${rate.toFixed(0)} a second: ${perSecond.toFixed(0)} a second accepted`);
      say(`    accepted: ${shown(accepted)}`);
      say(`    rejected:  ${shown(rejected)}; errors ${errors}`);
      return accepted;
    };
    const half = await offered(most / 2);
    const twice = await offered(most * 2);
    await pause(1_000);
    const after = await goodClient(port, request, () => true, 200);
    say(
      `  accepted p50 at twice over at half: x ${(twice.p50 / half.p50).toFixed(1)}; a second later: ${shown(after)}`,
    );
  }
}

const SIZES = { customers: 150_000, products: 1_000, opportunities: 100, conversations: 100, quotes: 100 };

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      service: { type: 'string', default: 'src/main.js' },
      only: { type: 'string', multiple: true, default: [] },
      connections: { type: 'string' },
    },
  });
  const folder = await mkdtemp(join(tmpdir(), 'crm-fairness-'));
  const postgres = await startEmbeddedPostgres(join(folder, 'postgres'));
  try {
    const { url } = postgres;
    await migrateDatabase(url);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await loadDataSet(client, [SIZES, { ...SIZES, customers: 1_000 }], () => undefined);
    await client.end();
    const db = openDatabase({ url, poolSize: 2, maxWaiting: 10, statementTimeout: 10_000 });
    const keyOf = async (organization: number): Promise<string> =>
      parseJson(
        await issueApiKey(scopeTo(db, organizationId(organization)), { name: 'bench', requestsPerMinute: 0 }),
      ).key;
    const [big, small] = [await keyOf(1), await keyOf(2)];
    await db.close();
    const server = await startServer({
      script: pathToFileURL(resolve(values.service)),
      environment: { DATABASE_URL: url, DATA_DIR: folder, DASHBOARD_PORT: '0' },
      probe: '/v1/team',
      key: big,
      log: join(folder, 'service.log'),
    });
    await goodClient(server.port, get('/v1/team', small), () => true, 50);
    const wanted = (name: string): boolean =>
      values.only.length === 0 || values.only.some((part) => name.startsWith(part));
    await scenarios({ big, small, port: server.port, url }, wanted).finally(server.stop);
  } finally {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

await main();
