import { readdirSync, readFileSync } from 'node:fs';
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import {
  latestMigration,
  type Migration,
  migrateDatabase,
  readMigrations,
} from '../../src/db/server/migrate.ts';
import * as schema from '../../src/db/tables/index.ts';
import { dangersOf } from '../../tools/migration-rules.ts';
import { administer, countAtWork, createTestDatabase, EMPTY_TEMPLATE, hold } from '../support/databases.ts';

const folder = new URL('../../migrations/', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, folder), 'utf8');

type Journal = { entries: { idx: number; when: number; tag: string }[] };
const { entries } = JSON.parse(read('meta/_journal.json')) as Journal;

/** Tables that belong to no organization. */
const SHARED_TABLES = ['organizations', 'purged_organizations'];

/** Indexes that do not start with the organization, each with its reason. */
const UNSCOPED_INDEXES = [
  // Authentication finds the organization by the key.
  'api_keys_hash_key',
  // The sweep of idempotency keys looks through all organizations at once.
  'idempotency_keys_created_at_idx',
];

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

/** What PostgreSQL knows of tables. Functions and triggers are left out. */
const QUERIES = {
  columns: `
    select c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated,
      pg_get_expr(d.adbin, d.adrelid)
    from pg_attribute a join pg_class c on c.oid = a.attrelid
      left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped`,
  indexes: `
    select pg_get_indexdef(indexrelid) from pg_index
    where indrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace)`,
  constraints: `
    select conrelid::regclass, conname, pg_get_constraintdef(oid) from pg_constraint
    where connamespace = 'public'::regnamespace and contype <> 't'`,
  others: `
    select relkind, relname from pg_class c
    where relnamespace = 'public'::regnamespace and relkind in ('S', 'v', 'm', 'f', 'p')
      and not exists (select from pg_depend where objid = c.oid and deptype = 'e')`,
};

/** For each kind of thing in the schema `public` its sorted lines, one a thing, so that two databases can be compared. */
const describeSchema = (url: string) =>
  administer(url, async (client) => {
    const description: Record<string, string[]> = {};
    for (const [kind, text] of Object.entries(QUERIES)) {
      const { rows } = await client.query({ text, rowMode: 'array' });
      description[kind] = rows.map(String).sort();
    }
    return description;
  });

const rows = <Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> =>
  administer(url, async (client) => (await client.query<Row>(text)).rows);

describe('migrateDatabase', () => {
  test('brings an empty database to the newest migration when twenty instances start at once, and leaves no lock', async () => {
    const url = await emptyDatabase();
    await Promise.all(Array.from({ length: 20 }, () => migrateDatabase(url)));
    const applied = await rows<{ at: string }>(
      url,
      'select created_at as at from drizzle.__drizzle_migrations order by id',
    );
    expect(applied.map(({ at }) => Number(at))).toEqual(entries.map(({ when }) => when));
    expect(applied.at(-1)?.at).toBe(String(latestMigration));
    expect(await describeSchema(url)).toEqual(await describeSchema(migrated));
    const locks = `select from pg_locks where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())`;
    expect(await rows(url, locks)).toEqual([]);
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

/** What a start says that has one migration more. */
const migrateWith = (url: string, ...statements: string[]): Promise<string> =>
  migrateDatabase(url, [...readMigrations(), added(...statements)]).then(
    () => 'applied',
    (error: Error) => error.message,
  );

describe('a migration that fails', () => {
  test('leaves nothing of itself, and says in one line which, what PostgreSQL said and what to do', async () => {
    const url = await emptyDatabase();
    const before = await migrateWith(
      url,
      'create table half (id int)',
      'create table customers (\n  id int\n)',
    );
    expect(before).toBe(
      'Migration 9999_added was not applied. PostgreSQL says: relation "customers" already exists (42P07). Nothing of it is kept: put that right, and start again.',
    );
    expect(await describeSchema(url)).toEqual(await describeSchema(migrated));
    expect(await migrateWith(url, 'select 1')).toBe('applied');
  });

  test('for want of rights names the owner and DATABASE_DIRECT_URL', async () => {
    const url = await migratedDatabase();
    expect(await migrateWith(url, 'set role pg_monitor', 'drop table quotes')).toMatch(
      /must be owner of table quotes \(42501\)\. .* set DATABASE_DIRECT_URL to a URL of that role\.$/,
    );
  });
});

describe('a database of another history', () => {
  const RECORD = 'update drizzle.__drizzle_migrations set';
  const recorded = (when: number) =>
    `insert into drizzle.__drizzle_migrations (hash, created_at) values ('x', ${when})`;

  test.each([
    [
      'with a file that was edited since',
      `${RECORD} hash = md5(hash) where created_at = ${latestMigration}`,
      `The database was made with another form of ${entries.at(-1)?.tag}.`,
    ],
    [
      'of another program',
      `${RECORD} created_at = created_at - 1000, hash = 'x'`,
      'The database was made before version 1.0.0, or by another program.',
    ],
    [
      'with a migration that this version does not have',
      recorded(latestMigration - 1),
      `The database has one migration of ${new Date(latestMigration - 1).toISOString()} that is not of this version.`,
    ],
  ])('%s is refused and left as it is', async (_which, change, said) => {
    const url = await migratedDatabase();
    await rows(url, change);
    const nothing = 'Nothing was changed: use an empty database, or the version that made this one.';
    expect(await migrateWith(url, 'create table never (id int)')).toBe(`${said} ${nothing}`);
    expect(await rows(url, `select from pg_tables where tablename = 'never'`)).toEqual([]);
  });

  test('is not one that a newer version of the service has migrated', async () => {
    const url = await migratedDatabase();
    await rows(url, recorded(latestMigration + 9));
    expect(await migrateWith(url, 'select 1')).toBe('applied');
  });

  test('that has tables of the same names is refused, and keeps them', async () => {
    const url = await emptyDatabase();
    await rows(url, 'create table customers (id int)');
    await expect(migrateDatabase(url)).rejects.toThrow(
      'Migration 0000_baseline was not applied. PostgreSQL says: relation "customers" already exists (42P07).',
    );
    expect((await describeSchema(url)).columns).toEqual(['customers,id,integer,false,,']);
  });
});

describe('a migration of tables in use', () => {
  test('that waits for a lock lets others pass, and goes on when it gets it', async () => {
    const url = await migratedDatabase();
    // A long report: whoever wants the table alone waits for it, and all others would wait behind.
    const release = await hold(url, 'select from customers');
    const migrating = migrateWith(url, 'alter table customers add column x int');
    await expect.poll(() => countAtWork(url, 'Lock')).toBe(1);
    expect(await rows(url, 'select from customers')).toEqual([]);
    await release();
    expect(await migrating).toBe('applied');
  });

  const BUILD = [
    '-- Why.\nCREATE INDEX CONCURRENTLY IF NOT EXISTS "customers_new_idx" ON "customers" (organization_id, created_at);',
    'DROP INDEX CONCURRENTLY IF EXISTS "customers_old_idx";',
  ];
  const indexes = (url: string) =>
    rows<{ name: string; valid: boolean }>(
      url,
      `select indexrelid::regclass::text as name, indisvalid as valid from pg_index
        where indexrelid::regclass::text in ('customers_new_idx', 'customers_old_idx') order by valid`,
    );
  const [BUILT, BEGUN] = [true, false].map((valid) => ({ name: 'customers_new_idx', valid }));
  /** The old index is there, and somebody writes until it is let go. */
  async function writing() {
    const url = await migratedDatabase();
    await rows(url, 'create index customers_old_idx on customers (created_at)');
    const writeOf = async (name: string) => {
      const insert = `insert into organizations (id, name) values (gen_random_uuid(), '${name}') returning id`;
      const [{ id } = {}] = await rows<{ id: string }>(url, insert);
      return `insert into customers (organization_id, id) values ('${id}', gen_random_uuid())`;
    };
    // Of another organization: one of sixteen connections would wait for the same count.
    const [held, write] = [await writeOf('a'), await writeOf('b')];
    return { url, write, release: await hold(url, held) };
  }

  test('builds an index while rows are written, and waits as long as the writers take', async () => {
    const { url, write, release } = await writing();
    const starts = Array.from({ length: 5 }, () => migrateWith(url, ...BUILD));
    await expect.poll(() => indexes(url)).toMatchObject([BEGUN, { name: 'customers_old_idx' }]);
    await rows(url, write);
    await release();
    expect(new Set(await Promise.all(starts))).toEqual(new Set(['applied']));
    expect(await indexes(url)).toEqual([BUILT]);
    expect(await addedIs(url)).toBe(1);
  });

  test('is finished by the next start when it was interrupted in the middle of an index', async () => {
    const { url, release } = await writing();
    const interrupted = migrateWith(url, ...BUILD);
    await expect.poll(() => indexes(url)).toMatchObject([BEGUN, {}]);
    await rows(
      url,
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query ilike '%create index%' and pid <> pg_backend_pid()`,
    );
    expect(await interrupted).toMatch(/^Migration 9999_added was not applied\. .* What it built is kept: /);
    await release();
    expect(await indexes(url)).toMatchObject([BEGUN, {}]);
    expect(await migrateWith(url, ...BUILD)).toBe('applied');
    expect(await indexes(url)).toEqual([BUILT]);
  });

  test('is finished by the next start when it was interrupted before it was recorded', async () => {
    const url = await migratedDatabase();
    for (const statement of BUILD) await rows(url, statement);
    expect(await migrateWith(url, ...BUILD)).toBe('applied');
    expect([await indexes(url), await addedIs(url)]).toEqual([[BUILT], 1]);
  });
});

describe('the rules for the next migration', () => {
  const CUSTOMERS = 'ALTER TABLE "customers"';
  const BUILD = 'create index concurrently if not exists a on t (x)';
  const DROP = 'drop index concurrently if exists b';
  const [, ...next] = readMigrations();

  test('are kept by every migration after the baseline', () => {
    expect(next.flatMap(dangersOf)).toEqual([]);
  });

  test.each([
    ['an index', 'CREATE UNIQUE INDEX "a" ON "customers" USING btree ("id")'],
    ['an index without a second chance', 'create index concurrently a on customers (id)'],
    ['the end of an index', 'DROP INDEX IF EXISTS "a"'],
    ['an index that is dropped first', DROP, BUILD],
    ['an index under the old name', BUILD, 'drop index concurrently if exists a'],
    ['an index beside something else', BUILD, 'update t set x = 1'],
    ['a type', `${CUSTOMERS} ALTER COLUMN "a" SET DATA TYPE text`],
    ['no more nulls', `${CUSTOMERS} ALTER COLUMN "a" SET NOT NULL`],
    ['a key', `${CUSTOMERS} ADD CONSTRAINT "k" FOREIGN KEY ("a") REFERENCES "b"("id")`],
    ['a computed column', `${CUSTOMERS} ADD COLUMN "a" text GENERATED ALWAYS AS (lower(b)) STORED`],
    ['a column without a value', `${CUSTOMERS} ADD COLUMN "a" text NOT NULL`],
    ['a default for each row', `${CUSTOMERS} ADD COLUMN "a" uuid DEFAULT gen_random_uuid()`],
  ])('refuse %s, for which everybody would wait', (_name, ...statements) => {
    expect(dangersOf(added(...statements.map((text) => `-- Why.\n${text};`)))).toHaveLength(1);
  });

  test.each([
    ['a table with its indexes', 'CREATE TABLE "a" ("id" uuid)', 'CREATE INDEX "a_idx" ON "a" ("id")'],
    ['a column', `${CUSTOMERS} ADD COLUMN "a" text`],
    ['a column with a value', `${CUSTOMERS} ADD COLUMN "b" int DEFAULT 0 NOT NULL`],
    ['a constraint for rows to come', `${CUSTOMERS} ADD CONSTRAINT "k" CHECK (a > 0) NOT VALID`],
    ['its validation', `${CUSTOMERS} VALIDATE CONSTRAINT "k"`],
    ['indexes built beside those who write', BUILD, DROP, 'analyze t'],
  ])('let pass %s', (_name, ...statements) => {
    expect(dangersOf(added(...statements.map((text) => `${text};`)))).toEqual([]);
  });
});

describe('the migrations', () => {
  test('are all in the journal, by dates that only grow, each with its snapshot and a comment that says why', () => {
    const dates = entries.map(({ when }) => when);
    expect(dates).toEqual([...new Set(dates)].sort((a, b) => a - b));
    expect(entries.map(({ idx }) => idx)).toEqual([...entries.keys()]);
    const files = readdirSync(folder).filter((file) => file.endsWith('.sql'));
    expect(files.sort()).toEqual(entries.map(({ tag }) => `${tag}.sql`).sort());
    for (const { tag } of entries) {
      expect(read(`${tag}.sql`), tag).toMatch(/^-- \S/);
      expect(JSON.parse(read(`meta/${tag.slice(0, 4)}_snapshot.json`))).toHaveProperty('tables');
    }
  });

  /** The tables of the code as drizzle-kit makes them, with the functions that they call. */
  async function databaseOfTheCode(): Promise<string> {
    const url = await emptyDatabase();
    const byHand = /^(\s|--.*$)*create (or replace )?(extension|function) /im;
    const functions = readMigrations().flatMap(({ statements }) =>
      statements.filter((text) => byHand.test(text)),
    );
    const everything = generateDrizzleJson(schema);
    await administer(url, async (client) => {
      // A function may name a table that comes later.
      await client.query('set check_function_bodies = off');
      for (const statement of functions) await client.query(statement);
      for (const statement of await generateMigration(generateDrizzleJson({}), everything))
        await client.query(statement);
    });
    return url;
  }

  test('give exactly the tables of the code', async () => {
    const fromMigrations = await describeSchema(migrated);
    expect(fromMigrations.columns?.length).toBeGreaterThan(100);
    expect(fromMigrations, 'What only the code has, write in a migration').toEqual(
      await describeSchema(await databaseOfTheCode()),
    );
    const url = await migratedDatabase();
    await rows(url, 'drop index quotes_live_idx');
    expect(await describeSchema(url)).not.toEqual(fromMigrations);
  });

  test('have a newest snapshot from which nothing is left to generate', async () => {
    const newest = entries.at(-1)?.tag.slice(0, 4);
    const snapshot = JSON.parse(read(`meta/${newest}_snapshot.json`));
    const now = generateDrizzleJson(schema, snapshot.id);
    expect(await generateMigration(snapshot, now), 'Run npm run migration: it writes this.').toEqual([]);
  });
});

describe('the schema', () => {
  const inPublic = `relnamespace = 'public'::regnamespace`;
  const INDEXES = `select t.relname as table, i.relname as name, pg_get_indexdef(i.oid, 1, true) as first
    from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid where t.${inPublic}`;
  type Named = { name: string; table: string; first: string };
  const namesOf = (found: { name: string }[]) => found.map(({ name }) => name).sort();

  test('gives every table an organization, first in its primary key and every index, but for those named here', async () => {
    const unscoped = await rows<Named>(
      migrated,
      `select relname as name from pg_class c where ${inPublic} and relkind = 'r' and not exists (select from pg_attribute
        where attrelid = c.oid and attname = 'organization_id' and attnotnull)`,
    );
    expect(namesOf(unscoped)).toEqual(SHARED_TABLES);
    const indexes = await rows<Named>(migrated, INDEXES);
    expect(indexes.length).toBeGreaterThan(10);
    const others = indexes.filter(
      ({ table, first, name }) =>
        // A purge looks through all organizations at once.
        !SHARED_TABLES.includes(table) && first !== 'organization_id' && name !== `${table}_due_idx`,
    );
    expect(namesOf(others)).toEqual(UNSCOPED_INDEXES);
  });

  test('lets no row point into another organization: every foreign key carries the organization', async () => {
    const keys = await rows<{ name: string; definition: string }>(
      migrated,
      `select conname as name, pg_get_constraintdef(oid) as definition from pg_constraint
        where contype = 'f' and connamespace = 'public'::regnamespace`,
    );
    expect(keys.length).toBeGreaterThan(15);
    for (const { name, definition } of keys)
      expect(definition, name).toMatch(
        /^FOREIGN KEY \(organization_id(, \w+)?\) REFERENCES (organizations\(id\)|\w+\(organization_id, id\))( ON DELETE CASCADE)?$/,
      );
  });

  test('has no sequences: two servers could not share them', async () => {
    const sequences = `select relname from pg_class where ${inPublic} and relkind = 'S'`;
    expect(await rows(migrated, sequences)).toEqual([]);
  });
});
