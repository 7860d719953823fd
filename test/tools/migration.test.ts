import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { administer, createTestDatabase, EMPTY_TEMPLATE } from '../support/databases.ts';
import { PROGRAM } from '../support/process.ts';

type Edit = [path: string, from: string, to: string];

/** A copy of the code and the tools, with these edits. */
function copyOfTheCode(...edits: Edit[]): string {
  const copy = mkdtempSync(join(tmpdir(), 'crm-test-migrations-'));
  onTestFinished(() => rm(copy, { recursive: true, force: true }));
  for (const path of ['src', 'rules', 'tools', 'migrations', 'drizzle.config.ts', 'package.json'])
    cpSync(path, join(copy, path), {
      recursive: true,
      filter: (from) => !from.includes('node_modules'),
    });
  symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'));
  for (const [path, from, to] of edits) {
    const text = readFileSync(join(copy, path), 'utf8');
    expect(text.split(from), `${path}: ${from}`).toHaveLength(2);
    writeFileSync(join(copy, path), text.replace(from, to));
  }
  return copy;
}

const run = (copy: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}) =>
  promisify(execFile)(process.execPath, args, {
    cwd: copy,
    env: { ...PROGRAM, TMPDIR: process.env.TMPDIR, ...environment },
  });
const tool = (name: string, ...options: string[]) => [
  '--import',
  './src/runtime.js',
  `tools/${name}.ts`,
  ...options,
];
const kit = (...options: string[]) => ['node_modules/drizzle-kit/bin.cjs', ...options];

const filesOf = (copy: string): string[] =>
  readdirSync(join(copy, 'migrations'), { recursive: true, encoding: 'utf8' }).sort();
const read = (copy: string, path: string): string => readFileSync(join(copy, path), 'utf8');
/** The migration of this name, whatever its number. */
const migration = (copy: string, name: string): string =>
  read(copy, `migrations/${filesOf(copy).find((file) => file.replace(/^\d+_/, '') === `${name}.sql`)}`);

const TABLES = 'src/db/tables/team.ts';
const NICKNAME: Edit = [
  TABLES,
  "    email: text('email').notNull(),\n",
  "    email: text('email').notNull(),\n    nickname: text('nickname'),\n",
];
const INDEX: Edit = [TABLES, "index('team_members_live_idx')", "index('team_members_newest_idx')"];

describe('npm run migration', () => {
  const WHY = ['--why', 'Guides know\npeople by it.'];

  test('writes the SQL and the snapshot of drizzle-kit under the reason, and indexes of existing tables in a second migration, the new index first', async () => {
    const copy = copyOfTheCode(NICKNAME, INDEX);
    const baseline = read(copy, 'migrations/meta/0000_snapshot.json');
    expect(baseline).toBe(JSON.stringify(JSON.parse(baseline), null, 2));
    await run(copy, tool('migration', '--name', 'nickname', ...WHY));
    const ofTable = filesOf(copy)
      .filter((file) => file.endsWith('_snapshot.json'))
      .at(-2);
    const written = read(copy, `migrations/${ofTable}`);
    expect(written).toBe(JSON.stringify(JSON.parse(written), null, 2));
    expect(Object.keys(JSON.parse(written))).toEqual(Object.keys(JSON.parse(baseline)));
    expect(migration(copy, 'nickname')).toBe(
      '-- Guides know people by it.\nALTER TABLE "team_members" ADD COLUMN "nickname" text;\n',
    );
    expect(migration(copy, 'nickname_indexes')).toMatch(
      /^-- Guides .*\nCREATE INDEX CONCURRENTLY IF NOT EXISTS "team_members_newest_idx" .*;\n--> statement-breakpoint\nDROP INDEX CONCURRENTLY IF EXISTS "team_members_live_idx";\n$/,
    );
  });

  test('writes the trigger that sets updated_at of a new table', async () => {
    const notes =
      "export const notes = pgTable('notes', { ...recordColumns() }, (table) => [primary('notes_pkey', table)]);\n";
    const last = 'export const teamMembers = pgTable(';
    const copy = copyOfTheCode([TABLES, last, `${notes}\n${last}`]);
    await run(copy, tool('migration', '--name', 'notes', ...WHY));
    expect(migration(copy, 'notes')).toMatch(
      /\nCREATE TRIGGER "notes_touch" BEFORE UPDATE ON "notes"\n {2}FOR EACH ROW EXECUTE FUNCTION public.touch_record\(\);\n$/,
    );
  });

  test.each<[string, Edit[], options: string[], message: string]>([
    ['a call without a reason', [], ['--name', 'x'], 'Usage: npm run migration -- --name what_changes --why'],
    [
      'a migration that blocks all writes of a table',
      [[TABLES, "    userId: text('user_id').notNull(),\n", "    userId: boolean('user_id').notNull(),\n"]],
      ['--name', 'user', ...WHY],
      'alter table team_members alter column user_id set data type boolean: changes the type of a column',
    ],
  ])('rejects %s, and leaves the folder as it was', async (_what, edits, options, message) => {
    const copy = copyOfTheCode(...edits);
    const before = [filesOf(copy), read(copy, 'migrations/meta/_journal.json')];
    await expect(run(copy, tool('migration', ...options))).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(message),
    });
    expect([filesOf(copy), read(copy, 'migrations/meta/_journal.json')]).toEqual(before);
  });

  test('squashes all migrations into a baseline, which an empty database and a migrated one accept', async () => {
    const copy = copyOfTheCode(NICKNAME, INDEX);
    await run(copy, tool('migration', '--name', 'nickname', ...WHY));
    const newDatabase = async () => {
      const { ownerUrl, drop } = await createTestDatabase(inject('serverUrl'), EMPTY_TEMPLATE);
      onTestFinished(drop);
      return {
        migrate: () =>
          run(copy, ['--import', './src/runtime.js', 'src/cli/migrate.ts'], { DATABASE_URL: ownerUrl }),
        query: (sql: string) => administer(ownerUrl, (client) => client.query(sql)),
      };
    };
    const old = await newDatabase();
    await old.migrate();
    const { stdout: statement } = await run(copy, tool('migration', '--baseline'));
    expect(filesOf(copy).filter((file) => /\.\w+$/.test(file))).toEqual([
      '0000_baseline.sql',
      'meta/0000_snapshot.json',
      'meta/_journal.json',
    ]);
    await expect(old.migrate()).rejects.toMatchObject({ code: 1 });
    await old.query(statement);
    await old.migrate();
    const fresh = await newDatabase();
    await fresh.migrate();
    await fresh.query('select nickname from team_members');
    await run(copy, tool('check-schema'));
    writeFileSync(join(copy, 'migrations/meta/0001_snapshot.json'), '{}');
    await expect(run(copy, tool('check-schema'))).rejects.toMatchObject({
      code: 1,
      stdout: 'The journal does not name ./migrations/meta/0001_snapshot.json. Delete it.\n',
    });
  });
});

describe('drizzle-kit', () => {
  test('pulls the tables of DATABASE_URL into a folder beside the migrations', async () => {
    const database = await createTestDatabase(inject('serverUrl'));
    onTestFinished(database.drop);
    const copy = copyOfTheCode();
    const before = filesOf(copy);
    await run(copy, kit('pull'), { DATABASE_URL: database.ownerUrl });
    expect(read(copy, '.data/pull/schema.ts')).toContain('export const teamMembers = pgTable("team_members"');
    expect(filesOf(copy)).toEqual(before);
  });

  test('rejects migrate and push, and names npm run migrate', async () => {
    const copy = copyOfTheCode();
    const expectRejected = (command: string) =>
      expect(run(copy, kit(command))).rejects.toMatchObject({
        code: 1,
        stderr: `drizzle-kit ${command} is not used here: npm run migrate applies the migrations.\n`,
      });
    await Promise.all(['migrate', 'push'].map(expectRejected));
  });
});
