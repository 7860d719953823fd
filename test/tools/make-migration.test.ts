import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as schema from '../../src/db/schema/index.ts';
import { sentWith, withFills } from '../../tools/copied-columns.ts';
import { inFiles } from '../../tools/make-migration.ts';
import { dangersOf } from '../../tools/migration-rules.ts';

describe('the statements of a migration', () => {
  const GENERATED =
    'ALTER TABLE "guides" ADD COLUMN "search" text GENERATED ALWAYS AS (lower(nickname)) STORED;';

  test.each([
    [
      'put a generated column after the new column that it reads',
      [
        'ALTER TABLE "guides" drop column "search";',
        GENERATED,
        'ALTER TABLE "guides" ADD COLUMN "nickname" text;',
      ],
      [
        [
          'ALTER TABLE "guides" ADD COLUMN "nickname" text;',
          'ALTER TABLE "guides" drop column "search";',
          GENERATED,
        ],
      ],
    ],
    [
      'drop a column after the generated column that read it',
      ['ALTER TABLE "guides" DROP COLUMN "notes";', 'ALTER TABLE "guides" drop column "search";', GENERATED],
      [
        [
          'ALTER TABLE "guides" drop column "search";',
          GENERATED,
          'ALTER TABLE "guides" DROP COLUMN "notes";',
        ],
      ],
    ],
    [
      'keep the index of a new table with its table',
      ['CREATE INDEX "buses_idx" ON "buses" USING btree ("id");', 'CREATE TABLE "buses" ("id" uuid);'],
      [['CREATE TABLE "buses" ("id" uuid);', 'CREATE INDEX "buses_idx" ON "buses" USING btree ("id");']],
    ],
    [
      'build an index of a table in use beside its writers, and drop the old one after it',
      ['DROP INDEX "guides_old_idx";', 'CREATE UNIQUE INDEX "guides_idx" ON "guides" USING btree ("name");'],
      [
        [
          'CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "guides_idx" ON "guides" USING btree ("name");',
          'DROP INDEX CONCURRENTLY IF EXISTS "guides_old_idx";',
        ],
      ],
    ],
    [
      'have two files where an index and something else changes',
      [
        'CREATE INDEX guides_idx ON public.guides USING btree (name)',
        'ALTER TABLE "guides" ADD COLUMN "name" text;',
      ],
      [
        ['ALTER TABLE "guides" ADD COLUMN "name" text;'],
        ['CREATE INDEX CONCURRENTLY IF NOT EXISTS guides_idx ON public.guides USING btree (name)'],
      ],
    ],
  ])('%s', (_what, statements, files) => {
    expect(inFiles(statements)).toEqual(files);
  });
});

describe('new columns of read rows and search rows', () => {
  const COLUMNS = [
    'ALTER TABLE "customer_bodies" ADD COLUMN "country" text;',
    'ALTER TABLE "searchable_customers" ADD COLUMN "country" text;',
  ];
  const INDEX = 'CREATE INDEX "customer_bodies_country_idx" ON "customer_bodies" USING btree ("country");';

  test('are filled: beside the release before by a trigger, and batch by batch before the index is built', () => {
    const files = withFills(inFiles([...COLUMNS, INDEX]), schema, 'country_filter');
    expect(files).toEqual([
      [
        'LOCK TABLE "customers" IN SHARE ROW EXCLUSIVE MODE;',
        ...COLUMNS,
        expect.stringMatching(/^CREATE FUNCTION public\.keep_customers_country_filter\(\)/m),
        expect.stringContaining('CREATE CONSTRAINT TRIGGER keep_customers_country_filter'),
      ],
      [
        expect.stringMatching(
          /UPDATE public\.customer_bodies [^;]*;\s+UPDATE public\.searchable_customers [^;]*;\s+COMMIT;/,
        ),
        expect.stringMatching(/^CREATE INDEX CONCURRENTLY IF NOT EXISTS "customer_bodies_country_idx"/),
      ],
    ]);
    for (const [index, statements] of files.entries())
      expect(dangersOf({ tag: String(index), statements })).toEqual([]);
  });

  test('are sent by the release that they come with', () => {
    const folder = 'test/support/releases';
    const before = readFileSync(`${folder}/${readdirSync(folder).sort().at(-1)}`, 'utf8');
    const sent = String(sentWith(COLUMNS, schema, () => before, '0099_country_filter'));
    expect(sent).toMatch(/^-- What the code of 0099 and later sends\.\n\n-- create product\n/);
    const rows =
      /insert into (customer_bodies|searchable_customers) \(organization_id, id, country,[^;]*?select organization_id, id, country,/g;
    expect(sent.match(rows)).toHaveLength(4);
    expect(sent.replaceAll('organization_id, id, country,', 'organization_id, id,')).toContain(
      before.slice(before.indexOf('-- create product')),
    );
    expect(sentWith([INDEX], schema, () => before, '0099_other')).toBeUndefined();
  });
});

/** A copy of what a newcomer changes, with the tools beside it. */
function copyOfTheCode(edits: readonly (readonly [path: string, from: string, to: string])[]): string {
  const copy = mkdtempSync(join(tmpdir(), 'crm-test-migrations-'));
  onTestFinished(() => rm(copy, { recursive: true, force: true }));
  for (const path of ['src', 'tools', 'migrations', 'drizzle.config.ts', 'package.json'])
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

const filesOf = (copy: string): string[] =>
  readdirSync(join(copy, 'migrations'), { recursive: true, encoding: 'utf8' }).sort();

const run = (copy: string, ...options: string[]) =>
  promisify(execFile)(process.execPath, ['--import', './src/runtime.js', 'tools/migration.ts', ...options], {
    cwd: copy,
    env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR },
  });
const WHY = ['--why', 'Guides know\npeople by it.'];

const TABLES = 'src/db/schema/customers.ts';
const NICKNAME = [
  TABLES,
  '    lastName: text(),\n',
  '    lastName: text(),\n    nickname: text(),\n',
] as const;

describe('npm run migration', () => {
  test('makes two files where a generated column is made anew and loses its index, and nothing is left to make', async () => {
    const KEY = "primary('customers_pkey'";
    const older = copyOfTheCode([[TABLES, KEY, `index('customers_search_idx').on(table.search), ${KEY}`]]);
    await run(older, '--name', 'search', ...WHY);
    const nickname = readFileSync(join(older, TABLES), 'utf8')
      .replace(NICKNAME[1], NICKNAME[2])
      .replace("['summary', ", "['summary', 'nickname', ");
    writeFileSync(join(older, TABLES), nickname);
    const { stdout } = await run(older, '--name', 'nickname', ...WHY, '--rewrite');
    const written = [...stdout.matchAll(/^Written: (migrations\/.*\.sql)$/gm)].map(([, path]) =>
      String(path),
    );
    expect(written).toEqual([
      expect.stringMatching(/\d{4}_nickname\.sql$/),
      expect.stringMatching(/\d{4}_nickname_indexes\.sql$/),
    ]);
    const [column, index] = written.map((path) => readFileSync(join(older, path), 'utf8'));
    expect(column).toMatch(
      /^-- Guides know people by it\.\n-- Everybody waits .*\nALTER TABLE "customers" ADD COLUMN "nickname"/,
    );
    expect(index).toMatch(
      /^-- .*\nCREATE INDEX CONCURRENTLY IF NOT EXISTS customers_search_idx ON public.customers/,
    );
    await expect(run(older, '--name', 'nickname', ...WHY)).rejects.toMatchObject({
      code: 1,
      stderr: 'The schema of the code has not changed.\n',
    });
  });

  test.each([
    [
      'a call without a reason',
      [],
      ['--name', 'x'],
      /^Usage: npm run migration -- --name what_changes --why "the reason" \[--rewrite\]\n$/,
    ],
    [
      'what everybody would wait for',
      [NICKNAME, [TABLES, "['summary', ", "['summary', 'nickname', "]],
      ['--name', 'nickname', ...WHY],
      /^\d{4}_nickname: alter table customers add column search .* stored not null: computes a column for every row: .*--rewrite.*\n$/,
    ],
    [
      'a column that the rows have no value for',
      [[TABLES, '    lastName: text(),\n', '    lastName: text(),\n    age: text().notNull(),\n']],
      ['--name', 'age', ...WHY],
      /^\d{4}_age: alter table customers add column age text not null: has no value for the rows that exist: .*\n$/,
    ],
    [
      'what does not apply',
      [[TABLES, "['summary', ", "['summary', 'nothing', "]],
      ['--name', 'search', ...WHY, '--rewrite'],
      /^Migration \d{4}_search was not applied\. PostgreSQL says: column "nothing" does not exist/,
    ],
  ] as const)('refuses %s in one line, and writes nothing', async (_what, edits, options, message) => {
    const copy = copyOfTheCode(edits);
    const before = filesOf(copy);
    await expect(run(copy, ...options)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(message),
    });
    expect(filesOf(copy)).toEqual(before);
  });
});
