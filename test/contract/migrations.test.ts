import { readdirSync, readFileSync } from 'node:fs';
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import config from '../../drizzle.config.ts';
import * as schema from '../../src/db/schema/index.ts';
import {
  latestMigration,
  type Migration,
  migrateDatabase,
  readMigrations,
} from '../../src/db/server/migrate.ts';
import { describeSchema, differences, functionsOf } from '../../tools/describe-schema.ts';
import { dangersOf, refusedByCluster } from '../../tools/migration-rules.ts';
import { administer, countAtWork, createTestDatabase, EMPTY_TEMPLATE, hold } from '../support/databases.ts';

const folder = new URL('../../migrations/', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, folder), 'utf8');

type Journal = { entries: { idx: number; when: number; tag: string }[] };
const { entries } = JSON.parse(read('meta/_journal.json')) as Journal;

/** SHA-256 of each migration. What has been on main has been applied somewhere: it is never changed again, only added to. */
const recorded = new Map(Object.entries(JSON.parse(read('checksums.json')) as Record<string, string>));

/** Older than the rule that nobody waits for a migration. */
const BEFORE_THE_RULE = ['0000_text_search', '0001_tables', '0002_filters_together'];

/** Older than `npm run db:distribute`: a database that is distributed has them. */
const BEFORE_DISTRIBUTION = entries.map(({ tag }) => tag).filter((tag) => tag <= '0005_stored_bodies');

/** Tables that belong to no organization. */
const SHARED_TABLES = ['organizations', 'rate_limits'];

/** Indexes that do not start with the organization, each with its reason. */
const UNSCOPED_INDEXES = [
  // Authentication finds the organization by the key.
  'api_keys_hash_key',
  // The sweep of idempotency keys looks through all organizations at once.
  'idempotency_keys_created_at_idx',
  // The purge looks through all organizations at once.
  'products_due_idx',
];

/** One row in every table, the same id in every column that holds one: so each key finds its row. */
const ROW_OF_EVERY_TABLE = `do $$
declare
  made text := gen_random_uuid();
  found record;
begin
  set local session_replication_role = replica;
  for found in
    select c.oid::regclass as name, string_agg(quote_ident(attname), ', ') as columns, string_agg(case
        when t.typcategory = 'A' then $q$'{}'$q$
        when t.typname in ('uuid', 'text', 'varchar', 'bytea') then quote_literal(made)
        when t.typcategory = 'N' then '(select count(*) from drizzle.__drizzle_migrations)'
        when t.typcategory = 'D' then 'now()'
        when t.typcategory = 'B' then 'true'
        else $q$'{}'$q$ end || '::' || format_type(atttypid, atttypmod), ', ') as values
    from pg_class c join pg_attribute a on a.attrelid = c.oid join pg_type t on t.oid = a.atttypid
    where relnamespace = 'public'::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped
      and attgenerated = '' and attidentity = '' and (attnotnull or typname = 'uuid')
    group by c.oid
  loop
    execute format('insert into %s (%s) values (%s)', found.name, found.columns, found.values);
  end loop;
end $$`;

async function emptyDatabase(template = EMPTY_TEMPLATE): Promise<string> {
  const database = await createTestDatabase(inject('serverUrl'), template);
  onTestFinished(database.drop);
  return database.ownerUrl;
}

/** A copy of the one that was migrated once. */
const migratedDatabase = (): Promise<string> =>
  emptyDatabase(new pg.Client({ connectionString: migrated }).database);

/** One that was migrated once; tests that write take a copy. */
let migrated: string;
let dropMigrated: () => Promise<void>;
beforeAll(async () => {
  const database = await createTestDatabase(inject('serverUrl'), EMPTY_TEMPLATE);
  migrated = database.ownerUrl;
  dropMigrated = database.drop;
  await migrateDatabase(migrated);
});
afterAll(() => dropMigrated());

const rows = <Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> =>
  administer(url, async (client) => (await client.query<Row>(text)).rows);

describe('migrateDatabase', () => {
  test('brings an empty database to the newest migration', async () => {
    const applied = await rows<{ at: string }>(
      migrated,
      'select created_at as at from drizzle.__drizzle_migrations order by id',
    );
    expect(applied.map(({ at }) => Number(at))).toEqual(entries.map(({ when }) => when));
    expect(applied.at(-1)?.at).toBe(String(latestMigration));
  });

  test('is safe when twenty instances start at once on an empty database', async () => {
    const url = await emptyDatabase();
    await Promise.all(Array.from({ length: 20 }, () => migrateDatabase(url)));
    expect(await rows(url, 'select from drizzle.__drizzle_migrations')).toHaveLength(entries.length);
    expect(await describeSchema(url)).toEqual(await describeSchema(migrated));
  });

  test('does no harm when it runs again', async () => {
    const url = await migratedDatabase();
    const before = await describeSchema(url);
    await rows(url, `insert into organizations (id, name) values (gen_random_uuid(), 'Agency')`);
    await migrateDatabase(url);
    expect(await describeSchema(url)).toEqual(before);
    expect(await rows(url, 'select name from organizations')).toEqual([{ name: 'Agency' }]);
  });

  test('refuses a database of another encoding, and leaves it as it was', async () => {
    const database = await createTestDatabase(
      inject('serverUrl'),
      `template0 encoding 'SQL_ASCII' locale 'C'`,
    );
    onTestFinished(database.drop);
    await expect(migrateDatabase(database.ownerUrl)).rejects.toThrow(
      'must have the encoding UTF8, not SQL_ASCII',
    );
    expect(
      await rows(database.ownerUrl, `select from pg_tables where schemaname in ('public', 'drizzle')`),
    ).toEqual([]);
  });

  test('leaves no lock behind', async () => {
    expect(
      await rows(
        migrated,
        `select from pg_locks where locktype = 'advisory' and database =
      (select oid from pg_database where datname = current_database())`,
      ),
    ).toEqual([]);
  });
});

/** A migration after all of those in the folder. */
const added = (...statements: string[]): Migration => ({
  tag: '9999_added',
  when: latestMigration + 1,
  hash: 'added',
  statements,
});
const addedIs = async (url: string) =>
  rows(url, `select from drizzle.__drizzle_migrations where hash = 'added'`).then(({ length }) => length);

describe('a migration that fails', () => {
  const failing = (url: string, ...statements: string[]): Promise<string> =>
    migrateDatabase(url, [...readMigrations(), added(...statements)]).then(
      () => 'applied',
      (error: Error) => error.message,
    );

  test('leaves nothing of itself, and says in one line which, what PostgreSQL said and what to do', async () => {
    const url = await emptyDatabase();
    const before = await failing(url, 'create table half (id int)', 'create table customers (\n  id int\n)');
    expect(before).toBe(
      'Migration 9999_added was not applied. PostgreSQL says: relation "customers" already exists (42P07). Nothing of it is kept: put that right, and start again.',
    );
    expect(await describeSchema(url)).toEqual(await describeSchema(migrated));
    expect(await failing(url, 'select 1')).toBe('applied');
  });

  test('for want of rights names the owner and DATABASE_DIRECT_URL', async () => {
    const url = await migratedDatabase();
    expect(await failing(url, 'set role pg_monitor', 'drop table quotes')).toMatch(
      /must be owner of table quotes \(42501\)\. .* set DATABASE_DIRECT_URL to a URL of that role\.$/,
    );
  });

  test('on a database of another history changes nothing and says so', async () => {
    const url = await migratedDatabase();
    await rows(
      url,
      `update drizzle.__drizzle_migrations set hash = 'x' where created_at = ${latestMigration}`,
    );
    const changed = /does not have \(another form of \w+\)\. Nothing was changed: use the version/;
    await expect(migrateDatabase(url)).rejects.toThrow(changed);
    expect(await failing(url, 'create table never (id int)')).toMatch(changed);
    await rows(url, 'update drizzle.__drizzle_migrations set created_at = created_at - 1');
    await expect(migrateDatabase(url)).rejects.toThrow(/does not have \(one of 20\d\d-/);
    expect(await rows(url, `select from pg_tables where tablename = 'never'`)).toEqual([]);
  });

  test('is not one that an older version of the service meets on a newer database', async () => {
    const url = await emptyDatabase();
    expect(await failing(url, 'select 1')).toBe('applied');
    await migrateDatabase(url);
    expect(await addedIs(url)).toBe(1);
  });
});

describe('a migration of tables in use', () => {
  test('that waits for a lock lets others pass, and goes on when it gets it', async () => {
    const url = await migratedDatabase();
    // A long report: whoever wants the table alone waits for it, and all others would wait behind.
    const release = await hold(url, 'select from customers');
    const migrating = migrateDatabase(url, [
      ...readMigrations(),
      added('alter table customers add column x int'),
    ]);
    await expect.poll(() => countAtWork(url, 'Lock')).toBe(1);
    expect(await rows(url, 'select from customers')).toEqual([]);
    expect(await addedIs(url)).toBe(0);
    await release();
    await migrating;
    expect(await addedIs(url)).toBe(1);
  });

  const build = added(
    '-- Why.\nCREATE INDEX CONCURRENTLY IF NOT EXISTS "customers_new_idx" ON "customers" (organization_id, created_at);',
    'DROP INDEX CONCURRENTLY IF EXISTS "customers_old_idx";',
  );
  const indexes = (url: string) =>
    rows<{ name: string; valid: boolean }>(
      url,
      `select indexrelid::regclass::text as name, indisvalid as valid from pg_index
        where indexrelid::regclass::text in ('customers_new_idx', 'customers_old_idx')`,
    );
  const BUILT = [{ name: 'customers_new_idx', valid: true }];

  test('builds an index while rows are written, and waits as long as the writers take', async () => {
    const url = await migratedDatabase();
    await rows(url, 'create index customers_old_idx on customers (created_at)');
    const insert = `insert into organizations (id, name) values (gen_random_uuid(), 'a') returning id`;
    const [organization] = await rows<{ id: string }>(url, insert);
    const write = `insert into customers (organization_id, id) values ('${organization?.id}', gen_random_uuid())`;
    const release = await hold(url, write);
    const starts = Array.from({ length: 5 }, () => migrateDatabase(url, [...readMigrations(), build]));
    const found = () => indexes(url).then((all) => all.map(({ valid }) => valid).sort());
    await expect.poll(found).toEqual([false, true]);
    await rows(url, write);
    await release();
    await Promise.all(starts);
    expect(await indexes(url)).toEqual(BUILT);
    expect(await addedIs(url)).toBe(1);
  });

  test('is finished by the next start when it was interrupted in the middle of an index', async () => {
    const url = await migratedDatabase();
    const insert = `insert into organizations (id, name) values (gen_random_uuid(), 'a') returning id`;
    const [organization] = await rows<{ id: string }>(url, insert);
    const release = await hold(
      url,
      `insert into customers (organization_id, id) values ('${organization?.id}', gen_random_uuid())`,
    );
    const interrupted = migrateDatabase(url, [...readMigrations(), build]).catch(
      (error: Error) => error.message,
    );
    await expect.poll(() => indexes(url)).toEqual([{ name: 'customers_new_idx', valid: false }]);
    await rows(
      url,
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query ilike '%create index%' and pid <> pg_backend_pid()`,
    );
    expect(await interrupted).toMatch(/^Migration 9999_added was not applied\. .* What it built is kept: /);
    await release();
    expect(await indexes(url)).toEqual([{ name: 'customers_new_idx', valid: false }]);
    await migrateDatabase(url, [...readMigrations(), build]);
    expect(await indexes(url)).toEqual(BUILT);
    expect(await addedIs(url)).toBe(1);
  });

  test('is finished by the next start when it was interrupted before it was recorded', async () => {
    const url = await migratedDatabase();
    for (const statement of build.statements) await rows(url, statement);
    await migrateDatabase(url, [...readMigrations(), build]);
    expect(await indexes(url)).toEqual(BUILT);
    expect(await addedIs(url)).toBe(1);
  });
});

describe('the tables that searches look at', () => {
  const before = readMigrations().filter(({ tag }) => tag < '0006');

  const seen = (url: string) =>
    rows(
      url,
      `select 'customer' as kind, id, tags, search, archived_at is null as live from searchable_customers
        union all select 'product', id, array[type, status, budget_tier, external_reference_code], search, archived_at is null
        from searchable_products order by 1, 2`,
    );

  test('have every record of an older database, also when filling them was interrupted', async () => {
    const url = await emptyDatabase();
    await migrateDatabase(url, before);
    const [organization, customer, product, archived] = [1, 2, 3, 4].map(
      (digit) => `00000000-0000-0000-0000-00000000000${digit}`,
    );
    await rows(url, `insert into organizations (id, name) values ('${organization}', 'a')`);
    for (const [id, at] of [
      [customer, 'null'],
      [archived, 'now()'],
    ])
      await rows(
        url,
        `insert into customers (organization_id, id, last_name, tags, archived_at)
          values ('${organization}', '${id}', 'Peña', '{vip}', ${at})`,
      );
    await rows(
      url,
      `insert into products (organization_id, id, title, type, status, pricing_mode)
        values ('${organization}', '${product}', 'Bogotá', 'package', 'active', 'total')`,
    );
    const interrupted = readMigrations().map((migration) => ({
      ...migration,
      statements: migration.statements.flatMap((statement) =>
        statement.includes('CREATE INDEX CONCURRENTLY IF NOT EXISTS "searchable_products_idx"')
          ? ['select 1 / 0']
          : [statement],
      ),
    }));
    await expect(migrateDatabase(url, interrupted)).rejects.toThrow('division by zero');
    await migrateDatabase(url);
    const pena = { kind: 'customer', tags: ['vip'], search: 'pena\u001f\u001f' };
    expect(await seen(url)).toEqual([
      { ...pena, id: customer, live: true },
      { ...pena, id: archived, live: false },
      {
        kind: 'product',
        id: product,
        tags: ['package', 'active', null, null],
        search: 'bogota\u001f\u001f',
        live: true,
      },
    ]);
    expect(await describeSchema(url)).toEqual(await describeSchema(migrated));
  });
});

test('a table that is filled in batches is not read whole for each of them', async () => {
  const url = await emptyDatabase();
  // Twelve batches.
  const records = 24_000;
  await migrateDatabase(
    url,
    readMigrations().filter(({ tag }) => tag < '0014'),
  );
  for (const statement of [
    `insert into organizations (id, name)
      select lpad(n::text, 32, '0')::uuid, 'a' from generate_series(1, 5) n`,
    `insert into customers (organization_id, id)
      select lpad((1 + n % 5)::text, 32, '0')::uuid, gen_random_uuid() from generate_series(1, ${records}) n`,
    `insert into customer_bodies (organization_id, id, updated_at, rendering, body)
      select organization_id, id, updated_at, 1, '{}' from customers`,
    'analyze',
    // PostgreSQL then plans as for a million customers.
    `update pg_class set reltuples = 1000000 where oid in ('customers'::regclass, 'customer_bodies'::regclass)`,
  ])
    await rows(url, statement);
  // Those that read the table once more for another reason come after it.
  await migrateDatabase(
    url,
    readMigrations().filter(({ tag }) => tag < '0016'),
  );
  const [read] = await rows<{ times: number }>(
    url,
    `select (pg_stat_get_tuples_returned('customer_bodies'::regclass)
        + pg_stat_get_tuples_returned('customer_bodies_pkey'::regclass))::float / ${records} as times`,
  );
  // Twice by the index that is built, and by the fill as few times, whatever the number of its batches.
  expect(read?.times).toBeLessThan(5);
});

describe('the copies of a record', () => {
  const ORGANIZATION = '00000000-0000-0000-0000-000000000001';
  const first = 5;

  /** What a release sends that knows nothing of copies. */
  const purge = (url: string, id: string) =>
    rows(url, `delete from products where id = '${id}'`).then(
      () => 'done',
      (error: Error) => error.message,
    );

  test('let an older release purge between any two files, and its copies do not stop the next', async () => {
    const url = await emptyDatabase();
    const all = readMigrations();
    await migrateDatabase(url, all.slice(0, first));
    const ids = all.map((_, index) => `00000000-0000-0000-0000-0000000001${String(index).padStart(2, '0')}`);
    await rows(url, `insert into organizations (id, name) values ('${ORGANIZATION}', 'a')`);
    for (const id of [...ids, ORGANIZATION])
      await rows(
        url,
        `insert into products (organization_id, id, title, type, status, pricing_mode, archived_at)
          values ('${ORGANIZATION}', '${id}', 'Bogotá', 'package', 'active', 'total', now())`,
      );
    const refused: string[] = [];
    for (const [index, { tag }] of all.entries()) {
      if (index < first) continue;
      const said = await purge(url, ids[index] ?? '');
      if (said !== 'done') refused.push(`before ${tag}: ${said}`);
      await migrateDatabase(url, all.slice(0, index + 1));
    }
    // Its job runs again: a key without cascade is there only while the newest files are applied.
    const key = expect.stringContaining('violates foreign key constraint "searchable_products_product_fkey"');
    expect(refused).toEqual([key, key, key]);
    expect(await describeSchema(url)).toEqual(await describeSchema(migrated));
    for (const id of ids) expect(await purge(url, id)).toBe('done');
    expect(await rows(url, 'select id from searchable_products')).toEqual([{ id: ORGANIZATION }]);
  });

  test('have a key that deletes them with it', async () => {
    const keys = await rows<{ table: string; action: string }>(
      migrated,
      `select conrelid::regclass::text as table, confdeltype as action from pg_constraint
        where contype = 'f' and conrelid::regclass::text ~ '_bodies$|^searchable_' order by 1`,
    );
    const copies = ['customer_bodies', 'product_bodies', 'searchable_customers', 'searchable_products'];
    expect(keys).toEqual(copies.map((table) => ({ table, action: 'c' })));
  });
});

describe('the rule that nobody waits for a migration', () => {
  test('is kept by every migration', () => {
    const bound = readMigrations().filter(({ tag }) => !BEFORE_THE_RULE.includes(tag));
    expect(bound.flatMap(dangersOf)).toEqual([]);
  });

  test('finds what was wrong with an older one', () => {
    const old = readMigrations().find(({ tag }) => tag === '0002_filters_together');
    expect(dangersOf(added(...(old?.statements ?? [])))).toHaveLength(8);
  });

  test.each([
    ['an index', 'CREATE UNIQUE INDEX "a" ON "customers" USING btree ("id");'],
    ['an index without a second chance', 'create index concurrently a on customers (id)'],
    ['the end of an index', 'DROP INDEX IF EXISTS "a";'],
    ['a type', 'ALTER TABLE "customers" ALTER COLUMN "a" SET DATA TYPE text;'],
    ['no more nulls', 'ALTER TABLE "customers" ALTER COLUMN "a" SET NOT NULL;'],
    ['a key', 'ALTER TABLE "customers" ADD CONSTRAINT "k" FOREIGN KEY ("a") REFERENCES "b"("id");'],
    [
      'a computed column',
      'ALTER TABLE "customers" ADD COLUMN "a" text GENERATED ALWAYS AS (lower(b)) STORED;',
    ],
    [
      'a default for each row',
      'ALTER TABLE "customers" ADD COLUMN "a" uuid DEFAULT gen_random_uuid() NOT NULL;',
    ],
  ])('refuses %s on a table in use', (_name, statement) => {
    expect(dangersOf(added(`-- Why.\n${statement}`))).toHaveLength(1);
  });

  test.each([
    [
      'an index that is dropped first',
      ['drop index concurrently if exists b', 'create index concurrently if not exists a on t (x)'],
    ],
    [
      'an index under the old name',
      ['create index concurrently if not exists a on t (x)', 'drop index concurrently if exists a'],
    ],
    [
      'an index beside something else',
      ['create index concurrently if not exists a on t (x)', 'update t set x = 1'],
    ],
    [
      'rows beside an index that cannot be inserted twice',
      ['insert into a (x) select x from t', 'create index concurrently if not exists a_idx on a (x)'],
    ],
  ])('refuses %s', (_name, statements) => {
    expect(dangersOf(added(...statements))).toHaveLength(1);
  });

  test('lets pass what is quick', () => {
    for (const statements of [
      [
        'CREATE TABLE "a" ("id" uuid);',
        'CREATE INDEX "a_idx" ON "a" ("id");',
        'ALTER TABLE "a" ADD CONSTRAINT "k" CHECK (true);',
      ],
      [
        'ALTER TABLE "customers" ADD COLUMN "a" text;',
        `ALTER TABLE "customers" ADD COLUMN "b" int DEFAULT 0 NOT NULL;`,
      ],
      ['ALTER TABLE "customers" ADD CONSTRAINT "k" CHECK (a > 0) NOT VALID;'],
      ['ALTER TABLE "customers" VALIDATE CONSTRAINT "k";'],
      [
        'insert into "a" ("x") select "x" from "customers" on conflict do nothing;',
        ...build(),
        'analyze "a";',
      ],
      build(),
    ])
      expect(dangersOf(added(...statements))).toEqual([]);
    function build() {
      return ['create index concurrently if not exists a on t (x);', 'drop index concurrently if exists b;'];
    }
  });
});

describe('the rule that a cluster takes every migration', () => {
  test('is kept by every migration since tables can be distributed', () => {
    for (const migration of readMigrations()) {
      const isOlder = BEFORE_DISTRIBUTION.includes(migration.tag);
      if (!isOlder) expect(refusedByCluster(migration), migration.tag).toEqual([]);
    }
  });

  test('finds what a cluster would refuse of an older one', () => {
    const old = readMigrations().find(({ tag }) => tag === '0005_stored_bodies');
    expect(refusedByCluster({ statements: old?.statements ?? [] })).toHaveLength(2);
  });

  // Each was tried on Citus 13.2.
  test.each([
    'alter table customers alter column summary set storage external',
    'alter table "public"."customers" alter "summary" set compression pglz',
    'alter table customers alter column id add generated always as identity',
    'alter table customers rename constraint a to b',
    'alter table customers cluster on customers_pkey',
    'alter table customers set unlogged',
    'alter table customers disable trigger all',
    'create trigger a before insert on customers for each row execute function b()',
  ])('refuses %s', (statement) => {
    expect(refusedByCluster(added(`-- Why.\n${statement};`))).toHaveLength(1);
  });

  test.each([
    'alter table customers add column a text default 0',
    'alter table customers drop column a',
    'alter table customers rename column a to b',
    'alter table customers alter column a set not null',
    'alter table customers alter a set data type bigint',
    'alter table customers add constraint a check (b > 0) not valid',
    'alter table customers validate constraint a',
    'alter table customers set (fillfactor = 80)',
    'create table a (b int)',
    'create index concurrently if not exists a on customers (organization_id, b)',
    'update customers set a = 1',
  ])('lets pass %s', (statement) => {
    expect(refusedByCluster(added(`-- Why.\n${statement};`))).toEqual([]);
  });
});

describe('the migrations', () => {
  test('are as they were when they came to main: a new one adds its line to checksums.json', () => {
    const faults = readMigrations().flatMap(({ tag, hash }) => {
      if (!recorded.has(tag)) return [`Add to migrations/checksums.json: "${tag}": "${hash}"`];
      return recorded.get(tag) === hash
        ? []
        : [`migrations/${tag}.sql has changed: restore it, and write the change in a new migration.`];
    });
    expect(faults).toEqual([]);
    expect(readMigrations().map(({ tag }) => tag)).toEqual([...recorded.keys()]);
  });

  test('have dates that only grow: they are applied in that order', () => {
    const dates = entries.map(({ when }) => when);
    expect(dates).toEqual([...new Set(dates)].sort((a, b) => a - b));
    expect(entries.map(({ idx }) => idx)).toEqual([...entries.keys()]);
  });

  test('are all in the journal, each with its snapshot and a comment that says why', () => {
    const files = readdirSync(folder).filter((file) => file.endsWith('.sql'));
    expect(files.sort()).toEqual(entries.map(({ tag }) => `${tag}.sql`).sort());
    for (const { tag } of entries) {
      expect(read(`${tag}.sql`), tag).toMatch(/^-- \S/);
      expect(JSON.parse(read(`meta/${tag.slice(0, 4)}_snapshot.json`))).toHaveProperty('tables');
    }
  });

  test('give exactly the schema of the code', async () => {
    const written = await emptyDatabase();
    const nothing = generateDrizzleJson({});
    const everything = generateDrizzleJson(schema, undefined, undefined, config.casing);
    await administer(written, async (client) => {
      for (const statement of functionsOf(readMigrations())) await client.query(statement);
      for (const statement of await generateMigration(nothing, everything)) await client.query(statement);
    });
    const [fromMigrations, fromCode] = [await describeSchema(migrated), await describeSchema(written)];
    expect(fromMigrations.columns?.length).toBeGreaterThan(100);
    expect(differences(fromMigrations, fromCode)).toEqual([]);
  });

  test('have a newest snapshot from which nothing is left to generate', async () => {
    const newest = entries.at(-1)?.tag.slice(0, 4);
    const snapshot = JSON.parse(read(`meta/${newest}_snapshot.json`));
    const now = generateDrizzleJson(schema, snapshot.id, undefined, config.casing);
    expect(await generateMigration(snapshot, now), 'Run npm run migration: it writes this.').toEqual([]);
  });

  test('apply each to a database that the ones before filled: a row of every table is there', async () => {
    const url = await emptyDatabase();
    const migrations = readMigrations();
    for (const count of migrations.keys()) {
      await migrateDatabase(url, migrations.slice(0, count + 1));
      await rows(url, ROW_OF_EVERY_TABLE);
    }
    const [found] = await rows<{ customers: number }>(
      url,
      'select count(*)::int as customers from customers',
    );
    expect(found?.customers).toBe(migrations.length - 1);
  });

  test('lose no index with a generated column: that is a difference', async () => {
    const url = await migratedDatabase();
    const before = await describeSchema(url);
    await rows(url, 'drop index searchable_customers_idx');
    expect(differences(await describeSchema(url), before)).toEqual([
      expect.stringMatching(
        /^Only the code has this of indexes; write it in a migration: CREATE INDEX searchable_customers_idx /,
      ),
    ]);
  });
});

describe('the schema', () => {
  const inPublic = `relnamespace = 'public'::regnamespace`;
  const tables = (url: string) =>
    rows<{ name: string; scoped: boolean }>(
      url,
      `select relname as name, exists (select from pg_attribute
          where attrelid = c.oid and attname = 'organization_id' and attnotnull) as scoped
        from pg_class c where ${inPublic} and relkind = 'r'`,
    );

  test('gives every table an organization, but for those named here', async () => {
    const all = await tables(migrated);
    expect(all.length).toBeGreaterThan(10);
    expect(
      all
        .filter(({ scoped }) => !scoped)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(SHARED_TABLES);
  });

  test('starts every primary key and index with the organization, but for those named here', async () => {
    const indexes = await rows<{ name: string; first: string; table: string }>(
      migrated,
      `select i.relname as name, t.relname as table, pg_get_indexdef(i.oid, 1, true) as first
        from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
        where t.${inPublic}`,
    );
    const unscoped = indexes.filter(
      ({ table, first }) => !SHARED_TABLES.includes(table) && first !== 'organization_id',
    );
    expect(unscoped.map(({ name }) => name).sort()).toEqual(UNSCOPED_INDEXES);
  });

  test('lets no row point into another organization: every foreign key carries the organization', async () => {
    const keys = await rows<{ name: string; definition: string }>(
      migrated,
      `select conname as name, pg_get_constraintdef(oid) as definition from pg_constraint
        where contype = 'f' and connamespace = 'public'::regnamespace`,
    );
    expect(keys.length).toBeGreaterThan(15);
    for (const { name, definition } of keys) {
      expect(definition, name).toMatch(
        /^FOREIGN KEY \(organization_id(, \w+)?\) REFERENCES (organizations\(id\)|\w+\(organization_id, id\))( ON DELETE CASCADE)?$/,
      );
    }
  });

  // Read rows follow an instance of the release before by these, where there is no cluster: migration 0014.
  // Beside them those that npm run migration makes for new columns of copies.
  const UNTIL_THE_NEXT_RELEASE = ['customers_keep_row', 'products_keep_row'];

  test('has no triggers and no sequences, so that it can be distributed by organization', async () => {
    expect(
      await rows(
        migrated,
        `select tgname from pg_trigger where not tgisinternal and tgname not in ('${UNTIL_THE_NEXT_RELEASE.join("', '")}')
          and tgname not like 'keep\\_%'
          and tgrelid in (select oid from pg_class where ${inPublic})`,
      ),
    ).toEqual([]);
    expect(await rows(migrated, `select relname from pg_class where ${inPublic} and relkind = 'S'`)).toEqual(
      [],
    );
  });

  test('names every constraint and index after its table and what it does', async () => {
    const named = await rows<{ table: string; name: string }>(
      migrated,
      `select t.relname as table, i.relname as name from pg_index x
          join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid where t.${inPublic}
        union all
        select conrelid::regclass::text, conname from pg_constraint
          where contype in ('f', 'u', 'c') and connamespace = 'public'::regnamespace`,
    );
    for (const { table, name } of named) {
      expect(name).toMatch(new RegExp(`^${table}_(.+_)?(pkey|fkey|key|idx|check)$`));
    }
  });

  test('stores text search in one form whatever the session: the folding functions are immutable', async () => {
    const functions = await rows<{ name: string; volatility: string }>(
      migrated,
      `select proname as name, provolatile as volatility from pg_proc
        where proname in ('fold_text', 'contains_pattern') order by 1`,
    );
    expect(functions).toEqual([
      { name: 'contains_pattern', volatility: 'i' },
      { name: 'fold_text', volatility: 'i' },
    ]);
  });
});
