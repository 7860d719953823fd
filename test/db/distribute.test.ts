import pg from 'pg';
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
// Both APIs compose their statements, and so do jobs.
import '../../src/dashboard-app.ts';
import '../../src/jobs/schedule.ts';
import { ClusterError, distributeDatabase, distributedTables } from '../../src/db/server/distribute.ts';
import { migrateDatabase, readMigrations } from '../../src/db/server/migrate.ts';
import { allStatements } from '../../src/db/sql/statement.ts';
import { refusedByCluster } from '../../tools/migration-rules.ts';
import { administer, createClusterDatabase, createTestDatabase } from '../support/databases.ts';
import { useService } from '../support/service.ts';

/** With npm run test:citus every database of the tests is distributed. */

const service = useService();
const onCluster = describe.runIf(inject('workerUrls').length > 0);

test('every table of organizations is distributed, but for the keys', async () => {
  const rows = await service.query<{ name: string }>(
    `select table_name as name from information_schema.columns
      where table_schema = 'public' and column_name = 'organization_id' and table_name <> 'api_keys'`,
  );
  expect(distributedTables.toSorted()).toEqual(rows.map(({ name }) => name).sort());
  expect(distributedTables[0]).toBe('customers');
});

test.runIf(inject('workerUrls').length === 0)('a database without Citus is refused in one line', async () => {
  await expect(distributeDatabase(service.ownerUrl)).rejects.toThrow(
    new ClusterError('The database has no extension citus: create it on every node first.'),
  );
});

test('a migration that makes a table of organizations needs no word of a cluster', async () => {
  const database = await createTestDatabase(inject('serverUrl'));
  onTestFinished(database.drop);
  const statements = [
    `create table "reviews" ("organization_id" uuid not null, "id" uuid not null, "customer_id" uuid not null,
      constraint "reviews_pkey" primary key ("organization_id", "id"))`,
    `alter table "reviews" add constraint "reviews_customer_fkey" foreign key ("organization_id", "customer_id")
      references "public"."customers" ("organization_id", "id")`,
  ];
  const added = { tag: '9999_reviews', when: Date.parse('2100-01-01'), hash: 'a'.repeat(64), statements };
  await migrateDatabase(database.ownerUrl, [...readMigrations(), added]);
  const isDistributed = await administer(database.ownerUrl, async (client) => {
    const { rows } = await client.query<{ isCluster: boolean }>(
      `select to_regclass('pg_dist_partition') is not null as "isCluster"`,
    );
    if (!rows[0]?.isCluster) return undefined;
    const { rowCount } = await client.query(
      `select from pg_dist_partition where logicalrelid = 'reviews'::regclass and partmethod = 'h'`,
    );
    return rowCount === 1;
  });
  expect(isDistributed).toBe(inject('workerUrls').length > 0 ? true : undefined);
});

onCluster('a distributed database', () => {
  test('takes whatever a migration commonly does', async () => {
    const database = await createClusterDatabase(inject('serverUrl'));
    onTestFinished(database.drop);
    await migrateDatabase(database.ownerUrl);
    await distributeDatabase(database.ownerUrl);
    const usual = (tag: string, ...statements: string[]) => {
      expect(refusedByCluster({ tag, statements })).toEqual([]);
      return { tag, when: Date.parse(`${2100 + Number(tag)}-01-01`), hash: tag.repeat(16), statements };
    };
    await migrateDatabase(database.ownerUrl, [
      ...readMigrations(),
      usual(
        '0001',
        'alter table customers add column nickname text default 0 not null',
        'alter table customers add column size bigint generated always as (length(nickname)) stored',
        'alter table customers add constraint customers_size_check check (size > 0) not valid',
        'create table reviews (organization_id uuid, id uuid, customer_id uuid, primary key (organization_id, id))',
        'create index reviews_customer_idx on reviews (organization_id, customer_id)',
        'alter table reviews add constraint reviews_customer_fkey foreign key (organization_id, customer_id) references customers (organization_id, id)',
        'alter table reviews set (toast_tuple_target = 8160)',
      ),
      usual(
        '0002',
        'alter table customers validate constraint customers_size_check',
        'alter table customers rename column nickname to alias',
        'alter table customers alter column alias drop not null',
        'update customers set alias = null',
        'alter table reviews drop column customer_id',
      ),
      usual(
        '0003',
        'create index concurrently if not exists customers_alias_idx on customers (organization_id, alias)',
      ),
    ]);
    const [columns] = await administer(database.ownerUrl, async (client) => {
      const { rows } = await client.query<{ results: string[] }>(
        `select array_agg(distinct result) as results from run_command_on_shards('customers',
          $$select count(*) from pg_attribute where attrelid = '%s'::regclass and attname in ('alias', 'size')$$)`,
      );
      return rows;
    });
    expect(columns?.results).toEqual(['2']);
  });

  test('with a migration pending is not distributed further', async () => {
    const added = { tag: '9999_later', when: Date.parse('2100-01-01'), hash: 'a'.repeat(64), statements: [] };
    await expect(distributeDatabase(service.ownerUrl, [...readMigrations(), added])).rejects.toThrow(
      'Migration 9999_later is not applied: run npm run migrate first.',
    );
  });

  test('is distributed, and a second time changes nothing', async () => {
    const read = () =>
      service.query<{ name: string; type: string }>(
        'select table_name::text as name, citus_table_type as type from citus_tables order by 1',
      );
    const before = await read();
    const ofType = (wanted: string) => before.filter(({ type }) => type === wanted).map(({ name }) => name);
    expect(ofType('distributed')).toEqual(distributedTables.toSorted());
    expect(ofType('reference')).toEqual(['organizations']);
    expect(await distributeDatabase(service.ownerUrl)).toEqual([]);
    expect(await read()).toEqual(before);
  });
});

/** A value of the type, with which a statement can be planned. */
const SAMPLES: Record<string, string> = {
  uuid: `'018438db-3180-7fd0-aa68-9f1147b3735d'`,
  'uuid[]': `array['018438db-3180-7fd0-aa68-9f1147b3735d']::uuid[]`,
  json: `'[]'`,
  jsonb: `'{}'`,
  bytea: `'\\x00'`,
  boolean: 'true',
  integer: '1',
  smallint: '1',
  bigint: '1',
  text: `'ab'`,
  'text[]': `array['ab']`,
  'timestamp with time zone': 'now()',
};

/** What is not one task on one shard. Reads of `/v1` never stand here. */
const OTHERWISE: ReadonlySet<string> = new Set([
  // They read no table of organizations.
  'idempotency_keys.lock',
  'conversations.lock_chains',
  'organizations.record_purge',
  'customers.lock_contact_names',
  // They look for what is due in all organizations.
  'erased_files.due',
  'idempotency_keys.due_for_sweep',
  'products.due_for_purge',
  // They compare a list that is sent with a table.
  'pipeline_stages.put_references',
  'team_members.put_references',
]);

/**
 * Citus skips its planner for these: one table, its key compared once, nothing inside. A list is not among them: behind its
 * two limits one plain PostgreSQL keeps its plan, and without them it takes 1.6 times the processor time there.
 */
const FAST_PATH: readonly string[] = ['customers', 'products'].flatMap((table) =>
  ['lock', 'list_total'].map((name) => `${table}.${name}`),
);

onCluster('planned on a cluster', () => {
  let client: pg.Client;
  let notices: string[] = [];
  beforeAll(async () => {
    client = new pg.Client({ connectionString: service.ownerUrl });
    client.on('notice', ({ message = '' }) => notices.push(message));
    await client.connect();
    // Citus tells of it when it plans.
    await client.query('set client_min_messages = debug2');
    return () => client.end();
  });

  async function planOf(text: string): Promise<string> {
    await client.query(`prepare walked as ${text}`);
    onTestFinished(() => client.query('deallocate walked').then(() => undefined));
    const { rows } = await client.query<{ types: string[] }>(
      `select parameter_types::text[] as types from pg_prepared_statements where name = 'walked'`,
    );
    const values = (rows[0]?.types ?? []).map((type) => SAMPLES[type] ?? 'null');
    const list = values.length === 0 ? '' : `(${values.join(', ')})`;
    notices = [];
    const plan = await client.query<{ 'QUERY PLAN': string }>(`explain execute walked${list}`);
    return plan.rows.map((row) => row['QUERY PLAN']).join('\n');
  }

  const kindOf = (plan: string): string => {
    if (plan.includes('Subplan') || (plan.match(/Task Count: \d+/g) ?? []).join() !== 'Task Count: 1')
      return 'more';
    return notices.some((notice) => notice.includes('fast-path')) ? 'fast path' : 'one task';
  };
  const walked = allStatements().filter(({ name, isVariant }) => !isVariant && !/^test\.|_test\./.test(name));

  test.for(walked.map((statement) => [statement.name, statement] as const))(
    '%s is one task on one shard, or on the fast path',
    async ([name, { text }], { annotate }) => {
      const kind = kindOf(await planOf(text));
      await annotate(kind);
      expect(kind === 'more').toBe(OTHERWISE.has(name));
      if (FAST_PATH.includes(name)) expect(kind).toBe('fast path');
    },
  );

  test('every statement of the fast path is walked', () => {
    const names = walked.map(({ name }) => name);
    expect(FAST_PATH.filter((name) => !names.includes(name))).toEqual([]);
  });
});
