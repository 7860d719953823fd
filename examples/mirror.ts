/**
 * A copy of all customers in a file, which follows what changes: for cron, every few minutes.
 *   node mirror.ts customers.json
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { argv, env, exit } from 'node:process';
import { type Customer, createClient } from 'travel-agency-crm-client';

type Mirror = { since?: string | undefined; walkedAt: number; customers: Record<string, Customer> };

const DAY = 24 * 60 * 60 * 1_000;
const crm = createClient({ apiKey: env.CRM_API_KEY ?? '', baseUrl: env.CRM_URL ?? 'http://localhost:3000' });
const path = argv[2];
if (path === undefined) {
  console.error('Where to? mirror.ts <file>');
  exit(1);
}

const text = await readFile(path, 'utf8').catch(() => undefined);
const mirror: Mirror = text === undefined ? { walkedAt: 0, customers: {} } : JSON.parse(text);

const { rows, since } = await crm.customers.changes(mirror.since);
for (const customer of rows) mirror.customers[customer.id] = customer;
mirror.since = since;

// What was archived is in no list, and a name from another record changes without a mark: a walk once a day finds both.
let gone = 0;
if (Date.now() - mirror.walkedAt > DAY) {
  const before = Object.keys(mirror.customers).length;
  mirror.walkedAt = Date.now();
  const all = text === undefined ? rows : await crm.customers.snapshot();
  mirror.customers = Object.fromEntries(all.map((customer) => [customer.id, customer]));
  gone = before - all.length;
}

// In one step: a reader sees the old copy or the new one.
await writeFile(`${path}.new`, JSON.stringify(mirror));
await rename(`${path}.new`, path);
console.log(`${Object.keys(mirror.customers).length} customers, ${rows.length} read, ${gone} gone`);
