import { hash, randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import { type Migration, MigrationError, migrateDatabase, readMigrations } from '../src/db/migrate.ts';
import { describeSchema, type SchemaDescription } from './describe-schema.ts';
import { dangersOf, REWRITE_ACCEPTED } from './migration-rules.ts';

/** Makes a migration of what changed in the schema of the code, and tries it before any file is written. */

export type MigrationOptions = {
  /** What changes, in lower case: the end of the file's name. */
  name: string;
  /** Why it changes: the comment on top of the file. */
  why: string;
  /** The tables of the code, as drizzle-kit takes them: the exports of schema/index.ts. */
  schema: Record<string, unknown>;
  /** Path of the migrations so far. */
  folder: string;
  /** True when it is accepted that everybody waits while PostgreSQL computes a generated column for every row. */
  rewrite?: boolean;
  /** Makes an empty database and returns its connection string. */
  createDatabase: () => Promise<string>;
  /** The clock: milliseconds since 1970. */
  now?: number;
};

/** A migration that cannot be made; the message says why. */
export class MigrationRefused extends Error {}

type Journal = {
  version: string;
  dialect: string;
  entries: { idx: number; version: string; when: number; tag: string; breakpoints: boolean }[];
};

const BREAKPOINT = '--> statement-breakpoint';

/** drizzle-kit puts several statements into one where they belong together. */
const apart = (statements: readonly string[]): string[] =>
  statements.flatMap((text) => text.split(BREAKPOINT)).map((statement) => statement.trim());

const GENERATED = /^ALTER TABLE ("\w+") ADD COLUMN ("\w+") .*GENERATED ALWAYS AS/is;

/**
 * Puts the statements in an order that applies. drizzle-kit writes a generated column before the new columns that it
 * reads, and drops a column that a generated one still reads. The order: all else, generated columns, dropped
 * columns, indexes.
 */
function inWorkingOrder(statements: readonly string[]): string[] {
  const generated = new Set(
    statements.flatMap((statement) => {
      const [, table, column] = GENERATED.exec(statement) ?? [];
      return table ? [`${table}.${column}`] : [];
    }),
  );
  const rank = (statement: string): number => {
    if (GENERATED.test(statement)) return 1;
    const [, table, column] = /^ALTER TABLE ("\w+") DROP COLUMN ("\w+")/i.exec(statement) ?? [];
    if (table) return generated.has(`${table}.${column}`) ? 1 : 2;
    return /^CREATE (UNIQUE )?INDEX /i.test(statement) ? 3 : 0;
  };
  return statements.toSorted((a, b) => rank(a) - rank(b));
}

/** A scratch database has no rows. There this would apply, and then fail where the service runs. */
function refuseUnfilledColumns(statements: readonly string[]): void {
  const unfilled = statements.find(
    (statement) =>
      /^ALTER TABLE "\w+" ADD COLUMN .* NOT NULL/is.test(statement) &&
      !/ DEFAULT | GENERATED /i.test(statement),
  );
  if (unfilled === undefined) return;
  throw new MigrationRefused(
    `Rows that exist have no value for this column; give it a default, or let it be null:\n\n${unfilled}`,
  );
}

const indexName = (definition: string): string | undefined =>
  /^CREATE (?:UNIQUE )?INDEX "?(\w+)"?/i.exec(definition)?.[1];

/**
 * A dropped column takes its indexes with it, also when a new column replaces it. drizzle-kit does not make them
 * again.
 */
function lostIndexes(
  actual: SchemaDescription,
  wanted: SchemaDescription,
  fromCode: readonly string[],
): string[] {
  const present = new Set(actual.indexes?.map(indexName));
  const lost = new Set(wanted.indexes?.map(indexName).filter((name) => !present.has(name)));
  return fromCode.filter((statement) => lost.has(indexName(statement)));
}

/** A line for each thing that only one of the two has. */
function differences(actual: SchemaDescription, wanted: SchemaDescription): string[] {
  const only = (one: SchemaDescription, other: SchemaDescription, words: string): string[] =>
    Object.entries(one).flatMap(([kind, lines]) =>
      lines.filter((line) => !other[kind]?.includes(line)).map((line) => `${words} ${kind}: ${line}`),
    );
  return [...only(wanted, actual, 'only the code has'), ...only(actual, wanted, 'only the migrations have')];
}

/** Lines of at most 110 characters. */
const comment = (text: string): string =>
  (
    text
      .replace(/\s+/g, ' ')
      .trim()
      .match(/\S.{0,105}(?=\s|$)/g) ?? []
  )
    .map((line) => `-- ${line}\n`)
    .join('');

const snapshotPath = (folder: string, tag: string): string =>
  join(folder, 'meta', `${tag.slice(0, 4)}_snapshot.json`);

type Snapshot = Parameters<typeof generateMigration>[0];

const readJson = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8')) as T;

/**
 * Indexes of tables in use are built beside their writers, which no transaction can do: they get a file of their own. An
 * old index goes when the new one is there.
 */
function inFiles(statements: readonly string[], tables: ReadonlySet<string>): string[][] {
  const created = (statement: string): boolean =>
    tables.has(/^CREATE (?:UNIQUE )?INDEX "\w+" ON "(\w+)"/i.exec(statement)?.[1] ?? '');
  const dropped = (statement: string): boolean => /^DROP INDEX /i.test(statement);
  const changed = statements.filter(dropped).map((statement) => /"(\w+)"/.exec(statement)?.[1]);
  const sameName = statements
    .filter(created)
    .map(indexName)
    .find((name) => changed.includes(name));
  if (sameName !== undefined)
    throw new MigrationRefused(
      `The index ${sameName} changes. Give it a new name: the old one serves until the new one is built.`,
    );
  const concurrent = [
    ...statements
      .filter(created)
      .map((statement) => statement.replace(/ INDEX /i, ' INDEX CONCURRENTLY IF NOT EXISTS ')),
    ...statements
      .filter(dropped)
      .map((statement) => statement.replace(/ INDEX (IF EXISTS )?/i, ' INDEX CONCURRENTLY IF EXISTS ')),
  ];
  const others = statements.filter((statement) => !created(statement) && !dropped(statement));
  return [others, concurrent].filter(({ length }) => length > 0);
}

/** @throws MigrationRefused when somebody would wait for it */
function refuseDangers(statements: readonly string[]): void {
  const dangers = dangersOf({ statements });
  if (dangers.length === 0) return;
  const lines = dangers.map((danger) => `  ${danger}`).join('\n');
  throw new MigrationRefused(
    `Everybody would wait for this migration:\n${lines}\ndocs/changing-it.md says how to do it instead. A generated column has no other way: accept it with --rewrite.`,
  );
}

export type MadeMigration = { path: string; tag: string; hash: string };

/**
 * Writes the migration of what changed since the newest one; it is two files where indexes of tables in use change. All
 * migrations are first applied to an empty database, and the result is compared with the schema of the code.
 * @throws MigrationRefused when nothing changed, somebody would wait, it does not apply or its result differs; no file is written then
 */
export async function makeMigration(options: MigrationOptions): Promise<MadeMigration[]> {
  const { name, why, schema, folder, rewrite = false, createDatabase, now = Date.now() } = options;
  if (!/^[a-z0-9]+(_[a-z0-9]+)*$/.test(name))
    throw new MigrationRefused('The name must be words in lower case, joined by _.');
  if (why.trim() === '') throw new MigrationRefused('Say why: the reason becomes the comment on top.');

  const journalPath = join(folder, 'meta', '_journal.json');
  const journal = readJson<Journal>(journalPath);
  const newest = journal.entries.at(-1);
  const present = readMigrations(folder);
  const [first] = present;
  if (!newest || !first) throw new MigrationRefused('There is no migration yet to start from.');
  const before = readJson<Snapshot>(snapshotPath(folder, newest.tag));
  const after = generateDrizzleJson(schema, before.id, undefined, 'snake_case');
  const generated = apart(await generateMigration(before, after));
  if (generated.length === 0) throw new MigrationRefused('The schema of the code has not changed.');
  refuseUnfilledColumns(generated);

  const describe = async (migrations: readonly Migration[]): Promise<SchemaDescription> => {
    const url = await createDatabase();
    await migrateDatabase(url, [...migrations]).catch((cause) => {
      throw cause instanceof MigrationError ? new MigrationRefused(cause.message, { cause }) : cause;
    });
    return describeSchema(url);
  };
  const migration = (tag: string, index: number, statements: string[]): Migration => {
    const accepted =
      rewrite && statements.some((statement) => GENERATED.test(statement)) ? `${REWRITE_ACCEPTED}\n` : '';
    const text = `${comment(why)}${accepted}${statements.join(`\n${BREAKPOINT}\n`)}\n`;
    const when = Math.max(now, newest.when + 1) + index;
    return { tag, when, hash: hash('sha256', text), statements: text.split(BREAKPOINT) };
  };

  // The first migration has the functions. The schema of the code cannot describe them.
  const fromCode = apart(await generateMigration(generateDrizzleJson({}), after));
  const wanted = await describe([first, migration('of_the_whole_schema', 0, fromCode)]);

  const ordered = inWorkingOrder(generated);
  const lost = lostIndexes(await describe([...present, migration(name, 0, ordered)]), wanted, fromCode);
  // The snapshot names a table `public.customers`.
  const tables = new Set(Object.keys(before.tables as object).map((key) => key.replace(/^.*\./, '')));
  const made = inFiles([...ordered, ...lost], tables).map((statements, index) => {
    const tag = `${String(newest.idx + 1 + index).padStart(4, '0')}_${name}${index > 0 ? '_indexes' : ''}`;
    return migration(tag, index, statements);
  });
  for (const { statements } of made) refuseDangers(statements);
  const faults = differences(await describe([...present, ...made]), wanted);
  if (faults.length > 0)
    throw new MigrationRefused(
      `The migrations do not give the schema of the code:\n${faults.map((fault) => `  ${fault}`).join('\n')}`,
    );

  const written = made.map(({ tag, hash }) => ({ path: join(folder, `${tag}.sql`), tag, hash }));
  const taken = written.find(({ path }) => existsSync(path));
  if (taken) throw new MigrationRefused(`${taken.path} exists, and the journal does not name it.`);
  let snapshot: typeof after = after;
  for (const [index, { tag, when, statements }] of made.entries()) {
    // Of two files, the first has the same snapshot as the second: what is compared later is the newest one alone.
    if (index > 0) snapshot = { ...after, id: randomUUID(), prevId: snapshot.id };
    await writeFile(join(folder, `${tag}.sql`), statements.join(BREAKPOINT));
    await writeFile(snapshotPath(folder, tag), JSON.stringify(snapshot, null, 2));
    const { version } = newest;
    journal.entries.push({ idx: newest.idx + 1 + index, version, when, tag, breakpoints: true });
  }
  await writeFile(journalPath, JSON.stringify(journal, null, 2));
  return written;
}
