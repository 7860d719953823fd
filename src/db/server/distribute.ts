import pg from 'pg';
import { migrateDatabase } from './migrate.ts';

/** See docs/cluster.md. */

const REFERENCE_TABLE = 'organizations';
/** All other tables are colocated with it: all rows of an organization are on one node. */
const FIRST_TABLE = 'customers';
/** On the coordinator: a key is found without its organization, and revoked while a worker is down. */
const LOCAL_TABLE = 'api_keys';

/** Without these settings, Citus rejects keys and triggers of distributed tables. */
const SETTINGS = '-c citus.multi_shard_modify_mode=sequential -c citus.enable_unsafe_triggers=on';

/**
 * Applies pending migrations, and distributes tables over the workers of a Citus cluster, by organization.
 * @param url the coordinator, not a pooler, as a superuser or the owner of the tables
 * @returns the tables that were not distributed before
 * @throws OperatorError; Error, whose message says what the cluster lacks
 */
export async function distributeDatabase(url: string): Promise<string[]> {
  const urlOfCluster = `${url}${url.includes('?') ? '&' : '?'}options=${encodeURIComponent(SETTINGS)}`;
  const client = new pg.Client({ connectionString: urlOfCluster, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await checkCluster(client);
    await migrateDatabase(urlOfCluster);
    return await distribute(client);
  } finally {
    await client.end();
  }
}

async function checkCluster(client: pg.Client): Promise<void> {
  const { rowCount: hasCitus } = await client.query(`select from pg_extension where extname = 'citus'`);
  if (!hasCitus) throw new Error('The database has no extension citus: create it on every node first.');
  const { rowCount: hasWorker } = await client.query(
    'select from pg_dist_node where isactive and shouldhaveshards and groupid <> 0',
  );
  if (!hasWorker)
    throw new Error('The cluster has no worker: add one with citus_add_node(host, port) first.');
}

async function localTables(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> '${LOCAL_TABLE}'
        and (relname = '${REFERENCE_TABLE}'
          or exists (select from pg_attribute where attrelid = pg_class.oid and attname = 'organization_id'))
        and not exists (select from pg_dist_partition
          where logicalrelid = pg_class.oid and (partmethod = 'h' or repmodel = 't'))
      order by relname <> '${REFERENCE_TABLE}', relname <> '${FIRST_TABLE}', relname`,
  );
  return rows.map(({ name }) => name);
}

const distributeTable = (client: pg.Client, table: string): Promise<unknown> =>
  client.query(
    table === REFERENCE_TABLE
      ? `select create_reference_table('${table}')`
      : `select create_distributed_table('${table}', 'organization_id',
          colocate_with => '${table === FIRST_TABLE ? 'default' : FIRST_TABLE}')`,
  );

/** Dropped meanwhile: foreign keys turn tables into local ones of Citus, and triggers would fire for each copied row. */
const KEYS_AND_TRIGGERS = `
  select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
    format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as create
  from pg_constraint where contype = 'f' and (conrelid = any($1::regclass[]) or confrelid = any($1::regclass[]))
  union all
  select format('drop trigger %I on %s', tgname, tgrelid::regclass), pg_get_triggerdef(oid)
  from pg_trigger where not tgisinternal and tgrelid = any($1::regclass[])`;

/** Citus distributes only functions that were created after the extension. */
const DISTRIBUTE_OTHER_FUNCTIONS = `
  select create_distributed_function(oid::regprocedure) from pg_proc
  where pronamespace = 'public'::regnamespace
    and not exists (select from pg_depend where (classid, objid, deptype) = ('pg_proc'::regclass, pg_proc.oid, 'e'))
    and not exists (select from pg_dist_object where (classid, objid) = ('pg_proc'::regclass, pg_proc.oid))`;

async function distribute(client: pg.Client): Promise<string[]> {
  const tables = await localTables(client);
  if (tables.length === 0) return [];
  await client.query('begin');
  const { rows: parts } = await client.query<{ drop: string; create: string }>(KEYS_AND_TRIGGERS, [tables]);
  for (const { drop } of parts) await client.query(drop);
  for (const table of tables) await distributeTable(client, table);
  // After the tables, because `bound_customer` declares a row of one.
  await client.query(DISTRIBUTE_OTHER_FUNCTIONS);
  for (const { create } of parts) await client.query(create);
  // The coordinator still has a copy of the rows, which no statement sees.
  for (const table of tables)
    await client.query(`select truncate_local_data_after_distributing_table('${table}')`);
  await client.query('commit');
  return tables;
}
