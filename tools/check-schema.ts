import { readFileSync } from 'node:fs';
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import config from '../drizzle.config.ts';
import { readMigrations } from '../src/db/server/migrate.ts';
import * as schema from '../src/db/tables/index.ts';

/** Fails when the tables of the code have something that no migration makes. */
const newest = readMigrations().at(-1)?.tag.slice(0, 4);
const snapshot = JSON.parse(readFileSync(`${config.out}/meta/${newest}_snapshot.json`, 'utf8'));
const missing = await generateMigration(snapshot, generateDrizzleJson(schema, snapshot.id));
if (missing.length > 0) {
  console.log(
    'No migration makes this. Write one: npm run migration -- --name what_changes --why "the reason"',
  );
  for (const statement of missing) console.log(`  ${statement}`);
}
process.exitCode = missing.length > 0 ? 1 : 0;
