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
import { createLogger } from '../src/http/logging.ts';
import { keepCopies } from '../src/jobs/keep-copies.ts';
import { loadDataSet, organizationId, TERMS } from './dataset.ts';

/**
 * What the functions of the service do in a second on a Citus cluster, in proportion to one plain PostgreSQL: the same data
 * in both, side by side in one run.
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

type Side = { scope: OrganizationScope; customers: string[]; products: string[] };

async function load(url: string, isCluster: boolean): Promise<void> {
  await migrateDatabase(url);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rowCount: isLoaded } = await client.query('select from organizations limit 1');
  if (!isLoaded) {
    await loadDataSet(
      client,
      ORGANIZATIONS.map(() => SIZE),
    );
    const db = openDatabase({ url, poolSize: 2, maxWaiting: 10, statementTimeout: 60_000 });
    await keepCopies({ db, logger: createLogger('silent') }).finally(db.close);
  }
  if (isCluster) await distributeDatabase(url);
  await client.query('analyze');
  await client.end();
}

async function sidesOf(db: Database, url: string): Promise<Side[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const idsOf = async (table: string, id: string): Promise<string[]> => {
    const { rows } = await client.query<{ id: string }>(
      `select id from ${table} where organization_id = $1 and archived_at is null order by md5(id::text) limit ${IDS}`,
      [id],
    );
    return rows.map((row) => row.id);
  };
  const sides: Side[] = [];
  for (const number of ORGANIZATIONS) {
    const id = organizationId(number);
    const [customers, products] = [await idsOf('customers', id), await idsOf('products', id)];
    sides.push({ scope: scopeTo(db, id), customers, products });
  }
  await client.end();
  return sides;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
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

const OPERATIONS: Record<string, (side: Side) => Promise<unknown>> = {
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

/** How often a second so many clients do it. */
async function rateOf(work: () => Promise<unknown>, clients: number, seconds: number): Promise<number> {
  const start = performance.now();
  const end = start + seconds * 1_000;
  let count = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < end) {
      await work();
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return (count / (performance.now() - start)) * 1_000;
}

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
  const urls = [plain, cluster];
  for (const url of urls) await load(url, url === cluster);
  const databases = urls.map((url) =>
    openDatabase({ url, poolSize: connections, maxWaiting: 500, statementTimeout: 10_000 }),
  );
  const sides = await Promise.all(databases.map((db, index) => sidesOf(db, urls[index] ?? '')));
  process.stdout.write('| operation | clients | plain, per second | cluster / plain |\n|---|---|---|---|\n');
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    if (!name.includes(values.only)) continue;
    for (const clients of [1, connections]) {
      const measure = (side: Side[], length: number) => rateOf(() => operation(one(side)), clients, length);
      const rates: [number, number][] = [];
      for (const side of sides) await measure(side, seconds / 2);
      for (let round = 0; round < rounds; round += 1) {
        const pair: [number, number] = [0, 0];
        for (const index of round % 2 ? [1, 0] : [0, 1])
          pair[index] = await measure(sides[index] ?? [], seconds);
        rates.push(pair);
      }
      const ratio = median(rates.map(([onPlain, onCluster]) => onCluster / onPlain));
      process.stdout.write(
        `| ${name} | ${clients} | ${Math.round(median(rates.map(([onPlain]) => onPlain)))} | ${ratio.toFixed(2)} |\n`,
      );
    }
  }
  for (const db of databases) await db.close();
}

await main();
