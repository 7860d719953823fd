import { cpSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { latestMigration, migrateDatabase } from '../../src/db/index.ts';
import * as schema from '../../src/db/tables/index.ts';
import {
  administer,
  asService,
  countAtWork,
  createTestDatabase,
  EMPTY_TEMPLATE,
  hold,
  serviceRole,
  type TestDatabase,
} from '../support/databases.ts';

const folder = new URL('../../migrations/', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, folder), 'utf8');

type Journal = { entries: { idx: number; when: number; tag: string }[] };
const { entries } = JSON.parse(read('meta/_journal.json')) as Journal;

/** Tables that belong to no organization. */
const SHARED_TABLES = ['organizations', 'purged_organizations'];

/** Indexes that do not start with the organization. */
const UNSCOPED_INDEXES = [
  // Authentication finds the organization by the key.
  'api_keys_hash_key',
  // One job deletes the expired keys of all organizations.
  'idempotency_keys_created_at_idx',
  // A public link names no organization.
  'quotes_token_idx',
  // The dashboard lists the organizations of an account.
  'team_members_user_key',
];

async function emptyDatabase(template = EMPTY_TEMPLATE): Promise<string> {
  const database = await createTestDatabase(inject('serverUrl'), template);
  onTestFinished(database.drop);
  return database.ownerUrl;
}

/** Migrated once for all tests. A test that changes something takes a copy: `migratedDatabase`. */
let migrated: TestDatabase;
beforeAll(async () => {
  migrated = await createTestDatabase(inject('serverUrl'), EMPTY_TEMPLATE);
  await migrateDatabase(migrated.ownerUrl);
});
afterAll(() => migrated.drop());

const migratedDatabase = (): Promise<string> =>
  emptyDatabase(new pg.Client({ connectionString: migrated.ownerUrl }).database);

/** What is compared of two schemas: everything but functions and triggers. */
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

/** A sorted line for each column, index, … of the schema `public`. */
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
  test('brings an empty database to the latest migration when twenty instances start at once, and releases its lock', async () => {
    const url = await emptyDatabase();
    await Promise.all(Array.from({ length: 20 }, () => migrateDatabase(url)));
    const applied = await rows<{ at: string }>(
      url,
      'select created_at as at from drizzle.__drizzle_migrations order by id',
    );
    expect(applied.map(({ at }) => Number(at))).toEqual(entries.map(({ when }) => when));
    expect(applied.at(-1)?.at).toBe(String(latestMigration));
    expect(await describeSchema(url)).toEqual(await describeSchema(migrated.ownerUrl));
    const locks = `select from pg_locks where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())`;
    expect(await rows(url, locks)).toEqual([]);
  });

  test('rejects a database of another encoding, and changes nothing in it', async () => {
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

/** The folder with one more migration. */
function folderWith(statements: string[]): string {
  const copy = mkdtempSync(join(tmpdir(), 'migrations-'));
  cpSync(fileURLToPath(folder), copy, { recursive: true });
  const added = { idx: entries.length, when: latestMigration + 1, tag: '9999_added', breakpoints: true };
  writeFileSync(join(copy, 'meta/_journal.json'), JSON.stringify({ entries: [...entries, added] }));
  writeFileSync(join(copy, '9999_added.sql'), statements.join('--> statement-breakpoint'));
  return copy;
}
/** Migrates with one more migration: 'applied', or the error message. */
const migrateWith = (url: string, ...statements: string[]): Promise<string> =>
  migrateDatabase(url, folderWith(statements)).then(
    () => 'applied',
    (error: Error) => error.message,
  );

describe('a migration that fails', () => {
  test('is undone; the error quotes PostgreSQL, and says what to do', async () => {
    const url = await migratedDatabase();
    const error = await migrateWith(
      url,
      'create table half (id int)',
      'create table customers (\n  id int\n)',
    );
    expect(error).toBe(
      'The migrations were not applied. PostgreSQL says: relation "customers" already exists (42P07). Nothing was changed: put that right, and start again.',
    );
    expect(await describeSchema(url)).toEqual(await describeSchema(migrated.ownerUrl));
    expect(await migrateWith(url, 'select 1')).toBe('applied');
  });

  test('for lack of rights says which role it needs, and to set DATABASE_DIRECT_URL', async () => {
    const url = await migratedDatabase();
    await rows(url, serviceRole.rights);
    const error = await migrateWith(asService(url), 'drop table quotes');
    expect(error).toMatch(/\(42501\)\. .* with DATABASE_DIRECT_URL set to a URL of that role\.$/);
  });
});

test('a role that has a schema of its own name gets its tables in public', async () => {
  const url = await emptyDatabase();
  await rows(url, `do $$ begin execute format('create schema %I', current_user); end $$`);
  await migrateDatabase(url);
  expect(await describeSchema(url)).toEqual(await describeSchema(migrated.ownerUrl));
});

describe('a database with other migrations', () => {
  const RECORD = 'update drizzle.__drizzle_migrations set';
  const recorded = (when: number) =>
    `insert into drizzle.__drizzle_migrations (hash, created_at) values ('x', ${when})`;

  test.each([
    ['one of which was edited later', `${RECORD} hash = md5(hash) where created_at = ${latestMigration}`],
    ['of another program', `${RECORD} created_at = ${latestMigration + 9}, hash = 'x'`],
  ])('%s, is rejected and not changed', async (_which, change) => {
    const url = await migratedDatabase();
    await rows(url, change);
    expect(await migrateWith(url, 'create table never (id int)')).toBe(
      'The database was made by other migrations than this version has. Nothing was changed: use an empty database, or the version that made this one.',
    );
    expect(await rows(url, `select from pg_tables where tablename = 'never'`)).toEqual([]);
  });

  test('of a newer version of the service is accepted', async () => {
    const url = await migratedDatabase();
    await rows(url, recorded(latestMigration + 9));
    await expect(migrateDatabase(url)).resolves.toBeUndefined();
  });
});

test('a migration of a table in use delays nobody for long, and continues', async () => {
  const url = await migratedDatabase();
  // As a long report does. An exclusive lock has to wait for it, and in PostgreSQL all later queries wait for that lock.
  const release = await hold(url, 'select from customers');
  const migrating = migrateWith(url, 'alter table customers add column x int');
  await expect.poll(() => countAtWork(url, 'Lock')).toBe(1);
  expect(await rows(url, 'select from customers')).toEqual([]);
  await release();
  expect(await migrating).toBe('applied');
});

describe('the migrations', () => {
  test('are all in the journal by ascending date, each with a snapshot', () => {
    const dates = entries.map(({ when }) => when);
    expect(dates).toEqual([...new Set(dates)].sort((a, b) => a - b));
    expect(entries.map(({ idx }) => idx)).toEqual([...entries.keys()]);
    const files = readdirSync(folder).filter((file) => file.endsWith('.sql'));
    expect(files.sort()).toEqual(entries.map(({ tag }) => `${tag}.sql`).sort());
    for (const { tag } of entries)
      expect(JSON.parse(read(`meta/${tag.slice(0, 4)}_snapshot.json`))).toHaveProperty('tables');
  });

  /** A database with the tables of the code, as drizzle-kit generates them, and the functions that they call. */
  async function databaseOfTheCode(): Promise<string> {
    const url = await emptyDatabase();
    const byHand = /^(\s|--.*$)*create (or replace )?(extension|function) /im;
    const functions = entries
      .flatMap(({ tag }) => read(`${tag}.sql`).split('--> statement-breakpoint'))
      .filter((text) => byHand.test(text));
    await administer(url, async (client) => {
      // A function may name a table that comes later.
      await client.query('set check_function_bodies = off');
      for (const statement of functions) await client.query(statement);
      for (const statement of await generateMigration(generateDrizzleJson({}), generateDrizzleJson(schema)))
        await client.query(statement);
    });
    return url;
  }

  test('give exactly the tables of the code', async () => {
    const fromMigrations = await describeSchema(migrated.ownerUrl);
    for (const kind of ['columns', 'indexes', 'constraints'])
      expect(fromMigrations[kind]?.length, kind).toBeGreaterThan(30);
    expect(fromMigrations, 'What only the code has, write in a migration').toEqual(
      await describeSchema(await databaseOfTheCode()),
    );
  });
});

describe('the schema', () => {
  const inPublic = `relnamespace = 'public'::regnamespace`;
  const INDEXES = `select t.relname as table, i.relname as name, pg_get_indexdef(i.oid, 1, true) as first
    from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid where t.${inPublic}`;
  type Named = { name: string; table: string; first: string };
  const namesOf = (found: { name: string }[]) => found.map(({ name }) => name).sort();

  test('has the organization first in every primary key and index, but for the exceptions in this file', async () => {
    const unscoped = await rows<Named>(
      migrated.ownerUrl,
      `select relname as name from pg_class c where ${inPublic} and relkind = 'r' and not exists (select from pg_attribute
        where attrelid = c.oid and attname = 'organization_id' and attnotnull)`,
    );
    expect(namesOf(unscoped)).toEqual(SHARED_TABLES);
    const indexes = await rows<Named>(migrated.ownerUrl, INDEXES);
    expect(indexes.length).toBeGreaterThan(10);
    const others = indexes.filter(
      ({ table, first, name }) =>
        // A purge reads all organizations at once.
        !SHARED_TABLES.includes(table) && first !== 'organization_id' && name !== `${table}_due_idx`,
    );
    expect(namesOf(others)).toEqual(UNSCOPED_INDEXES);
  });

  test('has the organization in every foreign key: no row can refer to another organization', async () => {
    const keys = await rows<{ name: string; definition: string }>(
      migrated.ownerUrl,
      `select conname as name, pg_get_constraintdef(oid) as definition from pg_constraint
        where contype = 'f' and connamespace = 'public'::regnamespace`,
    );
    expect(keys.length).toBeGreaterThan(15);
    for (const { name, definition } of keys)
      expect(definition, name).toMatch(
        /^FOREIGN KEY \(organization_id(, \w+)?\) REFERENCES (organizations\(id\)|\w+\(organization_id, id\))( ON DELETE CASCADE)?$/,
      );
  });

  test('has no sequences, which two servers could not share', async () => {
    const sequences = `select relname from pg_class where ${inPublic} and relkind = 'S'`;
    expect(await rows(migrated.ownerUrl, sequences)).toEqual([]);
  });
});
