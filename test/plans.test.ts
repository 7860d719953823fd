import pg, { type QueryConfig } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { loadDataSet, recordId, rotatedConversation, TERMS } from '../bench/dataset.ts';
import { type Asked, statementOf } from '../bench/workloads.ts';
import {
  getCatalogProduct,
  listCatalogProducts,
  productCopies,
  purgeCatalogProducts,
} from '../src/catalog/repository.ts';
import { getTranscript, listConversations } from '../src/conversations/repository.ts';
import { customerCopies, getCustomer, listCustomers } from '../src/customers/repository.ts';
import { listArchivedCatalogProducts } from '../src/dashboard/products/repository.ts';
import type { OrganizationScope } from '../src/db/run/scope.ts';
import { sweepKeys } from '../src/idempotency/repository.ts';
import { getOpportunity, listOpportunities } from '../src/opportunities/repository.ts';
import { listAttachments, listQuotes } from '../src/quotes/repository.ts';
import { listTeamMembers } from '../src/team/repository.ts';
import { createTestDatabase, type TestDatabase } from './support/databases.ts';

/** The plans of every read over loaded data: no scan does what an index can find, no sort what an index can order. */

const AGENCY = 1;
const LIMIT = 25;

// With fewer rows, or more of them the neighbours', some plans are good without their index, and nothing is told.
const LARGE = {
  customers: 12_000,
  products: 8_000,
  opportunities: 8_000,
  conversations: 3_600,
  quotes: 12_000,
};
const NEIGHBOUR = { customers: 20, products: 160, opportunities: 20, conversations: 20, quotes: 20 };
/** So many that reading a whole table is never right: not the team's, nor the products' for filters that most of them pass. */
const NEIGHBOURS = 100;

const IN_2025 = Date.parse('2025-01-15T00:00:00Z');

type Query = { limit: number; offset: number };
type List = (scope: OrganizationScope, query: Query) => Promise<unknown>;

/** Every list, with a value for each filter that it can be sent. */
const LISTS: Record<string, { list: List; filters: Record<string, string> }> = {
  listCatalogProducts: {
    list: listCatalogProducts,
    filters: {
      budgetTier: 'mid',
      externalReferenceCode: 'REF-5',
      query: TERMS.common,
      status: 'active',
      type: 'package',
    },
  },
  listCustomers: { list: listCustomers, filters: { query: TERMS.common, tag: 'luna de miel' } },
  listOpportunities: {
    list: listOpportunities,
    filters: {
      customerId: recordId('customer', AGENCY, 5),
      query: TERMS.common,
      salesStage: 'qualified',
      sellerMemberId: recordId('member', AGENCY, 3),
      stageId: recordId('stage', AGENCY, 4),
      temperature: 'hot',
    },
  },
  listConversations: {
    list: listConversations,
    filters: {
      activityState: 'closed',
      channel: 'whatsapp',
      customerId: recordId('customer', AGENCY, 5),
      query: TERMS.common,
    },
  },
  listQuotes: {
    list: listQuotes,
    filters: {
      customerId: recordId('customer', AGENCY, 5),
      opportunityId: recordId('opportunity', AGENCY, 5),
      query: TERMS.common,
      status: 'published',
    },
  },
  listTeamMembers: { list: listTeamMembers, filters: {} },
  listArchivedCatalogProducts: {
    list: (scope, query) => listArchivedCatalogProducts(scope, query, IN_2025),
    filters: {},
  },
};

/** Their indexes know which rows match, and nothing of an order. */
const UNORDERED = new Set(['query', 'tag']);

const OTHERS: Record<string, (scope: OrganizationScope) => Promise<unknown>> = {
  getCatalogProduct: (scope) => getCatalogProduct(scope, recordId('product', AGENCY, 5)),
  getCustomer: (scope) => getCustomer(scope, recordId('customer', AGENCY, 5)),
  getOpportunity: (scope) => getOpportunity(scope, recordId('opportunity', AGENCY, 5)),
  getConversationTranscript: (scope) =>
    getTranscript(scope, recordId('conversation', AGENCY, rotatedConversation(0)), 50),
  listQuoteAttachments: (scope) => listAttachments(scope, recordId('quote', AGENCY, 6)),
};

/** Over all organizations, as nothing else is. */
const purge = ({ db }: OrganizationScope) => purgeCatalogProducts(db, new Date(IN_2025).toISOString(), LIMIT);

type Node = {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Plans?: Node[];
};

const holder: { database?: TestDatabase; client?: pg.Client } = {};

/** There every plan is one task on one shard: test/db/distribute.test.ts. */
const isCluster = inject('workerUrls').length > 0;

beforeAll(async () => {
  if (isCluster) return;
  const database = await createTestDatabase(inject('serverUrl'));
  const client = new pg.Client({ connectionString: database.ownerUrl });
  Object.assign(holder, { database, client });
  await client.connect();
  await loadDataSet(client, [LARGE, ...Array.from({ length: NEIGHBOURS }, () => NEIGHBOUR)]);
});
afterAll(async () => {
  await holder.client?.end();
  await holder.database?.drop();
});

/** The nodes of the plan, the outermost first. A prepared statement is planned both ways that the server may choose. */
async function plansOf({ name, text, values = [] }: QueryConfig): Promise<Node[][]> {
  const { client } = holder;
  if (!client) throw new Error('The data are loaded before the first test.');
  const modes = name === undefined ? ['custom'] : ['custom', 'generic'];
  const literals = values.map((value) => (value === null ? 'null' : client.escapeLiteral(String(value))));
  await client.query(`prepare planned as ${text}`);
  const plans: Node[][] = [];
  for (const mode of modes) {
    await client.query('begin');
    await client.query(`set local plan_cache_mode = force_${mode}_plan`);
    const { rows } = await client.query(
      `explain (analyze, timing off, format json) execute planned${literals.length > 0 ? `(${literals})` : ''}`,
    );
    plans.push(nodesOf(rows[0]['QUERY PLAN'][0].Plan));
    await client.query('rollback');
  }
  await client.query('deallocate planned');
  return plans;
}

/** A full page: the list then counts too. */
const FULL = Array.from({ length: LIMIT }, () => ({ id: '', body: '{}', total: '0' }));

/** The plans of each statement that a call asks for, both ways. */
async function allPlansOf({ after = [], ...first }: Asked): Promise<Node[][]> {
  const plans: Node[][] = [];
  for (const statement of [first, ...after]) plans.push(...(await plansOf(statement)));
  return plans;
}

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

const scans = (nodes: readonly Node[]): string[] =>
  nodes.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => `${node['Relation Name']}`);

const indexesWithoutOrganization = (nodes: readonly Node[]): string[] =>
  nodes
    .filter((node) => node['Index Name'] && !node['Index Cond']?.includes('organization_id'))
    .map((node) => `${node['Index Name']}`);

/** The most rows that a sort of the plan is given. */
const mostSorted = (nodes: readonly Node[]): number =>
  Math.max(
    0,
    ...nodes
      .filter((node) => node['Node Type'].includes('Sort'))
      .map(({ Plans: [input] = [] }) => (input ? input['Actual Rows'] * input['Actual Loops'] : 0)),
  );

function subsets<Item>([first, ...others]: readonly Item[]): Item[][] {
  if (first === undefined) return [[]];
  return subsets(others).flatMap((set) => [set, [first, ...set]]);
}

const cases = Object.entries(LISTS).flatMap(([operation, { list, filters }]) =>
  subsets(Object.keys(filters)).map((sent) => ({ operation, list, sent, filters })),
);

const used = new Set<string>();

function remember(nodes: readonly Node[]): void {
  for (const node of nodes) if (node['Index Name']) used.add(node['Index Name']);
}

// In this order: the last test sums up what the others have used.
describe.skipIf(isCluster)('the plans', { shuffle: false }, () => {
  describe('every list, with every filter', () => {
    test.each(cases)('$operation $sent', async ({ list, sent, filters }) => {
      const chosen = Object.fromEntries(sent.map((filter) => [filter, filters[filter]]));
      const query = { limit: LIMIT, offset: 0, ...chosen };
      for (const nodes of await allPlansOf(await statementOf(AGENCY, (scope) => list(scope, query), FULL))) {
        remember(nodes);
        expect(scans(nodes), 'read in whole').toEqual([]);
        expect(indexesWithoutOrganization(nodes), 'searched without the organization').toEqual([]);
        if (!sent.some((filter) => UNORDERED.has(filter)))
          expect(mostSorted(nodes)).toBeLessThanOrEqual(LIMIT);
      }
    });
  });

  describe('every other read', () => {
    test.each(Object.entries(OTHERS))('%s', async (_operation, read) => {
      for (const nodes of await allPlansOf(await statementOf(AGENCY, read))) {
        remember(nodes);
        expect(scans(nodes), 'read in whole').toEqual([]);
        expect(indexesWithoutOrganization(nodes), 'searched without the organization').toEqual([]);
        // A transcript sorts what it takes from each thread and store.
        expect(mostSorted(nodes)).toBeLessThanOrEqual(50 * 3);
      }
    });
  });

  /** So few rows match one of these that reading them costs nothing. */
  const SELECTIVE = new Set(['customerId', 'externalReferenceCode', 'opportunityId']);

  describe('the page is cut and the total counted in an index: no table is read for more rows than the page has', () => {
    const inIndexes = cases.filter(
      ({ operation, sent }) =>
        operation !== 'listTeamMembers' &&
        !sent.some((filter) => UNORDERED.has(filter) || SELECTIVE.has(filter)),
    );
    test.each(inIndexes)('$operation $sent', async ({ list, sent, filters }) => {
      const chosen = Object.fromEntries(sent.map((filter) => [filter, filters[filter]]));
      for (const offset of [0, 100]) {
        const query = { limit: LIMIT, offset, ...chosen };
        for (const nodes of await allPlansOf(
          await statementOf(AGENCY, (scope) => list(scope, query), FULL),
        )) {
          const reads = nodes.filter((node) => node['Relation Name']);
          expect(reads.length).toBeGreaterThan(0);
          const readsTable = reads.filter((node) => node['Node Type'] !== 'Index Only Scan');
          for (const node of readsTable)
            expect(node['Actual Rows'] * node['Actual Loops'], node['Relation Name']).toBeLessThanOrEqual(
              node['Relation Name'] === 'product_variants' ? LIMIT * 100 : LIMIT,
            );
        }
      }
    });
  });

  describe('once it is known, PostgreSQL plans no more', () => {
    const reads: Record<string, (scope: OrganizationScope) => Promise<unknown>> = {
      ...Object.fromEntries(
        Object.entries(LISTS).map(([operation, { list }]) => [
          operation,
          (scope: OrganizationScope) => list(scope, { limit: LIMIT, offset: 0 }),
        ]),
      ),
      ...OTHERS,
    };
    test.each(Object.entries(reads))('%s', async (_operation, read) => {
      const { after = [], ...first } = await statementOf(AGENCY, read);
      for (const statement of [first, ...after]) {
        for (let run = 0; run < 8; run += 1) await holder.client?.query(statement);
        const plans = await holder.client?.query(
          'select generic_plans::int, custom_plans::int from pg_prepared_statements where name = $1',
          [statement.name],
        );
        expect(plans?.rows, statement.name).toEqual([{ generic_plans: 3, custom_plans: 5 }]);
      }
    });
  });

  describe('a look at the copies of records costs what it looks at, wherever it begins', () => {
    const looks = [
      { records: 'products', kind: 'product', copies: productCopies },
      { records: 'customers', kind: 'customer', copies: customerCopies },
    ] as const;
    const cases = looks.flatMap(({ records, kind, copies }) =>
      (['stale', 'wrong'] as const).map((find) => ({
        records,
        find,
        look: (scope: OrganizationScope) => copies[find](scope, recordId(kind, AGENCY, 7_000), 100),
      })),
    );
    const copiesOf = (records: string): string[] => [
      records,
      `searchable_${records}`,
      `${records.slice(0, -1)}_bodies`,
    ];
    test.each(cases)('$find copies of $records', async ({ records, look }) => {
      for (const nodes of await allPlansOf(await statementOf(AGENCY, look, []))) {
        remember(nodes);
        expect(scans(nodes), 'read in whole').toEqual([]);
        const read = nodes
          .filter((node) => copiesOf(records).includes(node['Relation Name'] ?? ''))
          .map((node) => node['Actual Rows'] * node['Actual Loops']);
        expect(read.length).toBeGreaterThan(0);
        expect(Math.max(...read)).toBeLessThanOrEqual(110);
      }
    });
  });

  test('the purge', async () => {
    for (const nodes of await allPlansOf(await statementOf(AGENCY, purge, []))) {
      remember(nodes);
      expect(scans(nodes), 'read in whole').toEqual([]);
      expect(mostSorted(nodes)).toBeLessThanOrEqual(2 * LIMIT);
    }
  });

  test('the sweep of idempotency keys', async () => {
    await holder.client?.query(
      `insert into idempotency_keys (organization_id, fingerprint, body_hash, status, headers, body, created_at)
     select organization_id, uuid_send(id), '', 201, '{}', '', created_at from products;
     analyze idempotency_keys`,
    );
    const sweep = ({ db }: OrganizationScope) => sweepKeys(db, LIMIT);
    for (const nodes of await allPlansOf(await statementOf(AGENCY, sweep, []))) {
      remember(nodes);
      expect(scans(nodes), 'read in whole').toEqual([]);
      expect(mostSorted(nodes)).toBeLessThanOrEqual(LIMIT);
    }
  });

  test('no index is there that none of these uses', async () => {
    const { rows } = (await holder.client?.query<{ name: string }>(
      `select indexrelid::regclass::text as name from pg_index
     where not indisunique and indrelid in (
       select attrelid from pg_attribute where attname = 'organization_id') and indrelid <> 'api_keys'::regclass`,
    )) ?? { rows: [] };
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.map(({ name }) => name).filter((name) => !used.has(name))).toEqual([]);
  });
});
