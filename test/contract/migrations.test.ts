import { readdirSync, readFileSync } from 'node:fs';
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { latestMigration, migrateDatabase } from '../../src/db/migrate.ts';
import * as schema from '../../src/db/schema/index.ts';
import { administer, createTestDatabase, EMPTY_TEMPLATE } from '../support/databases.ts';

const folder = new URL('../../migrations/', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, folder), 'utf8');

type Journal = { entries: { idx: number; when: number; tag: string }[] };
const { entries } = JSON.parse(read('meta/_journal.json')) as Journal;

/** Tables that belong to no organization. */
const SHARED_TABLES = ['organizations', 'rate_limits'];

/** Indexes that do not start with the organization, each with its reason. */
const UNSCOPED_INDEXES = [
  // Authentication finds the organization by the key.
  'api_keys_hash_key',
  // The sweep of idempotency keys looks through all organizations at once.
  'idempotency_keys_created_at_idx',
  // The purge looks through all organizations at once.
  'products_purge_idx',
];

async function emptyDatabase(): Promise<string> {
  const database = await createTestDatabase(inject('serverUrl'), EMPTY_TEMPLATE);
  onTestFinished(database.drop);
  return database.url;
}

/** One that was migrated once; tests that write take one of their own. */
let migrated: string;
let dropMigrated: () => Promise<void>;
beforeAll(async () => {
  const database = await createTestDatabase(inject('serverUrl'), EMPTY_TEMPLATE);
  migrated = database.url;
  dropMigrated = database.drop;
  await migrateDatabase(migrated);
});
afterAll(() => dropMigrated());

const rows = <Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> =>
  administer(url, async (client) => (await client.query<Row>(text)).rows);

/** All that PostgreSQL knows of the schema, in the order of names. */
const describeSchema = (url: string) =>
  administer(url, async (client) => {
    const ask = async (text: string) =>
      (await client.query({ text, rowMode: 'array' })).rows.map(String).sort();
    return {
      columns: await ask(`
        select c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated,
          pg_get_expr(d.adbin, d.adrelid)
        from pg_attribute a join pg_class c on c.oid = a.attrelid
          left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
        where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped`),
      indexes: await ask(`select pg_get_indexdef(indexrelid) from pg_index
        where indrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace)`),
      constraints: await ask(`select conrelid::regclass, conname, pg_get_constraintdef(oid) from pg_constraint
        where connamespace = 'public'::regnamespace`),
      functions: await ask(`select pg_get_functiondef(oid) from pg_proc p
        where pronamespace = 'public'::regnamespace and prokind = 'f'
          and not exists (select from pg_depend where objid = p.oid and deptype = 'e')`),
      extensions: await ask(`select extname from pg_extension`),
      others: await ask(`select relkind, relname from pg_class c
        where relnamespace = 'public'::regnamespace and relkind in ('S', 'v', 'm', 'f', 'p')
          and not exists (select from pg_depend where objid = c.oid and deptype = 'e')`),
    };
  });

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
    const url = await emptyDatabase();
    await migrateDatabase(url);
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
    await expect(migrateDatabase(database.url)).rejects.toThrow('must have the encoding UTF8, not SQL_ASCII');
    expect(
      await rows(database.url, `select from pg_tables where schemaname in ('public', 'drizzle')`),
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

describe('the migrations', () => {
  test('have dates that only grow: an older one than the last applied would be skipped', () => {
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
    const [functions] = entries;
    const nothing = generateDrizzleJson({});
    const everything = generateDrizzleJson(schema, undefined, undefined, 'snake_case');
    await administer(written, async (client) => {
      await client.query(read(`${functions?.tag}.sql`).replaceAll('--> statement-breakpoint', ''));
      for (const statement of await generateMigration(nothing, everything)) await client.query(statement);
    });
    const [fromMigrations, fromCode] = [await describeSchema(migrated), await describeSchema(written)];
    expect(fromMigrations.columns.length).toBeGreaterThan(100);
    expect(fromMigrations).toEqual(fromCode);
  });

  test('have a newest snapshot from which nothing is left to generate', async () => {
    const newest = entries.at(-1)?.tag.slice(0, 4);
    const snapshot = JSON.parse(read(`meta/${newest}_snapshot.json`));
    const now = generateDrizzleJson(schema, snapshot.id, undefined, 'snake_case');
    expect(await generateMigration(snapshot, now)).toEqual([]);
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
        /^FOREIGN KEY \(organization_id(, \w+)?\) REFERENCES (organizations\(id\)|\w+\(organization_id, id\))$/,
      );
    }
  });

  test('has no triggers and no sequences, so that it can be distributed by organization', async () => {
    expect(
      await rows(
        migrated,
        `select tgname from pg_trigger where not tgisinternal
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
