import { readFile } from 'node:fs/promises';
import { getTableColumns, getTableName } from 'drizzle-orm';
import type pg from 'pg';
import { tables } from '../../tools/tables.ts';
import { COMPARE } from './drift.ts';

/** The number of records of each kind in an organization. */
type OrganizationSize = {
  customers: number;
  products: number;
  opportunities: number;
  conversations: number;
  quotes: number;
};

/** The first organization has the number 1 in `recordId`, the next one 2. */
export type DataSet = readonly OrganizationSize[];

const KIND = {
  organization: 1,
  customer: 2,
  product: 3,
  opportunity: 4,
  conversation: 5,
  quote: 6,
  stage: 7,
  member: 8,
};

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');

/** The id of the `n`th record of a kind, from 1; `bench.id` in SQL. */
export function recordId(kind: keyof typeof KIND, organization: number, n: number): string {
  const time = hex(1_733_011_200_000 + n * 60_000, 12);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(KIND[kind], 3)}-8${hex(organization, 3)}-${hex(n, 12)}`;
}

export const organizationId = (organization: number): string =>
  recordId('organization', organization, organization);

/** Words in the data set: `rare` in one of 400,000 records, `common` in one of five. */
export const TERMS = { rare: 'Zafiro', common: 'familia' };

/** The number of a conversation that is the newest thread of a chain. */
export const rotatedConversation = (index: number): number => 20 * index + 3;

/** The search documents, and the totals of lists, which triggers would write: they do not run while the data are loaded. */
const SEARCHED = COMPARE.matchAll(/from \(\n([^;]*?)\n\) as record full join (searchable_\w+) /g);
const [, COUNTED = ''] = /full join \(\n([^;]*?)\n\) as records/.exec(COMPARE) ?? [];

const DERIVED = [
  ...Array.from(SEARCHED, ([, records, table]) => `insert into ${table} ${records}`),
  `insert into live_counts (organization_id, resource, value, slot, live)
     select organization_id, resource, value, 0, there from (${COUNTED}) as records`,
];

/** The tables whose rows belong to an organization. */
export const OWNED = tables.filter((table) => 'organizationId' in getTableColumns(table));
export const TENANT_TABLES = OWNED.map(getTableName);
export const TENANT_COLUMNS = OWNED.flatMap((table) =>
  Object.values(getTableColumns(table)).map((column) => ({
    table: getTableName(table),
    column: column.name,
    type: column.getSQLType(),
  })),
);

const readSql = (name: string): Promise<string> => readFile(new URL(name, import.meta.url), 'utf8');

/** Fills a migrated, empty database, with the same data every time. */
export async function loadDataSet(client: pg.ClientBase, sizes: DataSet): Promise<void> {
  await client.query(await readSql('dataset-functions.sql'));
  await client.query(
    `create table bench.sizes as
     select * from jsonb_to_recordset($1::jsonb) as size(org int, customers int, products int, opportunities int, conversations int, quotes int)`,
    [JSON.stringify(sizes.map((size, index) => ({ org: index + 1, ...size })))],
  );
  // Building an index over a loaded table is many times faster than updating it for each row.
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
     where indrelid = any($1::text[]::regclass[]) and not exists (select from pg_constraint where conindid = indexrelid)
     order by 1`,
    [TENANT_TABLES],
  );
  // All references are valid by construction; checking each would take longer than inserting its row.
  await client.query(
    `analyze bench.sizes; set synchronous_commit = off; set maintenance_work_mem = '512MB'; set statement_timeout = 0;
     set session_replication_role = replica`,
  );
  for (const { name } of indexes) await client.query(`drop index ${name}`);
  for (const step of [await readSql('dataset.sql'), ...DERIVED]) await client.query(step);
  for (const { definition } of indexes) await client.query(definition);
  await client.query('vacuum analyze');
  await client.query('drop schema bench cascade; reset all');
}
