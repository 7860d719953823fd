/**
 * Keeps a copy of all customers in a file: for cron, every few minutes.
 *   node mirror.ts customers.json
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { argv, env, exit } from 'node:process';
import { type Customer, createClient } from 'travel-agency-crm-client';

type Mirror = { since?: string | undefined; checkedAt: number; customers: Record<string, Customer> };

const DAY_MS = 24 * 60 * 60 * 1_000;
const crm = createClient({ apiKey: env.CRM_API_KEY ?? '', baseUrl: env.CRM_URL ?? 'http://localhost:3000' });
const path = argv[2];
if (path === undefined) {
  console.error('Usage: mirror.ts <file>');
  exit(1);
}

const text = await readFile(path, 'utf8').catch(() => undefined);
const mirror: Mirror = text === undefined ? { checkedAt: Date.now(), customers: {} } : JSON.parse(text);

const { rows, since } = await crm.customers.changes(mirror.since);
for (const customer of rows) mirror.customers[customer.id] = customer;
mirror.since = since;

// Lists of changes do not have archived customers: once a day, byIds returns the customers that remain.
let gone = 0;
if (Date.now() - mirror.checkedAt > DAY_MS) {
  const ids = Object.keys(mirror.customers);
  const left = await crm.customers.byIds(ids);
  mirror.customers = Object.fromEntries(left.map((customer) => [customer.id, customer]));
  mirror.checkedAt = Date.now();
  gone = ids.length - left.length;
}

// Atomically: a reader sees the old copy or the new one.
await writeFile(`${path}.new`, JSON.stringify(mirror));
await rename(`${path}.new`, path);
console.log(`${Object.keys(mirror.customers).length} customers, ${rows.length} read, ${gone} gone`);
