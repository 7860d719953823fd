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
import { get, toolCall } from './connection.ts';
import { startServer } from './servers.ts';
import { beside, goodClient, inProcess, type Load, outcomeOf, type Responses, summed } from './traffic.ts';

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

type Tenants = { big: string; small: string; port: number };

async function scenarios({ big, small, port }: Tenants, wanted: (name: string) => boolean): Promise<void> {
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
  for (const [what, request] of [
    ['search over /mcp', toolCall('listCustomers', { query: TERMS.common }, big)],
    ['get over /v1', get(`/v1/catalog/products/${recordId('product', 1, 1)}`, big)],
  ] as const)
    await compared(`2: 32 clients ${what}`, { kind: 'closed', port, request, clients: 32, seconds: 4 });
  await compared('3: 1,500 well-formed keys pipelined on one socket', {
    kind: 'pipelined',
    port,
    requests: Array.from({ length: 1_500 }, () => get('/v1/team', generateKey())),
  });

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
    await scenarios({ big, small, port: server.port }, wanted).finally(server.stop);
  } finally {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

await main();
