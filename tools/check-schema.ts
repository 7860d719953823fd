import { readdirSync, readFileSync } from 'node:fs';
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import config from '../drizzle.config.ts';
import * as schema from '../src/db/tables/index.ts';

/** Fails if migrations/ has a file that the journal does not name, or if the migrations do not create the tables of the code. */
const journal = readFileSync(`${config.out}/meta/_journal.json`, 'utf8');
const tags = (JSON.parse(journal).entries as { tag: string }[]).map(({ tag }) => tag);
const named = tags.flatMap((tag) => [`${tag}.sql`, `meta/${tag.slice(0, 4)}_snapshot.json`]);
const files = readdirSync(config.out, { recursive: true, encoding: 'utf8' }).filter((file) =>
  /\.\w+$/.test(file),
);
const others = files.filter((file) => ![...named, 'meta/_journal.json'].includes(file));
for (const file of others) console.log(`The journal does not name ${config.out}/${file}. Delete it.`);

const newest = tags.at(-1)?.slice(0, 4);
const snapshot = JSON.parse(readFileSync(`${config.out}/meta/${newest}_snapshot.json`, 'utf8'));
const missing = await generateMigration(snapshot, generateDrizzleJson(schema, snapshot.id));
if (missing.length > 0) {
  console.log('No migration makes this. Write one: npx drizzle-kit generate --name what_changes');
  for (const statement of missing) console.log(`  ${statement}`);
}
process.exitCode = missing.length + others.length > 0 ? 1 : 0;
