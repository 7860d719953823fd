import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import config from '../drizzle.config.ts';
import { databaseUrl, startEmbeddedPostgres } from '../src/db/server/embedded.ts';
import { MigrationRefused, makeMigration } from './make-migration.ts';

const USAGE = 'Usage: npm run migration -- --name what_changes --why "the reason" [--rewrite]';

const ROOT = new URL('../', import.meta.url);
const folder = fileURLToPath(new URL(config.out, ROOT));

/** Runs `work` with a PostgreSQL of its own, which can make empty databases and ends with it. */
async function withScratchDatabases<Result>(
  work: (createDatabase: () => Promise<string>) => Promise<Result>,
): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'crm-migration-'));
  try {
    const server = await startEmbeddedPostgres(join(directory, 'postgres'), { fsync: 'off' });
    let made = 0;
    const createDatabase = async (): Promise<string> => {
      made += 1;
      const client = new pg.Client({ connectionString: server.url });
      await client.connect();
      await client.query(`create database scratch_${made}`).finally(() => client.end());
      return databaseUrl(server.host, `scratch_${made}`);
    };
    return await work(createDatabase).finally(server.stop);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Writes the migration of what changed in the schema, after it was tried on that PostgreSQL. */
try {
  const { values } = parseArgs({
    options: {
      name: { type: 'string', default: '' },
      why: { type: 'string', default: '' },
      rewrite: { type: 'boolean', default: false },
    },
  });
  if (!/^[a-z0-9]+(_[a-z0-9]+)*$/.test(values.name) || values.why.trim() === '')
    throw new MigrationRefused(USAGE);
  const schema = (await import(new URL(config.schema, ROOT).href)) as Record<string, unknown>;
  const made = await withScratchDatabases((createDatabase) =>
    makeMigration({ ...values, schema, folder, createDatabase }),
  );
  for (const { tag } of made) console.log(`Written: ${relative('.', folder)}/${tag}.sql`);
  console.log('All migrations were applied, and give the schema of the code.');
} catch (error) {
  const isRefusal = error instanceof MigrationRefused;
  console.error(isRefusal ? error.message : `No migration was made: ${(error as Error).message}`);
  process.exitCode = 1;
}
