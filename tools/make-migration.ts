import { hash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import { type Migration, MigrationError, migrateDatabase, readMigrations } from '../src/db/server/migrate.ts';
import { sentWith, withFills } from './copied-columns.ts';
import { describeSchema, differences, functionsOf, type SchemaDescription } from './describe-schema.ts';
import { dangersOf, GENERATED_COLUMN, REWRITE_ACCEPTED } from './migration-rules.ts';

/** What `drizzle-kit generate` makes, mended and tried: an order that applies, indexes apart, no index lost. */

export type MigrationOptions = {
  /** What changes, in lower case: the end of the file's name. */
  name: string;
  /** Why it changes: the comment on top of the file. */
  why: string;
  /** The tables of the code: the exports of the schema that drizzle.config.ts names. */
  schema: Record<string, unknown>;
  /** Path of the migrations so far. */
  folder: string;
  /** True when it is accepted that everybody waits while PostgreSQL computes a generated column for every row. */
  rewrite?: boolean;
  /** Makes an empty database and returns its connection string. */
  createDatabase: () => Promise<string>;
};

/** A migration that cannot be made; the message says why and what to write. */
export class MigrationRefused extends Error {}

type Snapshot = Parameters<typeof generateMigration>[0];
type Journal = {
  entries: { idx: number; version: string; when: number; tag: string; breakpoints: boolean }[];
};

const BREAKPOINT = '--> statement-breakpoint';
const INDEX = /^(?:CREATE (?:UNIQUE )?INDEX \S+ ON (?:public\.)?"?(\w+)"?|DROP INDEX) /i;

/** Newest last: all else, generated columns, dropped columns, indexes. drizzle-kit heeds neither who reads a column nor who waits. */
function inWorkingOrder(statements: readonly string[]): string[] {
  const columnOf = (statement: string): string =>
    /^ALTER TABLE ("\w+" )(?:ADD|DROP) COLUMN ("\w+")/i.exec(statement)?.slice(1).join('') ?? '';
  const generated = statements.filter((statement) => GENERATED_COLUMN.test(statement)).map(columnOf);
  const rank = (statement: string): number => {
    if (INDEX.test(statement)) return 3;
    if (columnOf(statement) === '') return 0;
    if (generated.includes(columnOf(statement))) return 1;
    return / DROP COLUMN /i.test(statement) ? 2 : 0;
  };
  return statements.toSorted((a, b) => rank(a) - rank(b));
}

const concurrent = (statement: string): string =>
  statement
    .replace(/^DROP INDEX (IF EXISTS )?/i, 'DROP INDEX CONCURRENTLY IF EXISTS ')
    .replace(/^(CREATE (?:UNIQUE )?INDEX) /i, '$1 CONCURRENTLY IF NOT EXISTS ');

/**
 * The statements of each file. Indexes of tables in use are built beside their writers, which no transaction can do:
 * they get a file of their own. An old index goes when the new one is there.
 */
export function inFiles(statements: readonly string[]): string[][] {
  const created = statements.map((statement) => /^CREATE TABLE "(\w+)"/i.exec(statement)?.[1]);
  const isApart = (statement: string): boolean => {
    const index = INDEX.exec(statement);
    return index !== null && (index[1] === undefined || !created.includes(index[1]));
  };
  const isDrop = (statement: string): boolean => statement.startsWith('DROP');
  const indexes = statements.filter(isApart).toSorted((a, b) => Number(isDrop(a)) - Number(isDrop(b)));
  const others = inWorkingOrder(statements.filter((statement) => !isApart(statement)));
  return [others, indexes.map(concurrent)].filter(({ length }) => length > 0);
}

const readJson = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8')) as T;

/**
 * Writes the migration of what changed since the newest one; it is two files where indexes of tables in use change. All
 * migrations are first applied to an empty database, and the result is compared with the schema of the code.
 * @throws MigrationRefused when nothing changed, somebody would wait, it does not apply or its result differs; no file is written then
 */
export async function makeMigration(options: MigrationOptions): Promise<Migration[]> {
  const { name, why, schema, folder, rewrite = false, createDatabase } = options;
  const journal = readJson<Journal>(`${folder}/meta/_journal.json`);
  const present = readMigrations(folder);
  const [newest, first] = [journal.entries.at(-1), present[0]];
  if (!newest || !first) throw new MigrationRefused('There is no migration yet to start from.');
  const snapshotPath = (tag: string): string => `${folder}/meta/${tag.slice(0, 4)}_snapshot.json`;
  const before = readJson<Snapshot>(snapshotPath(newest.tag));
  const after = generateDrizzleJson(schema, before.id, undefined, 'snake_case');
  // drizzle-kit puts several statements into one where they belong together.
  const statementsFrom = async (snapshot: Snapshot): Promise<string[]> =>
    (await generateMigration(snapshot, after))
      .flatMap((text) => text.split(BREAKPOINT))
      .map((statement) => statement.trim());
  const generated = await statementsFrom(before);
  if (generated.length === 0) throw new MigrationRefused('The schema of the code has not changed.');

  const describe = async (migrations: readonly Migration[]): Promise<SchemaDescription> => {
    const url = await createDatabase();
    await migrateDatabase(url, [...migrations]).catch((cause) => {
      throw cause instanceof MigrationError ? new MigrationRefused(cause.message, { cause }) : cause;
    });
    return describeSchema(url);
  };
  const migrationsOf = (statements: readonly string[]): Migration[] =>
    withFills(inFiles(statements), schema, name).map((part, index) => {
      const number = String(newest.idx + 1 + index).padStart(4, '0');
      const accepted = rewrite && part.some((statement) => GENERATED_COLUMN.test(statement));
      const text = `-- ${why.replace(/\s+/g, ' ')}\n${accepted ? `${REWRITE_ACCEPTED}\n` : ''}${part.join(`\n${BREAKPOINT}\n`)}\n`;
      return {
        tag: `${number}_${name}${index > 0 ? '_indexes' : ''}`,
        when: Math.max(Date.now(), newest.when + 1) + index,
        hash: hash('sha256', text),
        statements: text.split(BREAKPOINT),
      };
    });

  const unmended = migrationsOf(generated);
  const without = await describe([...present, ...unmended]);
  const wanted = await describe([
    {
      ...first,
      tag: 'of the whole schema',
      hash: '',
      statements: [
        ...functionsOf([...present, ...unmended]),
        ...(await statementsFrom(generateDrizzleJson({}))),
      ],
    },
  ]);
  // A dropped column takes its indexes with it, also when a new column replaces it.
  const lost = wanted.indexes?.filter((index) => !without.indexes?.includes(index)) ?? [];
  const made = migrationsOf([...generated, ...lost]);
  const faults = [...made.flatMap(dangersOf), ...differences(await describe([...present, ...made]), wanted)];
  if (faults.length > 0) throw new MigrationRefused(faults.join('\n'));

  let snapshot: typeof after = after;
  for (const [index, { tag, when, statements }] of made.entries()) {
    // Of two files, the first has the same snapshot as the second: what is compared later is the newest one alone.
    if (index > 0) snapshot = { ...after, id: randomUUID(), prevId: snapshot.id };
    await writeFile(`${folder}/${tag}.sql`, statements.join(BREAKPOINT), { flag: 'wx' });
    await writeFile(snapshotPath(tag), JSON.stringify(snapshot, null, 2));
    journal.entries.push({ ...newest, idx: newest.idx + 1 + index, when, tag });
  }
  await writeFile(`${folder}/meta/_journal.json`, JSON.stringify(journal, null, 2));
  const tag = made.at(-1)?.tag ?? '';
  const releases = `${folder}/../test/support/releases`;
  const releaseBefore = (): string =>
    readFileSync(`${releases}/${readdirSync(releases).sort().at(-1)}`, 'utf8');
  const sent = sentWith(generated, schema, releaseBefore, tag);
  if (sent !== undefined) await writeFile(`${releases}/${tag}.sql`, sent, { flag: 'wx' });
  const checksums = readJson<Record<string, string>>(`${folder}/checksums.json`);
  for (const { tag, hash } of made) checksums[tag] = hash;
  await writeFile(`${folder}/checksums.json`, `${JSON.stringify(checksums, null, 2)}\n`);
  return made;
}
