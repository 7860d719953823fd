import { join } from 'node:path';
import type { Config } from 'drizzle-kit';
import { readConfig } from './src/config.ts';
import { embeddedUrl } from './src/db/server/embedded.ts';

const command = process.argv[2];
const { DATABASE_DIRECT_URL, DATABASE_URL, DATA_DIR } = readConfig();

// Both change a database past src/db/server/migrate.ts: without its lock, its retries and its look at what was applied.
if (command === 'migrate' || command === 'push') {
  process.stderr.write(`drizzle-kit ${command} is not used here: npm run migrate applies the migrations.\n`);
  process.exit(1);
}

/**
 * Where drizzle-kit finds the tables, the migrations and the database: that of the environment, or the service's own while
 * it runs.
 */
export default {
  dialect: 'postgresql',
  schema: './src/db/tables/index.ts',
  // What pull writes is to be looked at, and is no migration.
  out: command === 'pull' || command === 'introspect' ? './.data/pull' : './migrations',
  dbCredentials: {
    url: DATABASE_DIRECT_URL ?? DATABASE_URL ?? embeddedUrl(join(DATA_DIR, 'postgres')),
  },
} satisfies Config;
