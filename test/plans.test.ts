import { getTableName } from 'drizzle-orm';
import { toSnakeCase } from 'drizzle-orm/casing';
import pg, { type QueryConfig } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { getCatalogProduct, listArchivedCatalogProducts } from '../src/catalog/repository.ts';
import { getTranscript } from '../src/conversations/messages.repository.ts';
import { listArchivedCustomers } from '../src/customers/archived.repository.ts';
import { getCustomer } from '../src/customers/repository.ts';
import type { OrganizationScope } from '../src/db/pool/scope.ts';
import type { FileLinks } from '../src/files/links.ts';
import { sweepKeys } from '../src/http/idempotency.repository.ts';
import { getOpportunity } from '../src/opportunities/repository.ts';
import { eraseCustomer } from '../src/privacy/erasure.repository.ts';
import { exportCustomer } from '../src/privacy/export.repository.ts';
import { mergeCustomer } from '../src/privacy/merge.repository.ts';
import { listAttachments } from '../src/quotes/attachments.repository.ts';
import { createTestDatabase, type TestDatabase } from './support/databases.ts';
import { loadDataSet, organizationId, recordId, rotatedConversation, TERMS } from './support/dataset.ts';
import { FILE, type Filter, LISTS, setsOf } from './support/operations.ts';
import { type Asked, statementOf } from './support/statements.ts';

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
type Filtered = Record<string, Pick<Filter, 'field' | 'loaded' | 'isSelective' | 'isUnordered'>>;
type Planned = { read: (scope: OrganizationScope, query: Query) => Promise<unknown>; filters: Filtered };

/** Every list, with a value for each filter that it can be sent. */
const PLANNED: Record<string, Planned> = {
  ...Object.fromEntries(
    Object.entries(LISTS).map(([name, { read, filters, searched }]) => {
      const query = { field: 'search', loaded: TERMS.common, isUnordered: true };
      const all: Filtered = { ...filters, ...(Object.keys(searched).length > 0 && { query }) };
      return [name, { read, filters: all }];
    }),
  ),
  listArchivedCatalogProducts: {
    read: (scope, query) => listArchivedCatalogProducts(scope, query, IN_2025),
    filters: {},
  },
};

const OTHERS: Record<string, (scope: OrganizationScope) => Promise<unknown>> = {
  getCatalogProduct: (scope) => getCatalogProduct(scope, recordId('product', AGENCY, 5)),
  getCustomer: (scope) => getCustomer(scope, recordId('customer', AGENCY, 5)),
  getOpportunity: (scope) => getOpportunity(scope, recordId('opportunity', AGENCY, 5)),
  getConversationTranscript: (scope) =>
    getTranscript(scope, recordId('conversation', AGENCY, rotatedConversation(0)), { limit: 50 }),
  listQuoteAttachments: (scope) =>
    listAttachments(scope, recordId('quote', AGENCY, 6), { sign: ({ organizationId }) => organizationId }),
};

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

/** There every plan is that of a cluster. */
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
  const textOf = (value: unknown) =>
    Array.isArray(value) ? `{${value.map((one) => JSON.stringify(one))}}` : String(value);
  const literals = values.map((value) => (value === null ? 'null' : client.escapeLiteral(textOf(value))));
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
const FULL = Array.from({ length: LIMIT }, () => ({
  id: '',
  body: '{}',
  text: '{}',
  total: '0',
}));

/** The plans of each statement that a call asks for, both ways. */
async function allPlansOf({ after = [], ...first }: Asked): Promise<Node[][]> {
  const plans: Node[][] = [];
  for (const statement of [first, ...after]) plans.push(...(await plansOf(statement)));
  return plans;
}

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

const scans = (nodes: readonly Node[]): string[] =>
  nodes.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => `${node['Relation Name']}`);

/** Of one organization, by indexes. */
function expectFound(nodes: readonly Node[]): void {
  remember(nodes);
  expect(scans(nodes), 'read in whole').toEqual([]);
  const indexes = nodes.filter((node) => node['Index Name']);
  const unscoped = indexes.filter((node) => !node['Index Cond']?.includes('organization_id'));
  expect(unscoped, 'searched without the organization').toEqual([]);
}

/** The most rows that a sort of the plan is given. */
const mostSorted = (nodes: readonly Node[]): number =>
  Math.max(
    0,
    ...nodes
      .filter((node) => node['Node Type'].includes('Sort'))
      .map(({ Plans: [input] = [] }) => (input ? input['Actual Rows'] * input['Actual Loops'] : 0)),
  );

const cases = Object.entries(PLANNED).flatMap(([operation, { read, filters }]) =>
  setsOf(Object.keys(filters)).map((sent) => ({
    operation,
    sent,
    isOrdered: !sent.some((filter) => filters[filter]?.isUnordered),
    isSelective: sent.some((filter) => filters[filter]?.isSelective),
    columns: sent.map((filter) => toSnakeCase(filters[filter]?.field ?? filter)),
    page: (scope: OrganizationScope, offset = 0) =>
      read(scope, {
        limit: LIMIT,
        offset,
        ...Object.fromEntries(sent.map((filter) => [filter, filters[filter]?.loaded])),
      }),
  })),
);

const used = new Set<string>();

function remember(nodes: readonly Node[]): void {
  for (const node of nodes) if (node['Index Name']) used.add(node['Index Name']);
}

// In this order: the first looks at the data, the last sums up what the others have used.
describe.skipIf(isCluster)('the plans', { shuffle: false }, () => {
  test.each(Object.values(LISTS))('the data set has many of $resource.missing.noun', async ({ resource }) => {
    const table = getTableName(resource.table);
    const found = await holder.client?.query(`select from ${table} limit 100`);
    expect(found?.rowCount, `Write a step that fills ${table} into test/support/dataset.ts`).toBe(100);
  });

  const filtered = cases.filter(({ sent }) => sent.length === 1);
  test.each(filtered)('the data set has records that $operation finds by $sent', async ({ page, sent }) => {
    const { after: _, ...statement } = await statementOf(AGENCY, page);
    const found = await holder.client?.query(statement);
    expect(
      found?.rowCount,
      `\`loaded\` of ${sent} in ${FILE} is a value that test/support/dataset.ts writes`,
    ).toBeGreaterThan(0);
  });

  describe('every list, with every filter', () => {
    test.each(cases)(
      '$operation $sent',
      async ({ operation, page, sent, columns, isOrdered, isSelective }) => {
        const plans = await allPlansOf(await statementOf(AGENCY, page, FULL));
        const [column = ''] = columns;
        const without = plans.filter((nodes) => !nodes.some((node) => node['Index Cond']?.includes(column)));
        // The page of a common text is found sooner in the order of the list.
        const isFound = isOrdered ? without.length === 0 : without.length < plans.length;
        if (sent.length === 1)
          expect(
            isFound,
            `No index finds the records by \`${sent}\` of ${operation}. Write one into src/db/tables: the organization, ${column}, ${isOrdered ? 'and what the list is ordered by' : 'with gin'}`,
          ).toBe(true);
        for (const nodes of plans) {
          expectFound(nodes);
          if (isOrdered) expect(mostSorted(nodes)).toBeLessThanOrEqual(LIMIT);
        }

        // The page is cut and the total counted in an index: no table is read for more rows than the page has.
        if (operation === 'GET /v1/team' || !isOrdered || isSelective) return;
        const later = await allPlansOf(await statementOf(AGENCY, (scope) => page(scope, 100), FULL));
        for (const node of [...plans, ...later].flat())
          if (node['Relation Name'] && node['Node Type'] !== 'Index Only Scan')
            expect(
              node['Actual Rows'] * node['Actual Loops'],
              `${node['Relation Name']} itself is read. The index of one of these filters takes the columns of the others too, after the order`,
            ).toBeLessThanOrEqual(LIMIT);
      },
    );
  });

  describe('what is new or old is found by an index, however much there is', () => {
    const [NOW, LONG_AGO] = [new Date().toISOString(), '2024-12-01T00:03:00.000Z'];
    const ends = Object.entries(LISTS)
      .filter(([operation]) => operation !== 'GET /v1/team')
      .flatMap(([operation, { read, dates }]) => dates.map((filter) => ({ operation, filter, read })));
    test.each(ends)('$operation $filter', async ({ operation, filter, read }) => {
      const query = { limit: LIMIT, offset: 0, [filter]: filter.endsWith('Since') ? NOW : LONG_AGO };
      const field = filter.replace(/(Since|Before)$/, 'At');
      for (const nodes of await allPlansOf(await statementOf(AGENCY, (scope) => read(scope, query), FULL))) {
        expect(
          nodes.some((node) => node['Index Cond']?.includes(toSnakeCase(field))),
          `No index finds the records by ${filter} of ${operation}. Write one into src/db/tables: the organization, ${field}, and what the list is ordered by`,
        ).toBe(true);
        expectFound(nodes);
        for (const node of nodes)
          if (node['Relation Name'])
            expect(node['Actual Rows'] * node['Actual Loops']).toBeLessThanOrEqual(LIMIT);
      }
    });
  });

  test('the latest name of a contact, as the triggers of customers and conversations look for it', async () => {
    const text = `select id from conversations where organization_id = $1 and channel = $2 and contact_key = $3
      and contact_name is not null order by created_at desc nulls last, id desc nulls last limit 1`;
    const values = [organizationId(AGENCY), 'whatsapp', '+525512345678'];
    for (const nodes of await plansOf({ name: 'name', text, values })) expectFound(nodes);
  });

  describe('what is tied to a person is found by indexes, however much there is', () => {
    const id = recordId('customer', AGENCY, 7);
    /** The data set has no rows in these. */
    const UNFILLED = ['erasures', 'erased_files', 'idempotency_keys'];
    const links = { sign: () => Promise.resolve('') } as unknown as FileLinks;
    const works: Record<string, (scope: OrganizationScope) => Promise<unknown>> = {
      export: async (scope) => Array.fromAsync(await exportCustomer(scope, id, links)),
      erasure: (scope) => eraseCustomer(scope, id),
      'list of the archived': (scope) => listArchivedCustomers(scope, { limit: LIMIT, offset: 0 }),
      merge: (scope) => mergeCustomer(scope, id, { from: recordId('customer', AGENCY, 6) }),
    };
    const found = {
      id,
      contactKeys: ['whatsapp +525512345678', 'email ana@example.com'],
      body: '{}',
      isLive: true,
      isFromLive: true,
      isMerged: false,
    };
    test.each(Object.entries(works))('%s', async (_work, work) => {
      for (const nodes of await allPlansOf(await statementOf(AGENCY, work, [found]))) {
        remember(nodes);
        expect(scans(nodes).filter((table) => !UNFILLED.includes(table))).toEqual([]);
      }
    });
  });

  describe('every other read', () => {
    test.each(Object.entries(OTHERS))('%s', async (_operation, read) => {
      for (const nodes of await allPlansOf(await statementOf(AGENCY, read))) {
        expectFound(nodes);
        // A transcript sorts what it takes from each thread and store.
        expect(mostSorted(nodes)).toBeLessThanOrEqual(50 * 3);
      }
    });
  });

  describe('once it is known, PostgreSQL plans no more', () => {
    const reads: Record<string, (scope: OrganizationScope) => Promise<unknown>> = {
      ...Object.fromEntries(
        cases.filter(({ sent }) => sent.length === 0).map(({ operation, page }) => [operation, page]),
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

  const jobs = Object.entries(LISTS).flatMap(([name, { purge }]) => {
    const work = async ({ db }: OrganizationScope) => purge?.(db, new Date(IN_2025).toISOString(), LIMIT);
    return purge ? [[`the purge of ${name}`, work] as const] : [];
  });
  const sweep = async ({ db }: OrganizationScope) => sweepKeys(db, LIMIT);
  test.each([...jobs, ['the sweep of idempotency keys', sweep] as const])(
    '%s, over all organizations',
    async (_job, work) => {
      await holder.client?.query(
        `insert into idempotency_keys (organization_id, fingerprint, body_hash, status, headers, body, created_at)
     select organization_id, uuid_send(id), '', 201, '{}', '', created_at from products on conflict do nothing;
     analyze idempotency_keys`,
      );
      for (const nodes of await allPlansOf(await statementOf(AGENCY, work, []))) {
        remember(nodes);
        expect(scans(nodes), 'read in whole').toEqual([]);
        expect(mostSorted(nodes)).toBeLessThanOrEqual(2 * LIMIT);
      }
    },
  );

  test('no index is there that none of these uses', async () => {
    const { rows } = (await holder.client?.query<{ name: string }>(
      `select indexrelid::regclass::text as name from pg_index
     where not indisunique and indrelid in (
       select attrelid from pg_attribute where attname = 'organization_id') and indrelid <> 'api_keys'::regclass`,
    )) ?? { rows: [] };
    expect(rows.length).toBeGreaterThan(20);
    expect(
      rows.map(({ name }) => name).filter((name) => !used.has(name)),
      'No list, filter or job of this file uses these: drop them, or ask for what they are there for',
    ).toEqual([]);
  });
});
