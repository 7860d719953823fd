import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import pg from 'pg';
import { afterAll, expect, inject, test } from 'vitest';
import { latestMigration, migrateDatabase } from '../../src/db/index.ts';
import * as schema from '../../src/db/tables/index.ts';
import {
  administer,
  asService,
  countAtWork,
  createTestDatabase,
  EMPTY_TEMPLATE,
  hold,
  ownDatabase,
  runSql,
  serviceRole,
} from '../support/databases.ts';
import { newFolder } from '../support/folder.ts';

const folder = new URL('../../migrations/', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, folder), 'utf8');
const { entries } = JSON.parse(read('meta/_journal.json')) as { entries: { when: number; tag: string }[] };

const SHARED_TABLES = ['organizations', 'purged_organizations'];

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

const emptyDatabase = async (template = EMPTY_TEMPLATE) => (await ownDatabase(template)).ownerUrl;

/** Migrated once for all tests. A test that changes something takes a copy: `migratedDatabase`. */
const migrated = await createTestDatabase(inject('serverUrl'), EMPTY_TEMPLATE);
afterAll(migrated.drop);
await migrateDatabase(migrated.ownerUrl);

const migratedDatabase = (): Promise<string> =>
  emptyDatabase(new pg.Client({ connectionString: migrated.ownerUrl }).database);

/** A sorted line for each column, index, constraint and sequence or view: everything but functions and triggers. */
const describeSchema = async (url: string) => {
  const described = await runSql<{ line: string }>(
    url,
    `with ours as (select * from pg_class where relnamespace = 'public'::regnamespace)
    select concat_ws(' ', c.relname, c.relpersistence, c.reloptions, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated,
        pg_get_expr(d.adbin, d.adrelid)) as line
      from pg_attribute a join ours c on c.oid = a.attrelid and c.relkind = 'r'
        left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
      where a.attnum > 0 and not a.attisdropped
    union all select pg_get_indexdef(indexrelid) from pg_index where indrelid in (select oid from ours)
    union all select concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint
      where connamespace = 'public'::regnamespace and contype <> 't'
    union all select concat(relkind, relname) from ours where relkind in ('S', 'v', 'm', 'f', 'p')
      and not exists (select from pg_depend where objid = ours.oid and deptype = 'e')`,
  );
  return described.map(({ line }) => line).sort();
};

test('an empty database gets the migrations when twenty instances start at once, and their lock is released', async () => {
  const url = await emptyDatabase();
  await Promise.all(Array.from({ length: 20 }, () => migrateDatabase(url)));
  const migrations = 'select created_at as at from drizzle.__drizzle_migrations order by id';
  const applied = await runSql<{ at: string }>(url, migrations);
  expect(applied.map(({ at }) => Number(at))).toEqual(entries.map(({ when }) => when));
  expect(applied.at(-1)?.at).toBe(String(latestMigration));
  expect(await describeSchema(url)).toEqual(await describeSchema(migrated.ownerUrl));
  const locks = `select from pg_locks where locktype = 'advisory'
    and database = (select oid from pg_database where datname = current_database())`;
  expect(await runSql(url, locks)).toEqual([]);
});

test('a database of another encoding is rejected', async () => {
  const url = await emptyDatabase(`template0 encoding 'SQL_ASCII' locale 'C'`);
  await expect(migrateDatabase(url)).rejects.toThrow('must have the encoding UTF8, not SQL_ASCII');
});

/** Migrates with one more migration: 'applied', or the error message. */
async function migrateWith(url: string, ...statements: string[]): Promise<string> {
  const copy = await newFolder();
  cpSync(fileURLToPath(folder), copy, { recursive: true });
  const added = { idx: entries.length, when: latestMigration + 1, tag: '9999_added', breakpoints: true };
  writeFileSync(join(copy, 'meta/_journal.json'), JSON.stringify({ entries: [...entries, added] }));
  writeFileSync(join(copy, '9999_added.sql'), statements.join('--> statement-breakpoint'));
  return migrateDatabase(url, undefined, copy).then(
    () => 'applied',
    (error: Error) => error.message,
  );
}

test('a migration that fails is undone; the error quotes PostgreSQL, and says what to do', async () => {
  const url = await migratedDatabase();
  const twice = await migrateWith(url, 'create table half (id int)', 'create table customers (id int)');
  expect(twice).toBe(
    'The migrations were not applied. PostgreSQL says: relation "customers" already exists (42P07). Nothing was changed: put that right, and start again.',
  );
  expect(await describeSchema(url)).toEqual(await describeSchema(migrated.ownerUrl));
  await runSql(url, serviceRole.rights);
  const notOwner = await migrateWith(asService(url), 'drop table quotes');
  expect(notOwner).toMatch(/\(42501\)\. .* with DATABASE_DIRECT_URL set to a URL of that role\.$/);
  // As a hosted PostgreSQL does.
  const timed = `execute format('alter database %I set statement_timeout = 60000', current_database())`;
  await runSql(url, `do $$ begin ${timed}; end $$`);
  const divided = `select 1 / (current_setting('statement_timeout') = '0')::int`;
  expect(await migrateWith(url, divided)).toBe('applied');
});

const RECORDS = 'drizzle.__drizzle_migrations';
const LATER = latestMigration + 9;
test.each([
  ['one of which was edited later, is rejected', `update ${RECORDS} set hash = md5(hash)`],
  ['of another program, is rejected', `update ${RECORDS} set created_at = ${LATER}, hash = 'x'`],
  ['of a newer version too, is accepted', `insert into ${RECORDS} (hash, created_at) values ('x', ${LATER})`],
])('a database with migrations %s', async (which, change) => {
  const url = await migratedDatabase();
  await runSql(url, change);
  const migrating = migrateDatabase(url);
  if (which.endsWith('accepted')) await migrating;
  else
    await expect(migrating).rejects.toThrow(
      'The database was made by other migrations than this version has. Nothing was changed: use an empty database, or the version that made this one.',
    );
});

test('a migration of a table in use delays nobody for long, and continues', async () => {
  const url = await migratedDatabase();
  // As a long report does. An exclusive lock has to wait for it, and in PostgreSQL all later queries wait for that lock.
  const release = await hold(url, 'select from customers');
  const migrating = migrateWith(url, 'alter table customers add column x int');
  await expect.poll(() => countAtWork(url, 'Lock')).toBe(1);
  expect(await runSql(url, 'select from customers')).toEqual([]);
  await release();
  expect(await migrating).toBe('applied');
});

/** A database with the tables of the code, as drizzle-kit generates them, and the functions that they call. */
async function databaseOfTheCode(): Promise<string> {
  const url = await emptyDatabase();
  const byHand = await runSql<{ statement: string }>(
    migrated.ownerUrl,
    `select format('create extension if not exists %I schema public', extname) as statement from pg_extension where extnamespace = 'public'::regnamespace
    union all (select pg_get_functiondef(p.oid) from pg_proc p where pronamespace = 'public'::regnamespace and not exists (
      select from pg_depend where objid = p.oid and deptype = 'e') order by p.oid)`,
  );
  const generated = await generateMigration(generateDrizzleJson({}), generateDrizzleJson(schema));
  await administer(url, async (client) => {
    // A function may name a table that comes later.
    await client.query('set check_function_bodies = off');
    for (const statement of [...byHand.map(({ statement }) => statement), ...generated])
      await client.query(statement);
  });
  return url;
}

test('the migrations give exactly the tables of the code, and no sequence, which two servers could not share', async () => {
  const fromMigrations = await describeSchema(migrated.ownerUrl);
  expect(fromMigrations.length).toBeGreaterThan(300);
  expect(fromMigrations.filter((line) => /^S\w/.test(line))).toEqual([]);
  expect(fromMigrations, 'What only the code has, write in a migration').toEqual(
    await describeSchema(await databaseOfTheCode()),
  );
});

const inPublic = `relnamespace = 'public'::regnamespace`;
const namesOf = (found: { name: string }[]) => found.map(({ name }) => name).sort();

test('the organization is first in every primary key and index, but for the exceptions in this file', async () => {
  const unscoped = await runSql<{ name: string }>(
    migrated.ownerUrl,
    `select relname as name from pg_class c where ${inPublic} and relkind = 'r' and not exists (select from pg_attribute
      where attrelid = c.oid and attname = 'organization_id' and attnotnull)`,
  );
  expect(namesOf(unscoped)).toEqual(SHARED_TABLES);
  const others = await runSql<{ name: string }>(
    migrated.ownerUrl,
    `select i.relname as name from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
      where t.${inPublic} and t.relname <> all('{${SHARED_TABLES}}') and pg_get_indexdef(i.oid, 1, true) <> 'organization_id'`,
  );
  // A purge reads all organizations at once.
  expect(namesOf(others).filter((name) => !name.endsWith('_due_idx'))).toEqual(UNSCOPED_INDEXES);
});

test('the organization is in every foreign key: no row can refer to another organization', async () => {
  const keys = await runSql<{ name: string; definition: string }>(
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

const functionBodies = async (): Promise<string[]> => {
  const functions = await runSql<{ body: string }>(
    migrated.ownerUrl,
    `select prosrc as body from pg_proc p join pg_language l on l.oid = prolang
      where pronamespace = 'public'::regnamespace and lanname = 'plpgsql'`,
  );
  return functions.map(({ body }) => body);
};

test('no function inserts values with a subquery, which a cluster rejects', async () => {
  for (const body of await functionBodies()) expect(body).not.toMatch(/\bvalues \([^;]*\(select\b/);
});

test('a function names the organization for each table that it reads or changes', async () => {
  const count = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0;
  let tables = 0;
  for (const statement of (await functionBodies()).flatMap((body) => body.split(/;|\b(?:loop|then)\n/))) {
    const named = count(statement, /\b(from|join|update) public\.\w+\b(?!\()/g);
    expect(count(statement, /\borganization_id = |using \(organization_id\)/g), statement).toBe(named);
    tables += named;
  }
  expect(tables).toBeGreaterThan(30);
});
