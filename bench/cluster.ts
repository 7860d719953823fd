import { parseArgs } from 'node:util';
import pg from 'pg';
import {
  archiveCatalogProduct,
  createCatalogProduct,
  getCatalogProduct,
  listCatalogProducts,
  updateCatalogProduct,
} from '../src/catalog/repository.ts';
import { CatalogProductCreate } from '../src/catalog/schema.ts';
import {
  archiveCustomer,
  createCustomer,
  getCustomer,
  listCustomers,
  updateCustomer,
} from '../src/customers/repository.ts';
import { CustomerCreate } from '../src/customers/schema.ts';
import { type Database, openDatabase } from '../src/db/run/client.ts';
import { type OrganizationScope, scopeTo } from '../src/db/run/scope.ts';
import { distributeDatabase } from '../src/db/server/distribute.ts';
import { migrateDatabase } from '../src/db/server/migrate.ts';
import { newId } from '../src/db/sql/ids.ts';
import { type Json, parseJson } from '../src/db/sql/json.ts';
import { loadDataSet, organizationId, TERMS } from './dataset.ts';
import { cpuSecondsOfTree, parentOf } from './machine.ts';
import { median } from './statistics.ts';

/**
 * What the functions of the service do in a second on a Citus cluster, and what processor time all its nodes take for it, in
 * proportion to one plain PostgreSQL: the same data in both, side by side in one run. The cluster is asked in two ways:
 * through its coordinator, as the service does, and on the worker that has the organization.
 */

const USAGE = `npm run bench:cluster -- --plain URL --cluster URL [options]
  --plain URL      an empty database of a plain PostgreSQL, or one that an earlier run has loaded
  --cluster URL    the same on the coordinator of a Citus cluster
  --seconds N      length of each measurement (1)
  --rounds N       measurements of each; the median counts (3)
  --connections N  clients at once, besides one alone (16)
  --only TEXT      only operations whose name has the text`;

const ORGANIZATIONS = [1, 2, 3, 4];
const SIZE = { customers: 8_000, products: 2_000, opportunities: 2_000, conversations: 1_000, quotes: 1_000 };
/** Records of each organization that are read and changed. */
const IDS = 500;

/** An organization, and where it is asked. */
type Agency = { scope: OrganizationScope; customers: string[]; products: string[] };

type Side = {
  agencies: Agency[];
  /** Process ids of PostgreSQL, one for each node. */
  servers: number[];
};

async function load(url: string, isCluster: boolean): Promise<void> {
  await migrateDatabase(url);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rowCount: isLoaded } = await client.query('select from organizations limit 1');
  if (!isLoaded)
    await loadDataSet(
      client,
      ORGANIZATIONS.map(() => SIZE),
    );
  if (isCluster) await distributeDatabase(url);
  await client.query('analyze');
  await client.end();
}

/** The process id of the PostgreSQL that is on this machine. */
async function serverOf(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const server = parentOf(rows[0]?.pid ?? 0);
  await client.end();
  return server;
}

/** The address of the node that has each organization, and the addresses of all nodes. */
async function nodesOf(url: string): Promise<{ all: string[]; of: Map<string, string> }> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  type Node = { host: string; port: number };
  const addressOf = ({ host, port }: Node): string =>
    Object.assign(new URL(url), { hostname: host, port: String(port) }).href;
  const { rows: nodes } = await client.query<Node>(
    'select nodename as host, nodeport as port from pg_dist_node where isactive',
  );
  const { rows: places } = await client.query<Node & { id: string }>(
    `select id, nodename as host, nodeport as port from organizations join pg_dist_placement
      on shardid = get_shard_id_for_distribution_column('customers', id) join pg_dist_node using (groupid)`,
  );
  await client.end();
  return { all: nodes.map(addressOf), of: new Map(places.map((place) => [place.id, addressOf(place)])) };
}

async function agenciesOf(url: string, dbOf: (organizationId: string) => Database): Promise<Agency[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const idsOf = async (table: string, id: string): Promise<string[]> => {
    const { rows } = await client.query<{ id: string }>(
      `select id from ${table} where organization_id = $1 and archived_at is null order by md5(id::text) limit ${IDS}`,
      [id],
    );
    return rows.map((row) => row.id);
  };
  const agencies: Agency[] = [];
  for (const number of ORGANIZATIONS) {
    const id = organizationId(number);
    const [customers, products] = [await idsOf('customers', id), await idsOf('products', id)];
    agencies.push({ scope: scopeTo(dbOf(id), id), customers, products });
  }
  await client.end();
  return agencies;
}

const one = <Item>(items: readonly Item[]): Item => items[Math.floor(Math.random() * items.length)] as Item;
const page = { limit: 25, offset: 0 };
const idOf = async (made: Promise<Json<{ id: string }>>): Promise<string> => parseJson(await made).id;

const newCustomer = (scope: OrganizationScope) =>
  createCustomer(
    scope,
    CustomerCreate.parse({
      firstName: 'Ana',
      lastName: 'Peña',
      city: 'Ciudad de México',
      summary: 'Viaja con su familia y le interesa Cartagena en enero.',
      contacts: [0, 1].map(() => ({ identifierType: 'web', identifierValue: newId() })),
    }),
  );
const newProduct = (scope: OrganizationScope) =>
  createCatalogProduct(
    scope,
    CatalogProductCreate.parse({
      title: 'Patagonia Norte en 8 días',
      description: 'Lagos, bosques y volcanes, con un guía local y grupos pequeños.',
      includes: ['Hotel', 'Traslados'],
      variants: [{ label: 'Temporada baja' }, { label: 'Temporada alta' }],
    }),
  );

const OPERATIONS: Record<string, (agency: Agency) => Promise<unknown>> = {
  'get customer': ({ scope, customers }) => getCustomer(scope, one(customers)),
  'get product': ({ scope, products }) => getCatalogProduct(scope, one(products)),
  'list 25 customers': ({ scope }) => listCustomers(scope, page),
  'list 25 products': ({ scope }) => listCatalogProducts(scope, page),
  'search customers': ({ scope }) => listCustomers(scope, { ...page, query: TERMS.common }),
  'patch customer': ({ scope, customers }) => updateCustomer(scope, one(customers), { city: newId() }),
  'patch product': ({ scope, products }) => updateCatalogProduct(scope, one(products), { operator: newId() }),
  'create customer': ({ scope }) => newCustomer(scope),
  'create product': ({ scope }) => newProduct(scope),
  'create and archive customer': async ({ scope }) => archiveCustomer(scope, await idOf(newCustomer(scope))),
  'create and archive product': async ({ scope }) =>
    archiveCatalogProduct(scope, await idOf(newProduct(scope))),
};

/** Of one piece of work: how many a second, and microseconds of processor time of all nodes. */
type Measured = { rate: number; micros: number };

/** What so many clients reach who do it one after the other. */
async function measure(
  { agencies, servers }: Side,
  work: (agency: Agency) => Promise<unknown>,
  clients: number,
  seconds: number,
): Promise<Measured> {
  const used = () => servers.reduce((total, pid) => total + (cpuSecondsOfTree(pid) ?? Number.NaN), 0);
  const before = used();
  const start = performance.now();
  const end = start + seconds * 1_000;
  let count = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < end) {
      await work(one(agencies));
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  const rate = (count / (performance.now() - start)) * 1_000;
  return { rate, micros: ((used() - before) * 1e6) / count };
}

const HEAD = `| operation | clients | plain, per second | coordinator / plain | worker / plain | plain, µs of PostgreSQL | plain / coordinator | plain / worker |
|---|---|---|---|---|---|---|---|
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      plain: { type: 'string' },
      cluster: { type: 'string' },
      seconds: { type: 'string', default: '1' },
      rounds: { type: 'string', default: '3' },
      connections: { type: 'string', default: '16' },
      only: { type: 'string', default: '' },
      help: { type: 'boolean', default: false },
    },
  });
  const { plain, cluster } = values;
  if (values.help || plain === undefined || cluster === undefined) {
    process.stdout.write(`${USAGE}\n`);
    return;
  }
  const [seconds, rounds, connections] = [values.seconds, values.rounds, values.connections].map(Number) as [
    number,
    number,
    number,
  ];
  for (const url of [plain, cluster]) await load(url, url === cluster);
  const open = (url: string) =>
    openDatabase({ url, poolSize: connections, maxWaiting: 500, statementTimeout: 10_000 });
  const nodes = await nodesOf(cluster);
  const servers = await Promise.all(nodes.all.map(serverOf));
  const atNodes = new Map(nodes.all.map((url) => [url, open(url)]));
  const [plainDb, clusterDb] = [open(plain), open(cluster)];
  const sides: Side[] = [
    { agencies: await agenciesOf(plain, () => plainDb), servers: [await serverOf(plain)] },
    { agencies: await agenciesOf(cluster, () => clusterDb), servers },
    {
      agencies: await agenciesOf(cluster, (id) => atNodes.get(nodes.of.get(id) ?? '') ?? clusterDb),
      servers,
    },
  ];
  process.stdout.write(HEAD);
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    if (!name.includes(values.only)) continue;
    for (const clients of [1, connections]) {
      const results = sides.map((): Measured[] => []);
      for (let round = 0; round <= rounds; round += 1)
        for (const turn of sides.keys()) {
          const index = (turn + round) % sides.length;
          const result = await measure(sides[index] as Side, operation, clients, seconds);
          // The first round warms up.
          if (round > 0) results[index]?.push(result);
        }
      const [rates, micros] = (['rate', 'micros'] as const).map((figure) =>
        results.map((measured) => median(measured.map((result) => result[figure]))),
      ) as [number[], number[]];
      const [rate = 0, ...otherRates] = rates;
      const [time = 0, ...otherTimes] = micros;
      const cells = [
        name,
        clients,
        Math.round(rate),
        ...otherRates.map((other) => (other / rate).toFixed(2)),
        Math.round(time),
        ...otherTimes.map((other) => (time / other).toFixed(2)),
      ];
      process.stdout.write(`| ${cells.join(' | ')} |\n`);
    }
  }
  for (const db of [plainDb, clusterDb, ...atNodes.values()]) await db.close();
}

await main();
