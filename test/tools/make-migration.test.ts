import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { generateDrizzleJson } from 'drizzle-kit/api';
import { sql } from 'drizzle-orm';
import { index, integer, pgTable, text, uuid, varchar } from 'drizzle-orm/pg-core';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { type MadeMigration, MigrationRefused, makeMigration } from '../../tools/make-migration.ts';
import { dangersOf } from '../../tools/migration-rules.ts';
import { createTestDatabase, EMPTY_TEMPLATE, type TestDatabase } from '../support/databases.ts';

const databases: TestDatabase[] = [];
afterAll(() => Promise.all(databases.map(({ drop }) => drop())));

async function createDatabase(): Promise<string> {
  const database = await createTestDatabase(inject('serverUrl'), EMPTY_TEMPLATE);
  databases.push(database);
  return database.ownerUrl;
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'crm-test-migrations-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const searchOf = (...columns: string[]) =>
  sql.raw(`lower(${columns.map((name) => `coalesce(${name}, '')`).join(' || ')})`);

const guides = {
  guides: pgTable(
    'guides',
    {
      id: uuid().primaryKey(),
      name: text(),
      notes: text(),
      search: text().generatedAlwaysAs(searchOf('name', 'notes')),
    },
    (table) => [
      index('guides_search_idx').on(table.search).where(sql`name is not null`),
      index('guides_name_idx').on(table.name),
    ],
  ),
};

const make = (folder: string, schema: Record<string, unknown>, name = 'change', why = 'For the test.') =>
  makeMigration({ name, why, schema, folder, rewrite: true, createDatabase, now: 5 });

let made: string;
beforeAll(async () => {
  made = mkdtempSync(join(tmpdir(), 'crm-test-migrations-'));
  mkdirSync(join(made, 'meta'));
  writeFileSync(join(made, '0000_functions.sql'), '-- Nothing.\nselect 1;');
  writeFileSync(join(made, 'meta/0000_snapshot.json'), JSON.stringify(generateDrizzleJson({})));
  const entries = [{ idx: 0, version: '7', when: 1, tag: '0000_functions', breakpoints: true }];
  writeFileSync(
    join(made, 'meta/_journal.json'),
    JSON.stringify({ version: '7', dialect: 'postgresql', entries }),
  );
  await make(made, guides, 'guides');
});
afterAll(() => rm(made, { recursive: true, force: true }));

/** A folder whose migrations made the guides. */
function guidesFolder(): string {
  const folder = temporaryFolder();
  cpSync(made, folder, { recursive: true });
  return folder;
}

const filesOf = (folder: string): Map<string, string> =>
  new Map(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.includes('.'))
      .sort()
      .map((path) => [path, readFileSync(join(folder, path), 'utf8')]),
  );

/** The statements of each file. */
const statementsOf = (made: readonly MadeMigration[]): string[][] =>
  made.map(({ path }) =>
    readFileSync(path, 'utf8')
      .replace(/^--.*\n/gm, '')
      .split(/;\s*/)
      .map((statement) => statement.trim())
      .filter(Boolean),
  );

describe('makeMigration', () => {
  const withNickname = {
    guides: pgTable(
      'guides',
      {
        id: uuid().primaryKey(),
        name: text(),
        notes: text(),
        nickname: text(),
        search: text().generatedAlwaysAs(searchOf('name', 'notes', 'nickname')),
      },
      (table) => [
        index('guides_search_idx').on(table.search).where(sql`name is not null`),
        index('guides_name_idx').on(table.name),
      ],
    ),
  };

  test('puts a generated column after the new column that it reads, and makes its index again', async () => {
    const made = await make(guidesFolder(), withNickname, 'nickname');
    expect(made.map(({ tag }) => tag)).toEqual(['0002_nickname', '0003_nickname_indexes']);
    expect(statementsOf(made)).toEqual([
      [
        'ALTER TABLE "guides" ADD COLUMN "nickname" text',
        'ALTER TABLE "guides" drop column "search"',
        expect.stringMatching(
          /^ALTER TABLE "guides" ADD COLUMN "search" text GENERATED ALWAYS AS \(.*nickname.*\) STORED$/,
        ),
      ],
      [
        'CREATE INDEX CONCURRENTLY IF NOT EXISTS "guides_search_idx" ON "guides" USING btree ("search") WHERE name is not null',
      ],
    ]);
    expect(made.map(({ path }) => dangersOf({ statements: [readFileSync(path, 'utf8')] }))).toEqual([[], []]);
  });

  test('computes no column for every row unless that is accepted', async () => {
    const folder = guidesFolder();
    const before = filesOf(folder);
    const options = { name: 'nickname', why: 'For the test.', folder, createDatabase };
    await expect(makeMigration({ ...options, schema: withNickname })).rejects.toThrow(
      /^Everybody would wait for this migration:\n {2}alter table guides add column search .*: computes a column for every row\n.*--rewrite\.$/s,
    );
    expect(filesOf(folder)).toEqual(before);
  });

  test('builds a new index beside writers, and drops the old one after it', async () => {
    const folder = guidesFolder();
    const change = (name: string) => ({
      guides: pgTable(
        'guides',
        {
          id: uuid().primaryKey(),
          name: text(),
          notes: text(),
          search: text().generatedAlwaysAs(searchOf('name', 'notes')),
        },
        (table) => [
          index('guides_search_idx').on(table.search).where(sql`name is not null`),
          index(name).on(table.name, table.id),
        ],
      ),
    });
    await expect(make(folder, change('guides_name_idx'))).rejects.toThrow(
      /^The index guides_name_idx changes\. Give it a new name/,
    );
    const made = await make(folder, change('guides_name_id_idx'));
    expect(statementsOf(made)).toEqual([
      [
        'CREATE INDEX CONCURRENTLY IF NOT EXISTS "guides_name_id_idx" ON "guides" USING btree ("name","id")',
        'DROP INDEX CONCURRENTLY IF EXISTS "guides_name_idx"',
      ],
    ]);
    // From the snapshot of an index alone, too, nothing is left to make.
    await expect(make(folder, change('guides_name_id_idx'))).rejects.toThrow('has not changed');
  });

  test('drops a column after the generated column that read it', async () => {
    const folder = guidesFolder();
    const made = await make(folder, {
      guides: pgTable(
        'guides',
        { id: uuid().primaryKey(), name: text(), search: text().generatedAlwaysAs(searchOf('name')) },
        (table) => [
          index('guides_search_idx').on(table.search).where(sql`name is not null`),
          index('guides_name_idx').on(table.name),
        ],
      ),
    });
    expect(statementsOf(made)[0]?.map((statement) => statement.replace(/ text .*/, ''))).toEqual([
      'ALTER TABLE "guides" drop column "search"',
      'ALTER TABLE "guides" ADD COLUMN "search"',
      'ALTER TABLE "guides" DROP COLUMN "notes"',
    ]);
  });

  test('writes the reason on top, and a journal and a snapshot from which nothing is left to make', async () => {
    const folder = guidesFolder();
    const schema = {
      ...guides,
      buses: pgTable('buses', { id: uuid().primaryKey(), seats: integer().notNull() }),
    };
    const [made] = await make(
      folder,
      schema,
      'buses',
      `Agencies drive\nthemselves. ${'They do so every day. '.repeat(12)}`,
    );
    const path = join(folder, '0002_buses.sql');
    const [first, ...lines] = readFileSync(path, 'utf8').split('\n');
    const sha256 = hash('sha256', readFileSync(path));
    expect(made).toEqual({ path, tag: '0002_buses', hash: sha256 });
    expect(first).toMatch(/^-- Agencies drive themselves\. They do so every day\. /);
    expect(lines[1]).toMatch(/^-- /);
    expect(Math.max(...[first ?? '', ...lines.slice(0, 3)].map(({ length }) => length))).toBeLessThanOrEqual(
      110,
    );
    const { entries } = JSON.parse(readFileSync(join(folder, 'meta/_journal.json'), 'utf8'));
    expect(entries.slice(1)).toEqual([
      { idx: 1, version: '7', when: 5, tag: '0001_guides', breakpoints: true },
      { idx: 2, version: '7', when: 6, tag: '0002_buses', breakpoints: true },
    ]);
    await expect(make(folder, schema)).rejects.toThrow('The schema of the code has not changed.');
  });

  test.each([
    ['a bad name', guides, 'Search-Index', 'why', /^The name must be words in lower case/],
    ['no reason', guides, 'search', ' ', /^Say why/],
    ['nothing to do', guides, 'search', 'why', /^The schema of the code has not changed/],
    [
      'what does not apply',
      {
        guides: pgTable('guides', {
          id: uuid().primaryKey(),
          name: text(),
          notes: varchar({ length: 9 }),
          search: text().generatedAlwaysAs(searchOf('name', 'notes')),
        }),
      },
      'notes',
      'why',
      /^Migration notes was not applied\. PostgreSQL says: cannot alter type of a column used by a generated column/,
    ],
    [
      'a schema that cannot be',
      {
        guides: pgTable('guides', {
          id: uuid().primaryKey(),
          name: text(),
          notes: text(),
          search: text().generatedAlwaysAs(sql.raw('lower(title)')),
        }),
      },
      'search',
      'why',
      /^Migration of_the_whole_schema was not applied\. PostgreSQL says: column "title" does not exist/,
    ],
    [
      'a column that the rows have no value for',
      {
        guides: pgTable('guides', {
          id: uuid().primaryKey(),
          name: text(),
          notes: text(),
          age: integer().notNull(),
          search: text().generatedAlwaysAs(searchOf('name', 'notes')),
        }),
      },
      'age',
      'why',
      /^Rows that exist have no value for this column.*"age" integer NOT NULL;$/s,
    ],
  ])('refuses %s and writes nothing', async (_what, schema, name, why, message) => {
    const folder = guidesFolder();
    const before = filesOf(folder);
    const refusal = await make(folder, schema, name, why).catch((error) => error);
    expect(refusal).toBeInstanceOf(MigrationRefused);
    expect(refusal.message).toMatch(message);
    expect(filesOf(folder)).toEqual(before);
  });

  test('refuses migrations that give another schema than the code, and names what differs', async () => {
    const folder = guidesFolder();
    // Somebody changed a migration by hand, and the snapshot does not know.
    const path = join(folder, '0001_guides.sql');
    writeFileSync(
      path,
      `${readFileSync(path, 'utf8')};--> statement-breakpoint\nALTER TABLE guides ADD COLUMN age int;`,
    );
    const before = filesOf(folder);
    const schema = { ...guides, buses: pgTable('buses', { id: uuid().primaryKey() }) };
    await expect(make(folder, schema)).rejects.toThrow(
      /^The migrations do not give the schema of the code:\n {2}only the migrations have columns: guides,age,integer/,
    );
    expect(filesOf(folder)).toEqual(before);
  });
});

/** A copy of what a newcomer changes, with the tools beside it. */
function copyOfTheCode(): string {
  const copy = temporaryFolder();
  for (const path of ['src', 'tools', 'migrations', 'package.json'])
    cpSync(path, join(copy, path), { recursive: true });
  symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

function edit(copy: string, path: string, from: string, to: string): void {
  const text = readFileSync(join(copy, path), 'utf8');
  expect(text.split(from), `${path}: ${from}`).toHaveLength(2);
  writeFileSync(join(copy, path), text.replace(from, to));
}

describe('npm run migration', () => {
  const run = (copy: string, ...options: string[]) =>
    promisify(execFile)(
      process.execPath,
      ['--import', './src/runtime.js', 'tools/migration.ts', ...options],
      {
        cwd: copy,
        env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR },
      },
    );

  test('makes the migration of a new text field of customers that query finds', async () => {
    const copy = copyOfTheCode();
    edit(
      copy,
      'src/db/schema/customers.ts',
      '    lastName: text(),\n',
      '    lastName: text(),\n    nickname: text(),\n',
    );
    edit(copy, 'src/db/schema/customers.ts', "['summary', ", "['summary', 'nickname', ");
    const options = ['--name', 'nickname', '--why', 'Guides know people by it.', '--rewrite'];
    const { stdout } = await run(copy, ...options);
    const written = [...stdout.matchAll(/^Written: (migrations\/.*\.sql)$/gm)].map(([, path]) =>
      readFileSync(join(copy, String(path)), 'utf8'),
    );
    // The index of the text is on the searchable table, which does not change.
    expect(written).toHaveLength(1);
    expect(written[0]).toMatch(
      /^-- Guides know people by it\.\n-- Everybody waits .*\nALTER TABLE "customers" ADD COLUMN "nickname"/,
    );
    expect(stdout).toContain(hash('sha256', String(written[0])));
  });

  test('says in one line what it wants', async () => {
    const refused = run(process.cwd(), '--name', 'x');
    const usage = 'Usage: npm run migration -- --name what_changes --why "the reason" [--rewrite]\n';
    await expect(refused).rejects.toMatchObject({ code: 1, stderr: usage });
  });
});
