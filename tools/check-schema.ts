import { globSync, readFileSync } from 'node:fs';
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import config from '../drizzle.config.ts';
import * as schema from '../src/db/tables/index.ts';

/** Fails if the migrations do not create the tables of the code. */
const newest = globSync(`${config.out}/meta/*_snapshot.json`).sort().at(-1) ?? '';
const snapshot = JSON.parse(readFileSync(newest, 'utf8'));
const missing = await generateMigration(snapshot, generateDrizzleJson(schema, snapshot.id));
if (missing.length > 0) {
  console.log('No migration makes this. Write one: npx drizzle-kit generate --name what_changes');
  for (const statement of missing) console.log(`  ${statement}`);
}
process.exitCode = missing.length > 0 ? 1 : 0;
