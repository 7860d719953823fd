import { parseArgs } from 'node:util';
import { readConfig } from '../config.ts';
import { distributeDatabase } from '../db/index.ts';

try {
  parseArgs();
  const { DATABASE_DIRECT_URL, DATABASE_URL } = readConfig();
  const url = DATABASE_DIRECT_URL ?? DATABASE_URL;
  if (!url) throw new Error('Set DATABASE_URL to the URL of the coordinator of the cluster.');
  const tables = await distributeDatabase(url);
  for (const table of tables) console.log(table);
  if (tables.length === 0) console.log('Every table is distributed already.');
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
