import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { isLockTimeout, sqlState } from '../pool/errors.ts';

/** Unlike Drizzle's migrator: each file has its own transaction, or none if it builds indexes concurrently. */

export type Migration = {
  tag: string;
  /** Milliseconds since 1970; its key in Drizzle's table. */
  when: number;
  hash: string;
  statements: readonly string[];
};

const FOLDER = new URL('../../../migrations/', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, FOLDER), 'utf8');

export function readMigrations(): Migration[] {
  const { entries } = JSON.parse(read('meta/_journal.json')) as { entries: { when: number; tag: string }[] };
  return entries.map(({ when, tag }) => {
    const text = read(`${tag}.sql`);
    return { tag, when, hash: hash('sha256', text), statements: text.split('--> statement-breakpoint') };
  });
}

export const latestMigration: number = Math.max(...readMigrations().map(({ when }) => when));

export type RunStatement = (client: pg.Client, statement: string) => Promise<unknown>;

const runStatement: RunStatement = (client, statement) => client.query(statement);

/** An arbitrary advisory lock. */
const MIGRATION_LOCK = 7_210_455_317;

/** The message is one line that says what to do. */
export class MigrationError extends Error {}

/**
 * Applies pending migrations. Of several instances, one migrates and the others wait. If none is pending, the role needs no
 * rights to the schema.
 * @param url not of a transaction pooler, which breaks session locks
 * @param run runs a statement, unless its migration builds indexes concurrently
 * @throws MigrationError
 */
export async function migrateDatabase(
  url: string,
  migrations = readMigrations(),
  run: RunStatement = runStatement,
): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    application_name: 'travel-agency-crm-api migrations',
  });
  // Without a listener, a broken connection ends the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await checkServer(client);
    if ((await pendingOf(client, migrations)).length === 0) return;
    await client.query('set statement_timeout = 0');
    await takeLock(client);
    const [first, ...others] = await pendingOf(client, migrations);
    if (!first) return;
    await withAdvice(first, async () => {
      await client.query('create schema if not exists drizzle');
      await client.query(
        'create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)',
      );
    });
    for (const migration of [first, ...others])
      await withAdvice(migration, () => apply(client, migration, run));
  } finally {
    await client.end();
  }
}

export async function withMigrationLock<Result>(
  client: pg.Client,
  work: () => Promise<Result>,
): Promise<Result> {
  await takeLock(client);
  try {
    return await work();
  } finally {
    await client.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined);
  }
}

async function checkServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`,
  );
  const [{ version, encoding }] = rows as [{ version: number; encoding: string }];
  if (version < 150_000) throw new MigrationError('The database must be PostgreSQL 15 or later.');
  if (encoding !== 'UTF8')
    throw new MigrationError(`The database must have the encoding UTF8, not ${encoding}.`);
}

/** Migrations newer than this version's are allowed; other unknown ones are not. */
async function pendingOf(client: pg.Client, migrations: readonly Migration[]): Promise<Migration[]> {
  const applied = await readApplied(client);
  const known = new Set(migrations.map(({ when }) => when));
  const latest = Math.max(...known);
  const pending = migrations.filter(({ when }) => !applied.has(when));
  const edited = migrations.find(({ when, hash }) => applied.has(when) && applied.get(when) !== hash);
  const foreign = [...applied.keys()].find((when) => when < latest && !known.has(when));
  if (edited) throw otherHistory(`was made with another form of ${edited.tag}`);
  if (applied.size > 0 && pending[0] === migrations[0])
    throw otherHistory('was made before version 1.0.0, or by another program');
  if (foreign !== undefined)
    throw otherHistory(`has one migration of ${new Date(foreign).toISOString()} that is not of this version`);
  return pending;
}

const otherHistory = (what: string): MigrationError =>
  new MigrationError(
    `The database ${what}. Nothing was changed: use an empty database, or the version that made this one.`,
  );

async function readApplied(client: pg.Client): Promise<Map<number, string>> {
  const { rows: tables } = await client.query(
    `select from pg_tables where schemaname = 'drizzle' and tablename = '__drizzle_migrations'`,
  );
  if (tables.length === 0) return new Map();
  const { rows } = await client.query<{ when: string; hash: string }>(
    'select created_at as when, hash from drizzle.__drizzle_migrations',
  );
  return new Map(rows.map(({ when, hash }) => [Number(when), hash]));
}

/** Polls: a concurrent index build would wait for a session that waits inside a query. */
async function takeLock(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query('select pg_try_advisory_lock($1) as taken', [MIGRATION_LOCK]);
    if (rows[0]?.taken) return;
    await pause(100);
  }
}

const CONCURRENT_INDEX =
  /^(?:\s|--.*$)*(?:create (?:unique )?|drop )index concurrently (?:if (?:not )?exists )?"?(\w+)"?/im;

const isConcurrent = ({ statements }: Migration): boolean =>
  statements.some((statement) => CONCURRENT_INDEX.test(statement));

const markApplied = (client: pg.Client, { hash, when }: Migration) =>
  client.query('insert into drizzle.__drizzle_migrations (hash, created_at) values ($1, $2)', [hash, when]);

const apply = (client: pg.Client, migration: Migration, run: RunStatement): Promise<void> =>
  isConcurrent(migration) ? applyConcurrently(client, migration) : applyAtOnce(client, migration, run);

/** Without a transaction: each statement does nothing if it was applied before. */
async function applyConcurrently(client: pg.Client, migration: Migration): Promise<void> {
  // A concurrent build waits for all running transactions, and blocks none.
  await client.query('set lock_timeout = 0');
  for (const statement of migration.statements) {
    await dropInvalid(client, CONCURRENT_INDEX.exec(statement)?.[1]);
    await client.query(statement);
  }
  await markApplied(client, migration);
}

/** An interrupted concurrent build leaves an invalid index. */
async function dropInvalid(client: pg.Client, index: string | undefined): Promise<void> {
  if (index === undefined) return;
  const { rows } = await client.query<{ name: string }>(
    'select indexrelid::regclass::text as name from pg_index where indexrelid = to_regclass($1) and not indisvalid',
    [index],
  );
  for (const { name } of rows) await client.query(`drop index concurrently ${name}`);
}

/** All statements on a table wait behind a migration that waits for it: so it gives up soon, and retries. */
const LOCK_TIMEOUT_MS = 300;
const LOCK_ATTEMPTS = 60;
const LOCK_PAUSE_MS = 700;

async function applyAtOnce(client: pg.Client, migration: Migration, run: RunStatement): Promise<void> {
  await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query('begin');
      for (const statement of migration.statements) await run(client, statement);
      await markApplied(client, migration);
      await client.query('commit');
      return;
    } catch (error) {
      await client.query('rollback').catch(() => undefined);
      if (!isLockTimeout(error) || attempt === LOCK_ATTEMPTS) throw error;
      await pause(LOCK_PAUSE_MS);
    }
  }
}

async function withAdvice(migration: Migration, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    const { message } = cause as Error;
    const state = sqlState(cause);
    const reason = state === undefined ? message : `PostgreSQL says: ${message} (${state})`;
    throw new MigrationError(
      `Migration ${migration.tag} was not applied. ${reason}. ${advice(migration, cause)}`,
      {
        cause,
      },
    );
  }
}

function advice(migration: Migration, error: unknown): string {
  if (sqlState(error) === '42501')
    return 'Migrations need the owner of the schema: run `npm run migrate` with DATABASE_DIRECT_URL set to a URL of that role.';
  if (isLockTimeout(error))
    return 'Another session holds one of its tables: end long transactions, and start again.';
  const effect = isConcurrent(migration) ? 'What it built is kept' : 'Nothing of it is kept';
  return `${effect}: put that right, and start again.`;
}
