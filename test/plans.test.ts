import pg, { type QueryConfig } from 'pg';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { purgeCatalogProducts } from '../src/catalog/repository.ts';
import { reportDelivery } from '../src/conversations/messages.repository.ts';
import { listConversationRecords } from '../src/conversations/repository.ts';
import { getTranscript } from '../src/conversations/transcripts.repository.ts';
import {
  allStatements,
  bind,
  type OrganizationScope,
  type Queries,
  type Statement,
  scopeTo,
  sweepKeys,
} from '../src/db/index.ts';
import type { FileLinks } from '../src/files/links.ts';
import { eraseCustomer } from '../src/person/erase.ts';
import { exportCustomer } from '../src/person/export.ts';
import { mergeCustomer } from '../src/person/merge.ts';
import { listAttachments } from '../src/quotes/attachments.repository.ts';
import { administer, createTestDatabase, ownDatabase } from './support/databases.ts';
import { loadDataSet, organizationId, recordId, rotatedConversation, TERMS } from './support/dataset.ts';
import { DASHBOARD_LISTS, LISTS, setsOf } from './support/operations.ts';
// They compose every statement.
import '../src/app.ts';
import '../src/dashboard-app.ts';
import '../src/jobs/schedule.ts';

/**
 * The query plans over a large data set, custom and generic: a statement finds its rows by an index that begins with the
 * organization, and reads at most ten rows for each that it returns, and a hundred more.
 */

const AGENCY = 1;
const LIMIT = 25;

// With fewer rows, or a larger share of other organizations' rows, some plans are good without their index.
const SIZE = { customers: 8_000, products: 6_000, opportunities: 8_000, conversations: 3_600, quotes: 8_000 };
const OTHER_SIZE = { customers: 20, products: 60, opportunities: 20, conversations: 20, quotes: 20 };
/** So many that reading a whole table is never the best plan, even if the filter finds most of the organization's rows. */
const OTHER_ORGANIZATIONS = 100;

type Read = (scope: OrganizationScope, db: Queries) => Promise<unknown>;

const page = { limit: LIMIT, offset: 0 };
const thread = recordId('conversation', AGENCY, rotatedConversation(0));
const customerId = recordId('customer', AGENCY, 7);
const links = { sign: () => Promise.resolve('') } as unknown as FileLinks;
const IDS = {
  customerId: 'customer',
  opportunityId: 'opportunity',
  sellerMemberId: 'member',
  stageId: 'stage',
} as const;
const hundred = (kind: Parameters<typeof recordId>[0]) =>
  Array.from({ length: 100 }, (_, index) => recordId(kind, AGENCY, 1 + index)).join();

const KINDS = ['product', 'customer', 'opportunity', 'conversation', 'quote'] as const;

const nameOf = (operation: string, query: object) => `${operation} ${JSON.stringify(query).slice(0, 120)}`;

/** Lists by one filter, whose value some records of the data set have. */
const BY_ONE_FILTER = Object.entries(LISTS).flatMap(([operation, { filters }]) =>
  Object.entries(filters).map(([name, { loaded }]) => nameOf(operation, { [name]: loaded, offset: 0 })),
);

/** Each list by all sets of its filters, by ids or none, by dates, by text and by contact; on a later page too. */
const ofLists = Object.entries(LISTS).flatMap(([operation, { read, filters, searched, dates }]) => {
  const values = Object.entries(filters).map(([name, { loaded }]) => ({ [name]: loaded }));
  const references = Object.entries(IDS).filter(([name]) => name in filters);
  const text = Object.keys(searched).length > 0 ? [{ query: TERMS.common }, { query: TERMS.rare }] : [];
  const queries: Record<string, unknown>[] = [
    ...setsOf(values).map((set) => Object.assign({}, ...set)),
    ...KINDS.filter((kind) => operation.includes(`/${kind.replace(/y$/, 'ie')}s`)).map((kind) => ({
      ids: hundred(kind),
    })),
    ...references.flatMap(([name, kind]) => [{ [name]: 'null' }, { [name]: hundred(kind) }]),
    ...dates.map((name) => ({
      [name]: name.endsWith('Since') ? new Date().toISOString() : '2024-12-01T00:03:00.000Z',
    })),
    ...text,
    ...(/customers|conversations/.test(operation)
      ? [{ contact: '+525512345678' }, { contact: 'nobody' }]
      : []),
  ];
  return queries.flatMap((query) =>
    (Object.keys(query).length > 1 ? [0] : [0, 100]).map((offset): [string, Read] => [
      nameOf(operation, { ...query, offset }),
      (scope) => read(scope, { ...page, ...query, offset }),
    ]),
  );
});

const READS: Record<string, Read> = {
  ...Object.fromEntries(ofLists),
  ...Object.fromEntries(
    Object.entries(DASHBOARD_LISTS)
      .filter(([operation]) => operation.endsWith('archived=true'))
      .map(([operation, { read }]) => [operation, (scope: OrganizationScope) => read(scope, page)]),
  ),
  getConversationTranscript: (scope) => getTranscript(scope, thread, { limit: 50 }),
  'getConversationTranscript after': (scope) =>
    getTranscript(scope, thread, { limit: 50, after: '2024-01-01' }),
  'getConversationTranscript before a message': (scope) =>
    getTranscript(scope, thread, { limit: 50, before: recordId('conversation', AGENCY, 1) }),
  inbox: (scope) => listConversationRecords(scope, page),
  'inbox of a member': (scope) => listConversationRecords(scope, { ...page, controlledBy: 'member' }),
  reportDelivery: (scope) => reportDelivery(scope, 'wamid.1', { status: 'read' }),
  listQuoteAttachments: (scope) =>
    listAttachments(scope, recordId('quote', AGENCY, 6), { sign: ({ organizationId }) => organizationId }),
  export: async (scope) => Array.fromAsync(await exportCustomer(scope, customerId, links)),
  erasure: (scope) => eraseCustomer(scope, customerId),
  'job: purge of products': (_scope, db) => purgeCatalogProducts(db, LIMIT),
  'job: sweep of idempotency keys': (_scope, db) => sweepKeys(db, LIMIT),
  merge: (scope) => mergeCustomer(scope, customerId, { from: recordId('customer', AGENCY, 6) }),
};

/** What reads more, and why. */
const MORE: [which: RegExp, why: string][] = [
  [/"(query|tag|destination)":/, 'the index of a common word has no order: what it finds is sorted'],
  [/"\w+Id":"[^"]*,/, 'lists of ids are merged: what they find is counted'],
];

/** What the statements before it found: a full page, and a person. */
const FOUND = {
  id: customerId,
  mergedInto: null,
  contactKeys: ['whatsapp +525512345678', 'email ana@example.com'],
  now: '0',
  body: Buffer.from('{}'),
  attachments: Buffer.from('[]'),
  text: '{}',
  total: '0',
  isMergeable: true,
  isMerged: false,
  createdAt: '2024-12-01T00:03:00.000Z',
  arrival: '0',
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
  'Recheck Cond'?: string;
  Filter?: string;
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
  const version = "select current_setting('server_version_num')::int as version";
  const { rows } = await client.query<{ version: number }>(version);
  isBefore17 = Number(rows[0]?.version) < 170_000;
  await loadDataSet(client, [SIZE, ...Array.from({ length: OTHER_ORGANIZATIONS }, () => OTHER_SIZE)]);
  await client.query(
    `insert into idempotency_keys (organization_id, fingerprint, body_hash, record_id, created_at)
     select organization_id, uuid_send(id), '', id, now() - mod(row_number() over (), 48) * interval '1 hour'
     from products;
     insert into api_keys (organization_id, id, name, hash, start, last4, access)
     select organization_id, id, '', sha256(uuid_send(id)), '', '', 'write' from products;
     insert into whatsapp_messages (organization_id, conversation_id, id, content, direction, message_type, created_at, arrival)
     select organization_id, id, gen_random_uuid(), '', 'inbound', 'text', created_at, n
     from conversations, generate_series(1, 1000) n where id = '${thread}';
     insert into erasures (organization_id, customer_id, erased, same_contacts)
     select organization_id, id, '{}', '{}' from customers;
     analyze idempotency_keys, api_keys, erasures`,
  );
  return async () => {
    await client.end();
    await database.drop();
  };
});

/** The statements of a repository function. They are not run: each returns the given rows. */
async function statementsOf(read: Read, rows: object[]): Promise<QueryConfig[]> {
  const statements: QueryConfig[] = [];
  const record = async <Row, Values>(statement: Statement<Row, Values>, values: Values): Promise<Row[]> => {
    statements.push(bind(statement, values));
    const hasTotal = statement.composed().text.includes(' as total');
    return rows.map((row) => (hasTotal ? row : { ...row, total: undefined })) as Row[];
  };
  const recorder: Queries = { read: record, write: record, transaction: (work) => work(recorder) };
  await read(scopeTo({ for: () => recorder }, organizationId(AGENCY)), recorder);
  return statements;
}

/** The nodes of each plan, the outermost first. A named statement has a custom plan and a generic one. */
async function plansOf({ name, text, values = [] }: QueryConfig): Promise<Node[][]> {
  const textOf = (value: unknown) =>
    Array.isArray(value) ? `{${value.map((one) => JSON.stringify(one))}}` : String(value);
  const literals = values.map((value) => (value === null ? 'null' : client.escapeLiteral(textOf(value))));
  await client.query(`prepare planned as ${text}`);
  const plans: Node[][] = [];
  for (const mode of name === undefined ? ['custom'] : ['custom', 'generic']) {
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

/** Without those that count in an index alone what a filter finds. */
function nodesOf(node: Node, isCounted = false): Node[] {
  const counts = isCounted || node['Node Type'] === 'Aggregate';
  const inner = (node.Plans ?? []).flatMap((each) => nodesOf(each, counts));
  return isCounted && node['Node Type'] === 'Index Only Scan' ? inner : [node, ...inner];
}

/** With those that a filter removed. */
const rowsRead = (node: Node): number =>
  node['Relation Name'] || node['Index Name']
    ? (node['Actual Rows'] +
        (node['Rows Removed by Filter'] ?? 0) +
        (node['Rows Removed by Index Recheck'] ?? 0)) *
      node['Actual Loops']
    : 0;

const allNodes = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(allNodes)];

/** Of every statement of the service. */
async function genericPlans(on: pg.Client): Promise<[name: string, nodes: Node[]][]> {
  const plans: [string, Node[]][] = [];
  await on.query('set plan_cache_mode = force_generic_plan');
  for (const { name, text, params } of allStatements().filter(isExpected)) {
    // Files that ran before in this process have statements too.
    if (name.startsWith('test.')) continue;
    await on.query(`prepare registered as ${text}`);
    const values = params.length > 0 ? `(${params.map(() => 'null')})` : '';
    const { rows } = await on.query(`explain (format json) execute registered${values}`);
    await on.query('deallocate registered');
    plans.push([name, allNodes(rows[0]['QUERY PLAN'][0].Plan)]);
  }
  return plans;
}

/** Before version 17, a list of values looks expensive: PostgreSQL reads the index of what it takes for a small organization. */
let isBefore17 = false;
const isExpected = ({ text }: { text: string }): boolean => !(isBefore17 && text.includes(' = any('));

describe.skipIf(isCluster)('the plans', () => {
  test.each(Object.entries(READS))('%s reads few rows more than it returns', async (name, read) => {
    const found = Array(name.startsWith('GET') ? LIMIT : name.startsWith('job') ? 0 : 1).fill(FOUND);
    const statements = await statementsOf(read, found);
    expect(statements).not.toEqual([]);
    const [, isMore] = MORE.find(([which]) => which.test(name)) ?? [];
    for (const statement of statements.filter(isExpected))
      for (const nodes of await plansOf(statement)) {
        const whole = nodes.filter((node) => node['Node Type'] === 'Seq Scan' && rowsRead(node) > LIMIT);
        expect(whole, 'tables that are read as a whole').toEqual([]);
        const most = 10 * Number(nodes[0]?.['Actual Rows']) + 100;
        const over = nodes.filter((node) => rowsRead(node) > most);
        if (statement === statements[0] && BY_ONE_FILTER.includes(name)) expect(most).toBeGreaterThan(100);
        if (isMore === undefined)
          expect(over, `${statement.name}: nodes that read more than ${most} rows`).toEqual([]);
      }
  });

  test('so do the statements inside of triggers', async () => {
    const plans: Node[][] = [];
    const collect = ({ message = '' }: { message?: string | undefined }) => {
      const plan = /plan:\s*(\{.*\})\s*$/s.exec(message)?.[1];
      if (plan) plans.push(nodesOf(JSON.parse(plan).Plan));
    };
    client.on('notice', collect);
    await client.query(`load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_analyze = on;
      set auto_explain.log_timing = off; set auto_explain.log_nested_statements = on; set auto_explain.log_format = json;
      set client_min_messages = log; begin`);
    const one = (table: string, where = '') => `where organization_id = '${organizationId(AGENCY)}'
      and id = (select id from ${table} where organization_id = '${organizationId(AGENCY)}' ${where} limit 1)`;
    const active = 'and archived_at is null';
    for (const write of [
      `update products set title = 'x' ${one('products', active)}`,
      `update customers set contacts = '[]', contact_keys = '{web x}' ${one('customers', active)}`,
      `update customers set archived_at = now() ${one('customers', active)}`,
      `update opportunities set customer_id = (select id from customers ${one('customers', `${active} order by id desc`)}) ${one('opportunities', active)}`,
      `update conversations set contact_name = 'x', customer_id = null ${one('conversations')}`,
      `update whatsapp_messages set content = 'x' ${one('whatsapp_messages')}`,
      `delete from quote_attachments ${one('quote_attachments')}`,
      `update quotes set status = 'draft' ${one('quotes', active)}`,
    ])
      await client.query(write);
    await client.query('set constraints all immediate; rollback; reset all');
    client.off('notice', collect);
    expect(plans.length).toBeGreaterThan(20);
    const over = plans.filter((nodes) => nodes.some((node) => rowsRead(node) > 100));
    expect(over).toEqual([]);
  });

  test('totals of whole lists, by status and by sales stage are kept, and not counted', () => {
    const isWhole =
      /^(products|customers|conversations|opportunities|quotes)\.list(_records)?(_total)?( status| salesStage| offset)?$/;
    const whole = allStatements().filter(
      ({ name, text }) => isWhole.test(name) && /count\(|live_counts/.test(text),
    );
    expect(whole.length).toBeGreaterThan(40);
    expect(whole.filter(({ text }) => /count\(/.test(text)).map(({ name }) => name)).toEqual([]);
  });

  /** An organization has few of them. */
  const isSmall = ({ 'Relation Name': table = '' }: Node) =>
    /^(team_members|pipeline_stages|api_keys)$/.test(table);

  /** Statements that filter all rows of a table or of an organization, or whose index does not begin with the organization, and why. */
  const UNSCOPED: [which: RegExp, why: string][] = [
    [/ by \w+_archived_idx$/, 'few records are archived'],
    [/ archivedContact by customers_live_idx$/, 'no request has this filter without archived=true'],
    [/^customers\.merged_into by customers_merged_into_idx$/, 'few customers were merged'],
    [/^api_keys\.find by api_keys_hash_key$/, 'the organization is found by the key'],
    [/^idempotency_keys\.due_for_sweep by \w+_created_at_idx$/, 'a job for all organizations'],
    [/^(\w+)\.due_for_purge by \1_due_idx$/, 'a job for all organizations'],
    [/^organizations\.\w+ by organizations$/, 'the organizations themselves'],
    [/^organizations\.list by team_members_user_key$/, 'an account has several organizations'],
    [/^quotes\.[\w ]*token[\w ]* by quotes_token_idx$/, 'a token is unique among all organizations'],
  ];

  test('every statement of the service finds its rows by an index that begins with the organization and has more of the condition, except these', async () => {
    // Whatever the tables hold, PostgreSQL then reads one as a whole only if it has no index for the conditions.
    await client.query('set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off');
    const found: string[] = [];
    for (const [name, nodes] of await genericPlans(client)) {
      const isScoped = (node: Node) => {
        const {
          'Recheck Cond': checked = '',
          'Index Cond': condition = checked,
          'Relation Name': table,
        } = node;
        if (table === 'organizations') return condition.includes('id');
        const isWhole = node.Filter && !condition.includes(' AND ') && !isSmall(node);
        return condition.includes('organization_id') && !isWhole;
      };
      const scans = nodes.filter((node) => /Seq|Index|Heap/.test(node['Node Type']));
      for (const node of scans)
        if (!isScoped(node))
          found.push(`${name} by ${(node['Index Cond'] && node['Index Name']) || node['Relation Name']}`);
    }
    await client.query('reset all');
    expect(found.filter((each) => !UNSCOPED.some(([which]) => which.test(each)))).toEqual([]);
  });

  test('in a new database, which has no statistics, no statement reads all rows of an organization to find one by its id', async () => {
    const plans = await administer((await ownDatabase()).ownerUrl, genericPlans);
    const isById = ({ Filter: filter = '' }: Node) =>
      /\bid = (\$|\(InitPlan)/.test(filter) && !filter.includes(' OR ');
    const found = plans.flatMap(([name, nodes]) =>
      nodes
        .filter((node) => isById(node) && !isSmall(node))
        .map((node) => `${name} by ${node['Index Name']}`),
    );
    expect(found).toEqual(['customers.merged_into by customers_merged_into_idx']);
  });
});
