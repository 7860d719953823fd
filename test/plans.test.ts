import { getTableName } from 'drizzle-orm';
import { toSnakeCase } from 'drizzle-orm/casing';
import pg, { type QueryConfig } from 'pg';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { getCatalogProduct } from '../src/catalog/repository.ts';
import { reportDelivery } from '../src/conversations/messages.repository.ts';
import { listConversationRecords, listConversations } from '../src/conversations/repository.ts';
import { getTranscript } from '../src/conversations/transcripts.repository.ts';
import { getCustomer, listCustomers } from '../src/customers/repository.ts';
import { allStatements, type OrganizationScope, sweepKeys } from '../src/db/index.ts';
import type { FileLinks } from '../src/files/links.ts';
import { getOpportunity } from '../src/opportunities/repository.ts';
import { eraseCustomer } from '../src/person/erase.repository.ts';
import { exportCustomer } from '../src/person/export.repository.ts';
import { mergeCustomer } from '../src/person/merge.repository.ts';
import { listAttachments } from '../src/quotes/attachments.repository.ts';
import { createTestDatabase } from './support/databases.ts';
import { loadDataSet, organizationId, recordId, rotatedConversation, TERMS } from './support/dataset.ts';
import { DASHBOARD_LISTS, FILE, type Filter, LISTS, setsOf } from './support/operations.ts';
import { type Statements, statementOf } from './support/statements.ts';
// They compose every statement.
import '../src/app.ts';
import '../src/dashboard-app.ts';
import '../src/jobs/schedule.ts';

/** The query plans over a large data set: every read finds its rows in indexes, in the order of the list. */

const AGENCY = 1;
const LIMIT = 25;

// With fewer rows, or a larger share of other organizations' rows, some plans are good without their index.
const SIZE = {
  customers: 12_000,
  products: 8_000,
  opportunities: 8_000,
  conversations: 3_600,
  quotes: 12_000,
};
const OTHER_SIZE = { customers: 20, products: 160, opportunities: 20, conversations: 20, quotes: 20 };
/** So many that reading a whole table is never the best plan, even if the filter finds most of the organization's rows. */
const OTHER_ORGANIZATIONS = 100;

type Query = { limit: number; offset: number };
type Filtered = Record<string, Pick<Filter, 'field' | 'loaded' | 'isSelective' | 'isUnordered'>>;
type Read = (scope: OrganizationScope) => Promise<unknown>;
type PlannedList = {
  operation: string;
  read: (scope: OrganizationScope, query: Query) => Promise<unknown>;
  filters: Filtered;
};

/** Every list, with all its filters. */
const PLANNED_LISTS: PlannedList[] = [
  ...Object.entries(LISTS).map(([operation, { read, filters, searched }]) => {
    const query = { field: 'search', loaded: TERMS.common, isUnordered: true };
    return { operation, read, filters: { ...filters, ...(Object.keys(searched).length > 0 && { query }) } };
  }),
  ...Object.entries(DASHBOARD_LISTS)
    // `/team` has the statements of `/team-members`.
    .filter(([operation]) => operation.endsWith('archived=true') && !operation.includes('/team?'))
    .map(([operation, { read }]) => ({ operation, read, filters: {} })),
];

const OTHER_READS: Record<string, Read> = {
  getCatalogProduct: (scope) => getCatalogProduct(scope, recordId('product', AGENCY, 5)),
  getCustomer: (scope) => getCustomer(scope, recordId('customer', AGENCY, 5)),
  getOpportunity: (scope) => getOpportunity(scope, recordId('opportunity', AGENCY, 5)),
  getConversationTranscript: (scope) =>
    getTranscript(scope, recordId('conversation', AGENCY, rotatedConversation(0)), { limit: 50 }),
  'getConversationTranscript after': (scope) =>
    getTranscript(scope, recordId('conversation', AGENCY, rotatedConversation(0)), {
      limit: 50,
      after: '2024-01-01',
    }),
  inbox: (scope) => listConversationRecords(scope, { limit: LIMIT, offset: 0 }),
  'inbox of a member': (scope) =>
    listConversationRecords(scope, { limit: LIMIT, offset: 0, controlledBy: 'member' }),
  reportDelivery: (scope) => reportDelivery(scope, 'wamid.1', { status: 'read' }),
  listQuoteAttachments: (scope) =>
    listAttachments(scope, recordId('quote', AGENCY, 6), { sign: ({ organizationId }) => organizationId }),
};

type Node = {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Plans?: Node[];
};

let client: pg.Client;

/** The plans of a cluster are different. */
const isCluster = inject('workerUrls').length > 0;

beforeAll(async () => {
  if (isCluster) return undefined;
  const database = await createTestDatabase(inject('serverUrl'));
  client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  await loadDataSet(client, [SIZE, ...Array.from({ length: OTHER_ORGANIZATIONS }, () => OTHER_SIZE)]);
  await client.query(
    `insert into idempotency_keys (organization_id, fingerprint, body_hash, record_id, created_at)
     select organization_id, uuid_send(id), '', id, now() - mod(row_number() over (), 48) * interval '1 hour'
     from products;
     insert into api_keys (organization_id, id, name, hash, start, last4, access)
     select organization_id, id, '', sha256(uuid_send(id)), '', '', 'write' from products;
     insert into erasures (organization_id, customer_id, erased, same_contacts)
     select organization_id, id, '{}', '{}' from customers;
     analyze idempotency_keys, api_keys, erasures`,
  );
  return async () => {
    await client.end();
    await database.drop();
  };
});

const usedIndexes = new Set<string>();

/** The nodes of each plan, the outermost first. A named statement has a custom plan and a generic one. */
async function plansOf({ name, text, values = [] }: QueryConfig): Promise<Node[][]> {
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
    const nodes = nodesOf(rows[0]['QUERY PLAN'][0].Plan);
    for (const node of nodes) if (node['Index Name']) usedIndexes.add(node['Index Name']);
    plans.push(nodes);
    await client.query('rollback');
  }
  await client.query('deallocate planned');
  return plans;
}

/** A full page, after which the list is counted too. */
const FULL = Array.from({ length: LIMIT }, () => ({ id: '', body: Buffer.from('{}'), total: '0' }));

/** The plans of all statements of a read. */
async function allPlansOf({ after = [], ...first }: Statements): Promise<Node[][]> {
  const plans: Node[][] = [];
  for (const statement of [first, ...after]) plans.push(...(await plansOf(statement)));
  return plans;
}

const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** The tables that are not read by an index. */
const scannedTables = (nodes: readonly Node[]): string[] =>
  nodes.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => `${node['Relation Name']}`);

const rowsOf = (node: Node): number => node['Actual Rows'] * node['Actual Loops'];

/** With those that a filter removed. */
const rowsRead = (node: Node): number =>
  node['Relation Name'] || node['Index Name']
    ? (node['Actual Rows'] +
        (node['Rows Removed by Filter'] ?? 0) +
        (node['Rows Removed by Index Recheck'] ?? 0)) *
      node['Actual Loops']
    : 0;

/** Every row is found by an index that begins with the organization. */
function expectIndexed(nodes: readonly Node[]): void {
  expect(scannedTables(nodes), 'tables that are read as a whole').toEqual([]);
  const indexes = nodes.filter((node) => node['Index Name']);
  const unscoped = indexes.filter((node) => !node['Index Cond']?.includes('organization_id'));
  expect(unscoped, 'indexes that are searched without the organization').toEqual([]);
}

/** The largest number of rows that the plan sorts. */
const mostSorted = (nodes: readonly Node[]): number =>
  Math.max(
    0,
    ...nodes
      .filter((node) => node['Node Type'].includes('Sort'))
      .map(({ Plans: [input] = [] }) => (input ? rowsOf(input) : 0)),
  );

const cases = PLANNED_LISTS.flatMap(({ operation, read, filters }) =>
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

// In this order: the last test needs the indexes that the others have used.
describe.skipIf(isCluster)('the plans', { shuffle: false }, () => {
  test.each(Object.values(LISTS))('the data set has many of $resource.missing.noun', async ({ resource }) => {
    const table = getTableName(resource.table);
    const found = await client.query(`select from ${table} limit 100`);
    expect(found.rowCount, `Write a step that fills ${table} into test/support/dataset.ts`).toBe(100);
  });

  const filtered = cases.filter(({ sent }) => sent.length === 1);
  test.each(filtered)('the data set has records that $operation finds by $sent', async ({ page, sent }) => {
    const { after: _, ...statement } = await statementOf(AGENCY, page);
    const found = await client.query(statement);
    expect(
      found.rowCount,
      `Set \`loaded\` of ${sent} in ${FILE} to a value that test/support/dataset.ts writes`,
    ).toBeGreaterThan(0);
  });

  describe('a list finds and orders its records by an index', () => {
    test.each(cases)(
      '$operation $sent',
      async ({ operation, page, sent, columns, isOrdered, isSelective }) => {
        const plans = await allPlansOf(await statementOf(AGENCY, page, FULL));
        const [column = ''] = columns;
        const without = plans.filter((nodes) => !nodes.some((node) => node['Index Cond']?.includes(column)));
        // A page of a common text is found faster in the order of the list: one of the plans may do so.
        const isFound = isOrdered ? without.length === 0 : without.length < plans.length;
        if (sent.length === 1)
          expect(
            isFound,
            `No index finds the records by \`${sent}\` of ${operation}. Write one into src/db/tables: the organization, ${column}, ${isOrdered ? 'and what the list is ordered by' : 'with gin'}`,
          ).toBe(true);
        for (const nodes of plans) {
          expectIndexed(nodes);
          if (isOrdered) expect(mostSorted(nodes)).toBeLessThanOrEqual(LIMIT);
        }

        // Pages are skipped and rows are counted in an index alone: the table is read only for the rows of the page.
        if (operation === 'GET /v1/team' || !isOrdered || isSelective) return;
        const later = await allPlansOf(await statementOf(AGENCY, (scope) => page(scope, 100), FULL));
        for (const node of [...plans, ...later].flat())
          if (node['Relation Name'] && node['Node Type'] !== 'Index Only Scan')
            expect(
              rowsRead(node),
              `${node['Relation Name']} itself is read. Add the columns of the other filters to the index of one of them, after the order`,
            ).toBeLessThanOrEqual(LIMIT);
      },
    );
  });

  const IDS: Record<string, Parameters<typeof recordId>[0]> = {
    customerId: 'customer',
    opportunityId: 'opportunity',
    sellerMemberId: 'member',
    stageId: 'stage',
  };
  const forms = Object.entries(LISTS).flatMap(([operation, { read, filters }]) =>
    Object.entries(IDS)
      .filter(([filter]) => filter in filters)
      .map(([filter, kind]) => ({ operation, filter, kind, read })),
  );
  describe.each(forms)('$operation finds by an index the $filter', ({ filter, kind, read }) => {
    const plansBy = async (value: string) => {
      const plans: Node[][] = [];
      for (const offset of [0, 100]) {
        const query = { limit: LIMIT, offset, [filter]: value };
        plans.push(...(await allPlansOf(await statementOf(AGENCY, (scope) => read(scope, query), FULL))));
      }
      return plans;
    };

    test('null', async () => {
      for (const nodes of await plansBy('null')) {
        expectIndexed(nodes);
        expect(mostSorted(nodes)).toBeLessThanOrEqual(LIMIT);
        for (const node of nodes) expect(rowsRead(node), node['Index Name']).toBeLessThanOrEqual(LIMIT);
      }
    });

    test.each([2, 100])('of a list of %i', async (count) => {
      const sent = Array.from({ length: count }, (_, index) => recordId(kind, AGENCY, 1 + index));
      for (const nodes of await plansBy(sent.join())) expectIndexed(nodes);
    });
  });

  const byContact = { 'GET /v1/customers': listCustomers, 'GET /v1/conversations': listConversations };
  test.each(Object.entries(byContact))(
    '%s by contact reads the rows of the contact alone',
    async (_operation, read) => {
      const { rows } = await client.query<{ key: string }>(
        "select contact_key as key from customer_contact_keys where organization_id = $1 and identifier_type = 'whatsapp' limit 1",
        [organizationId(AGENCY)],
      );
      const contact = String(rows[0]?.key);
      for (const query of [{ contact }, { contact, contactType: 'whatsapp' as const }, { contact: 'nobody' }])
        for (const nodes of await allPlansOf(
          await statementOf(AGENCY, (scope) => read(scope, { limit: LIMIT, offset: 0, ...query }), FULL),
        )) {
          expectIndexed(nodes);
          for (const node of nodes) expect(rowsRead(node), node['Index Name']).toBeLessThanOrEqual(LIMIT);
        }
    },
  );

  describe('a filter by date reads no more rows than the page has', () => {
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
        expectIndexed(nodes);
        for (const node of nodes) expect(rowsRead(node), node['Index Name']).toBeLessThanOrEqual(LIMIT);
      }
    });
  });

  test('triggers find the latest name of a contact by an index', async () => {
    const text = `select id from conversations where organization_id = $1 and channel = $2 and contact_key = $3
      and contact_name is not null order by created_at desc nulls last, id desc nulls last limit 1`;
    const values = [organizationId(AGENCY), 'whatsapp', '+525512345678'];
    for (const nodes of await plansOf({ name: 'name', text, values })) expectIndexed(nodes);
  });

  describe('the records of a person are found by indexes', () => {
    const id = recordId('customer', AGENCY, 7);
    const links = { sign: () => Promise.resolve('') } as unknown as FileLinks;
    const reads: Record<string, Read> = {
      export: async (scope) => Array.fromAsync(await exportCustomer(scope, id, links)),
      erasure: (scope) => eraseCustomer(scope, id),
      merge: (scope) => mergeCustomer(scope, id, { from: recordId('customer', AGENCY, 6) }),
    };
    const found = {
      id,
      mergedInto: null,
      contactKeys: ['whatsapp +525512345678', 'email ana@example.com'],
      now: '0',
      body: Buffer.from('{}'),
      attachments: Buffer.from('[]'),
      isMergeable: true,
      isMerged: false,
    };
    test.each(Object.entries(reads))('%s', async (_name, read) => {
      for (const nodes of await allPlansOf(await statementOf(AGENCY, read, [found])))
        expect(scannedTables(nodes)).toEqual([]);
    });
  });

  describe('every other read finds its records by an index', () => {
    test.each(Object.entries(OTHER_READS))('%s', async (_operation, read) => {
      for (const nodes of await allPlansOf(await statementOf(AGENCY, read))) {
        expectIndexed(nodes);
        // A transcript sorts the messages that it takes from each of three threads.
        expect(mostSorted(nodes)).toBeLessThanOrEqual(50 * 3);
      }
    });
  });

  describe('after five runs, PostgreSQL does not plan a statement again', () => {
    const reads: Record<string, Read> = {
      ...Object.fromEntries(
        cases.filter(({ sent }) => sent.length === 0).map(({ operation, page }) => [operation, page]),
      ),
      ...OTHER_READS,
    };
    test.each(Object.entries(reads))('%s', async (_operation, read) => {
      const { after = [], ...first } = await statementOf(AGENCY, read);
      for (const statement of [first, ...after]) {
        for (let run = 0; run < 8; run += 1) await client.query(statement);
        const { rows } = await client.query(
          'select generic_plans::int, custom_plans::int from pg_prepared_statements where name = $1',
          [statement.name],
        );
        expect(rows, statement.name).toEqual([{ generic_plans: 3, custom_plans: 5 }]);
      }
    });
  });

  const jobs = Object.entries(LISTS).flatMap(([name, { purge }]) => {
    const work = async ({ db }: OrganizationScope) => purge?.(db, LIMIT);
    return purge ? [[`the purge of ${name}`, work] as const] : [];
  });
  const sweep = async ({ db }: OrganizationScope) => sweepKeys(db, LIMIT);
  test.each([...jobs, ['the sweep of idempotency keys', sweep] as const])(
    '%s finds its rows of all organizations by an index',
    async (_job, work) => {
      for (const nodes of await allPlansOf(await statementOf(AGENCY, work, []))) {
        expect(scannedTables(nodes), 'tables that are read as a whole').toEqual([]);
        expect(mostSorted(nodes)).toBeLessThanOrEqual(2 * LIMIT);
      }
    },
  );

  /** Statements that read a table as a whole, or by an index that does not begin with the organization, and why. So does a purge. */
  const UNSCOPED: Record<string, string> = {
    'api_keys.find by api_keys_hash_key': 'the organization is found by the key',
    'idempotency_keys.due_for_sweep by idempotency_keys_created_at_idx': 'a job for all organizations',
    'organizations.all by organizations': 'the organizations themselves',
    'organizations.claim_for_purge by organizations': 'the organizations themselves',
    'organizations.claimed_for_purge by organizations': 'the organizations themselves',
    'organizations.list by organizations': 'the organizations themselves',
    'organizations.list by team_members_user_key': 'an account has several organizations',
    'quotes.list_records token archived by quotes_token_idx': 'a token is unique among all organizations',
    'quotes.list_records token by quotes_token_idx': 'a token is unique among all organizations',
    'quotes.list_records_total token archived by quotes_token_idx':
      'a token is unique among all organizations',
    'quotes.list_records_total token by quotes_token_idx': 'a token is unique among all organizations',
    'quotes.of_token by quotes_token_idx': 'a token is unique among all organizations',
  };

  test('every statement of the service finds its rows by an index that begins with the organization, except these', async () => {
    // Whatever the tables hold, PostgreSQL then reads one as a whole only if it has no index for the conditions.
    await client.query(`set plan_cache_mode = force_generic_plan;
      set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off`);
    const found: string[] = [];
    for (const { name, text, params } of allStatements()) {
      await client.query(`prepare registered as ${text}`);
      const values = params.length > 0 ? `(${params.map(() => 'null')})` : '';
      const { rows } = await client.query(`explain (format json) execute registered${values}`);
      await client.query('deallocate registered');
      const isScoped = (node: Node) =>
        node['Index Cond']?.includes(node['Relation Name'] === 'organizations' ? 'id' : 'organization_id');
      const scans = nodesOf(rows[0]['QUERY PLAN'][0].Plan).filter(
        (node) => node['Index Name'] || node['Node Type'] === 'Seq Scan',
      );
      for (const node of scans) if (node['Index Name']) usedIndexes.add(node['Index Name']);
      for (const node of scans)
        if (!isScoped(node))
          found.push(`${name} by ${(node['Index Cond'] && node['Index Name']) || node['Relation Name']}`);
    }
    await client.query('reset all');
    const others = found.filter((each) => !/^(\w+)\.due_for_purge by \1_due_idx$/.test(each));
    expect([...new Set(others)].sort()).toEqual(Object.keys(UNSCOPED).sort());
  });

  test('every index is used by a statement of the service', async () => {
    const { rows } = await client.query<{ name: string }>(
      `select indexrelid::regclass::text as name from pg_index
       where not indisunique and indrelid in (
         select attrelid from pg_attribute where attname = 'organization_id') and indrelid <> 'api_keys'::regclass`,
    );
    expect(rows.length).toBeGreaterThan(20);
    const unused = rows.map(({ name }) => name).filter((name) => !usedIndexes.has(name));
    expect(
      unused,
      'Drop these indexes, make those `unique` that were, or add the reads that need them to this file',
    ).toEqual([]);
  });
});
