import type pg from 'pg';

/** The column whose value says on which node of a Citus cluster a row is. */
export const BY = 'organization_id';
/** The other tables lie with it: all rows of an organization are on one node. */
export const FIRST = 'customers';
/** On the coordinator. */
export const STAYS: ReadonlySet<string> = new Set(['api_keys']);

export async function distributeTable(client: pg.Client, table: string): Promise<void> {
  const place = table === FIRST ? '' : `, colocate_with => 'public.${FIRST}'`;
  await client.query(`select create_distributed_table('public.${table}', '${BY}'${place})`);
}

const CREATED = /^(?:\s|--.*$)*create table (?:if not exists )?(?:"public"\.)?"?(\w+)"?/im;

/**
 * After a statement of a migration: on a cluster a new table of organizations is distributed before its foreign keys
 * come, which a local table could not have. Elsewhere nothing happens.
 */
export async function distributeNewTable(client: pg.Client, statement: string): Promise<void> {
  const table = CREATED.exec(statement)?.[1];
  if (table === undefined || STAYS.has(table)) return;
  const { rows } = await client.query<{ isNeeded: boolean }>(
    `select to_regproc('create_distributed_table') is not null and exists (
        select from pg_attribute where attrelid = to_regclass($1) and attname = '${BY}') as "isNeeded"`,
    [`public.${table}`],
  );
  if (!rows[0]?.isNeeded) return;
  const { rowCount: isDistributed } = await client.query(
    `select from pg_dist_partition where logicalrelid = to_regclass('public.${FIRST}') and partmethod = 'h'`,
  );
  if (isDistributed) await distributeTable(client, table);
}
