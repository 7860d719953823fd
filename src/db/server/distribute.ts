import { getTableColumns, getTableName, is, Table } from 'drizzle-orm';
import pg from 'pg';
import * as schema from '../schema/index.ts';
import { BY, distributeTable, FIRST, STAYS } from './distributed-table.ts';
import { MigrationError, readMigrations, withMigrationLock } from './migrate.ts';

/**
 * Spreads the tables over the workers of a Citus cluster, by organization. Keys stay on the coordinator: they must be
 * found without the organization, and issued and revoked while a worker is down.
 */

const REFERENCE = 'organizations';

/** The tables that are distributed, the first one first. */
export const distributedTables: readonly string[] = Object.values(schema)
  .filter((table) => is(table, Table))
  .filter((table) => Object.values(getTableColumns(table)).some((column) => column.name === BY))
  .map((table) => getTableName(table))
  .filter((name) => !STAYS.has(name))
  .sort((a, b) => Number(b === FIRST) - Number(a === FIRST) || a.localeCompare(b));

/** A cluster that is not ready to be used. The message is one line. */
export class ClusterError extends Error {}

export type Moved = { table: string; rows: number };

type ForeignKey = { table: string; name: string; definition: string };

/**
 * Distributes the tables that are not distributed yet; the second time there are none.
 * @param url the coordinator, directly, as a superuser or the owner of the tables
 * @returns the tables that moved, with their rows
 * @throws ClusterError, MigrationError
 */
export async function distributeDatabase(url: string, migrations = readMigrations()): Promise<Moved[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await checkCluster(client);
    return await withMigrationLock(client, migrations, async (pending) => {
      const [first] = pending;
      if (first)
        throw new MigrationError(`Migration ${first.tag} is not applied: run npm run migrate first.`);
      return await distribute(client);
    });
  } finally {
    await client.end();
  }
}

async function checkCluster(client: pg.Client): Promise<void> {
  const { rowCount: hasCitus } = await client.query(`select from pg_extension where extname = 'citus'`);
  if (!hasCitus)
    throw new ClusterError('The database has no extension citus: create it on every node first.');
  const { rowCount: hasWorker } = await client.query(
    'select from pg_dist_node where isactive and shouldhaveshards and groupid <> 0',
  );
  if (!hasWorker)
    throw new ClusterError('The cluster has no worker: add one with citus_add_node(host, port) first.');
}

async function distribute(client: pg.Client): Promise<Moved[]> {
  // A table on the coordinator only is known to the cluster as well, once it refers to one that is not.
  const { rows } = await client.query<{ name: string }>(
    `select logicalrelid::text as name from pg_dist_partition where partmethod = 'h' or repmodel = 't'`,
  );
  const known = new Set(rows.map(({ name }) => name));
  const { rows: tables } = await client.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public'`,
  );
  const present = new Set(tables.map(({ name }) => name));
  const missing = [REFERENCE, ...distributedTables].filter(
    (table) => present.has(table) && !known.has(table),
  );
  if (missing.length === 0) return [];
  const moved: Moved[] = [];
  await client.query('begin');
  try {
    await client.query(`set local citus.multi_shard_modify_mode = 'sequential'`);
    const keys = await readForeignKeys(client);
    for (const { table, name } of keys) await client.query(`alter table ${table} drop constraint ${name}`);
    for (const table of missing) {
      const { rows: counted } = await client.query<{ rows: number }>(
        `select count(*)::int as rows from ${table}`,
      );
      if (table === REFERENCE) await client.query(`select create_reference_table('${table}')`);
      else await distributeTable(client, table);
      moved.push({ table, rows: counted[0]?.rows ?? 0 });
    }
    for (const { table, name, definition } of keys)
      await client.query(`alter table ${table} add constraint ${name} ${definition}`);
    // The copied rows still lie on the coordinator too, where no statement sees them.
    for (const table of missing)
      await client.query(`select truncate_local_data_after_distributing_table('${table}')`);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
  return moved;
}

async function readForeignKeys(client: pg.Client): Promise<ForeignKey[]> {
  const { rows } = await client.query<ForeignKey>(
    `select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
      from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace and conparentid = 0
      order by conname`,
  );
  return rows;
}
