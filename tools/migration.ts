import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import config from '../drizzle.config.ts';
import { readMigrations } from '../src/db/index.ts';
import { dangersOf, isIndexOfTableInUse } from './migration-rules.ts';

/**
 * Runs `drizzle-kit generate`, adds the reason as a comment, builds indexes of tables in use concurrently, and checks the rules.
 * With `--baseline`, it folds all migrations into one: docs/releasing.md, "The next baseline".
 */

const BREAKPOINT = '--> statement-breakpoint';
const JOURNAL = `${config.out}/meta/_journal.json`;

const filesOf = (): string[] => readdirSync(config.out, { recursive: true, encoding: 'utf8' });
const text = (path: string): string => readFileSync(path, 'utf8');

/** drizzle-kit has no triggers: adds the one that sets `updated_at` of a new table. */
function triggerOf(statement: string): string[] {
  const [, table] = /^CREATE TABLE "(\w+)" \([\s\S]*^\t"updated_at"/m.exec(statement) ?? [];
  if (table === undefined) return [];
  return [
    `CREATE TRIGGER "${table}_touch" BEFORE UPDATE ON "${table}"\n  FOR EACH ROW EXECUTE FUNCTION public.touch_record();`,
  ];
}

/** Runs drizzle-kit, which asks whether a column is new or renamed. @returns the name of its migration */
function generate(...options: string[]): string | undefined {
  const before = filesOf();
  const command = ['node_modules/drizzle-kit/bin.cjs', 'generate', ...options];
  execFileSync(process.execPath, command, { stdio: 'inherit' });
  return filesOf().find((file) => file.endsWith('.sql') && !before.includes(file));
}

const concurrent = (index: string): string =>
  index
    .replace(/^DROP INDEX (IF EXISTS )?/, 'DROP INDEX CONCURRENTLY IF EXISTS ')
    .replace(/^(CREATE (?:UNIQUE )?INDEX) /, '$1 CONCURRENTLY IF NOT EXISTS ');

/**
 * Writes the migration of the changes in src/db/tables/. Indexes of tables in use get a file of their own, because
 * PostgreSQL builds them outside a transaction; new ones come first.
 * @returns the rules that it breaks
 */
function createMigration(name: string, why: string): string[] {
  const file = generate('--name', name);
  if (file === undefined) return [];
  const generated = text(`${config.out}/${file}`)
    .trim()
    .split(/\s*--> statement-breakpoint\s*/);
  const statements = [...generated, ...generated.flatMap(triggerOf)];
  const isApart = (statement: string): boolean => isIndexOfTableInUse(statement, statements);
  const parts = [
    statements.filter((statement) => !isApart(statement)),
    statements.filter(isApart).map(concurrent).sort(),
  ].filter((part) => part.length > 0);
  return parts.flatMap((part, index) => {
    const written = index === 0 ? file : generate('--custom', '--name', `${name}_indexes`);
    const content = `-- ${why.trim().replace(/\s+/g, ' ')}\n${part.join(`\n${BREAKPOINT}\n`)}\n`;
    writeFileSync(`${config.out}/${written}`, content);
    return dangersOf({ tag: `${written}`, statements: part });
  });
}

/**
 * Replaces all migrations by one with all their statements and the date of the newest.
 * @returns the SQL for databases that have applied them
 */
function foldIntoBaseline(): string {
  const migrations = readMigrations();
  const { when = 0, tag = '' } = migrations.at(-1) ?? {};
  const statements = migrations.flatMap((migration) =>
    migration.statements.map((statement) => statement.trim()),
  );
  // An empty table has no writers to block, and one transaction creates everything.
  const baseline = statements.join(`\n${BREAKPOINT}\n`).replace(/\bindex concurrently\b/gi, 'INDEX');
  const snapshot = JSON.parse(text(`${config.out}/meta/${tag.slice(0, 4)}_snapshot.json`));
  snapshot.prevId = '00000000-0000-0000-0000-000000000000';
  const { entries, ...journal } = JSON.parse(text(JOURNAL));
  for (const file of filesOf()) if (/\.sql$|_snapshot\.json$/.test(file)) rmSync(`${config.out}/${file}`);
  const write = (file: string, json: object) => writeFileSync(file, JSON.stringify(json, null, 2));
  writeFileSync(`${config.out}/0000_baseline.sql`, `${baseline}\n`);
  write(`${config.out}/meta/0000_snapshot.json`, snapshot);
  write(JOURNAL, { ...journal, entries: [{ ...entries.at(-1), idx: 0, tag: '0000_baseline' }] });
  return `with moved as (
  update drizzle.__drizzle_migrations set hash = '${readMigrations()[0]?.hash}' where created_at = ${when} returning created_at
)
delete from drizzle.__drizzle_migrations using moved where __drizzle_migrations.created_at < moved.created_at;`;
}

const { values } = parseArgs({
  options: {
    name: { type: 'string', default: '' },
    why: { type: 'string', default: '' },
    baseline: { type: 'boolean', default: false },
  },
});
if (values.baseline) {
  console.log(foldIntoBaseline());
  process.exit();
}
if (!/^[a-z0-9]+(_[a-z0-9]+)*$/.test(values.name) || values.why.trim() === '') {
  console.error('Usage: npm run migration -- --name what_changes --why "the reason"');
  process.exit(1);
}
const [before, journal] = [filesOf(), text(JOURNAL)];
const errors = createMigration(values.name, values.why);
if (errors.length > 0) {
  for (const file of filesOf()) if (!before.includes(file)) rmSync(`${config.out}/${file}`);
  writeFileSync(JOURNAL, journal);
  console.error(`No migration was generated. ${errors.join('\n')}`);
  process.exitCode = 1;
}
