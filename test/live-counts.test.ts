import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { getTableName } from 'drizzle-orm';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { purgeCatalogProducts } from '../src/catalog/repository.ts';
import { opportunityRecord } from '../src/opportunities/repository.ts';
import { OpportunityPut } from '../src/opportunities/schema.ts';
import { restoreCatalogProduct } from '../src/catalog/repository.ts';
import { quoteRecord } from '../src/quotes/repository.ts';
import { QuotePut } from '../src/quotes/schema.ts';
import { findDrift, mendDrift } from '../src/db/copies/recount.ts';
import { newId } from '../src/db/sql/ids.ts';
import { ApiError } from '../src/errors.ts';
import { LISTS, pathOf } from './support/operations.ts';
import { PROGRAM } from './support/process.ts';
import { conversation } from './support/records.ts';
import { type Agency, type Reply, useService } from './support/service.ts';

const service = useService();

/** The lists whose totals are live counts, by their tables. */
const COUNTED = Object.fromEntries(
  Object.entries(LISTS)
    .filter(([, { resource }]) => resource.isCounted)
    .map(([name, { resource }]) => [getTableName(resource.table), pathOf(name)]),
);

const KINDS = ['products', 'customers', 'opportunities', 'conversations', 'quotes'] as const;

type Ids = Record<(typeof KINDS)[number], string[]>;

/** Chooses the same every time. */
function chooser(seed: number) {
  let state = seed;
  const next = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  return { next, of: <Item>(items: readonly Item[]): Item | undefined => items[next(items.length)] };
}

const expected = async (reply: Promise<Reply>): Promise<Reply> => {
  const answer = await reply;
  if (answer.status >= 500) throw new Error(answer.text);
  return answer;
};

/** Everything that changes which rows a list shows; each is chosen as often as the others. */
function operations(agency: Agency, ids: Ids, choose: ReturnType<typeof chooser>) {
  const some = (kind: keyof Ids): string => choose.of(ids[kind]) ?? newId();
  /** A contact that many ask for, and one of its own. */
  const contacts = () => [
    { identifierType: 'telefono', identifierValue: `+57300${1_000_000 + choose.next(60)}` },
    { identifierType: 'web', identifierValue: newId() },
  ];
  const put = async (kind: keyof Ids, make: (id: string) => Promise<unknown>) => {
    const id = choose.next(3) === 0 ? some(kind) : newId();
    await make(id);
    ids[kind].push(id);
  };
  return [
    async () => {
      const variants = [{ label: 'a' }, { label: 'b' }];
      const { body } = await expected(agency.post('/v1/catalog/products', { title: 'Lima', variants }));
      ids.products.push(body.id);
    },
    () => expected(agency.delete(`/v1/catalog/products/${some('products')}`)),
    () => restoreCatalogProduct(agency.scope, some('products'), Date.now()),
    () => purgeCatalogProducts(service.db, new Date(Date.now() - 20).toISOString(), 1),
    async () => {
      const { status, body } = await expected(agency.post('/v1/customers', { contacts: contacts() }));
      if (status === 201) ids.customers.push(body.id);
    },
    () => expected(agency.patch(`/v1/customers/${some('customers')}`, { contacts: contacts() })),
    () => expected(agency.delete(`/v1/customers/${some('customers')}`)),
    () =>
      put('opportunities', (id) =>
        opportunityRecord.put(agency.scope, id, OpportunityPut.parse({ salesStage: String(choose.next(9)) })),
      ),
    () => opportunityRecord.archive(agency.scope, some('opportunities')),
    () =>
      put('quotes', (id) => {
        const record = { opportunityId: some('opportunities'), title: 'Propuesta', status: 'draft' };
        return quoteRecord.put(agency.scope, id, QuotePut.parse(record));
      }),
    () => quoteRecord.archive(agency.scope, some('quotes')),
    async () => {
      const id = choose.next(3) === 0 ? some('conversations') : newId();
      const rotatedFrom = choose.next(2) === 0 ? some('conversations') : null;
      await conversation(agency, { rotatedFrom }, id);
      ids.conversations.push(id);
    },
  ];
}

/** Refusals are part of it; anything else that goes wrong is not. */
async function tolerating(operation: () => Promise<unknown>): Promise<boolean> {
  try {
    await operation();
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return false;
    throw error;
  }
}

const LANES = 16;
const OPERATIONS_PER_LANE = 125;

/** Runs random operations on two agencies at once. */
async function churn(agencies: readonly Agency[], seed: number): Promise<number> {
  let done = 0;
  const lane = async (number: number): Promise<void> => {
    const choose = chooser(seed + number);
    const agency = agencies[number % agencies.length] as Agency;
    const all = operations(agency, known.get(agency.id) as Ids, choose);
    for (let count = 0; count < OPERATIONS_PER_LANE; count += 1) {
      const operation = choose.of(all);
      if (operation && (await tolerating(operation))) done += 1;
    }
  };
  const known = new Map<string, Ids>(
    agencies.map(({ id }) => [id, Object.fromEntries(KINDS.map((kind) => [kind, []])) as unknown as Ids]),
  );
  await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)));
  return done;
}

async function totals(agency: Agency): Promise<Record<string, number>> {
  const entries = Object.entries(COUNTED).map(async ([resource, path]) => {
    const { body } = await agency.get(`${path}?limit=1`);
    return [resource, body.pagination.total] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

async function rows(agency: Agency): Promise<Record<string, number>> {
  const entries = Object.keys(COUNTED).map(async (table) => {
    const visible = table === 'conversations' ? 'continued_by is null' : 'archived_at is null';
    const [row] = await service.query<{ count: number }>(
      `select count(*)::int as count from ${table} where organization_id = $1 and ${visible}`,
      [agency.id],
    );
    return [table, row?.count ?? 0] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

test('what changes and is recounted here is every list that has a live count', async () => {
  expect([...KINDS].sort(), 'Write its operations into `operations` of this file').toEqual(
    Object.keys(COUNTED).sort(),
  );
  const agency = await service.agency();
  for (const resource of KINDS) {
    await wrong(agency, resource, 1);
    expect(await mendDrift(agency.scope), `${resource} is in COUNTED of src/db/copies/recount.ts`).toEqual([
      { resource, counted: 1, rows: 0 },
    ]);
  }
});

describe('totals without a count', () => {
  test('are true after a thousand concurrent creates, archives, restores, purges and rotations, and in between', async () => {
    const agencies = [await service.agency(), await service.agency()];
    const running = { over: false };
    const watching = (async () => {
      while (!running.over) {
        for (const { scope } of agencies) expect(await findDrift(scope)).toEqual([]);
      }
    })();
    const done = await churn(agencies, 20_261_121).finally(() => {
      running.over = true;
    });
    await watching;
    expect(done).toBeGreaterThan(1_000);
    const counted = await Promise.all(agencies.map(rows));
    expect(await Promise.all(agencies.map(totals))).toEqual(counted);
    // How many are left depends on who came first. Lists of nothing would prove nothing.
    for (const resource of KINDS)
      expect(
        counted.some((of) => Number(of[resource]) > 0),
        resource,
      ).toBe(true);
  });
});

const wrong = (agency: Agency, resource: string, by: number): Promise<unknown> =>
  service.query(
    `insert into live_counts (organization_id, resource, slot, live) values ($1, $2, 15, $3)
     on conflict (organization_id, resource, slot) do update set live = live_counts.live + excluded.live`,
    [agency.id, resource, by],
  );

describe('npm run recount', () => {
  const run = async (...options: string[]): Promise<{ failed: boolean; lines: unknown[] }> => {
    const { error, stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', './src/runtime.js', 'src/cli/recount.ts', ...options],
      {
        env: {
          DATABASE_URL: service.url,
          DATABASE_TIMEOUT_MS: '1000',
          DATA_DIR: service.dataDir,
          ...PROGRAM,
        },
      },
    ).then(
      ({ stdout }) => ({ error: undefined, stdout }),
      (failure: Error & { stdout: string }) => ({ error: failure, stdout: failure.stdout }),
    );
    const lines = stdout.trim().split('\n');
    return { failed: error !== undefined, lines: lines.map((line) => JSON.parse(line)) };
  };

  test('tells which counts are wrong and fails; with --fix it mends them; then it finds nothing', async () => {
    const agency = await service.agency();
    const neighbour = await service.agency();
    await agency.post('/v1/catalog/products', { title: 'Lima' });
    await neighbour.post('/v1/catalog/products', { title: 'Quito' });
    await wrong(agency, 'products', 3);
    await wrong(agency, 'quotes', 2);
    const found = [
      { organizationId: agency.id, resource: 'products', counted: 4, rows: 1 },
      { organizationId: agency.id, resource: 'quotes', counted: 2, rows: 0 },
    ];

    const told = await run();
    expect(told.failed).toBe(true);
    expect(told.lines).toMatchObject([...found, { drifts: 2, stopped: false }, { records: 0 }]);
    expect((await totals(agency)).products).toBe(4);

    const mended = await run('--fix');
    expect(mended.failed).toBe(false);
    expect(mended.lines).toMatchObject([...found, { drifts: 2 }, { records: 0 }]);
    expect(await totals(agency)).toMatchObject({ products: 1, quotes: 0 });
    expect(await totals(neighbour)).toMatchObject({ products: 1 });

    expect(await run()).toMatchObject({
      failed: false,
      lines: [{ drifts: 0 }, { records: 0 }],
    });
  });

  // Citus knows no policy with such a function.
  test.skipIf(inject('workerUrls').length > 0)(
    'takes its time: what a request may take is no limit of its',
    async () => {
      const agency = await service.agency();
      await agency.post('/v1/catalog/products', { title: 'Lima' });
      await wrong(agency, 'products', 3);
      // To count its row takes longer than a request may.
      await service.query(
        `create policy slow on products using (organization_id <> '${agency.id}' or pg_sleep(1.2) is not null)`,
      );
      await service.query('alter table products enable row level security');
      onTestFinished(async () => {
        await service.query('alter table products disable row level security');
        await service.query('drop policy slow on products');
      });
      expect(await run('--fix')).toMatchObject({
        failed: false,
        lines: [{ counted: 4, rows: 1 }, { drifts: 1 }, { records: 0 }],
      });
    },
  );

  test('mends beside writes without losing one', async () => {
    const agency = await service.agency();
    await wrong(agency, 'products', 1_000);
    const creating = Promise.all(
      Array.from({ length: 100 }, () => agency.post('/v1/catalog/products', { title: 'Lima' })),
    );
    await mendDrift(agency.scope);
    await creating;
    expect(await totals(agency)).toMatchObject({ products: 100 });
    expect(await findDrift(agency.scope)).toEqual([]);
  });
});
