import { getTableColumns, getTableName, type SQL, sql } from 'drizzle-orm';
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import {
  conversations,
  inOrder,
  isDerived,
  isoTime,
  liveCounts,
  type Owned,
  organizations,
  owned,
  type Params,
  pipelineStages,
  purgedOrganizations,
  type Queries,
  teamMembers,
  unprepared,
} from '../db/index.ts';
import { isPastRetention } from './repository.ts';

/** Purges closed organizations in batches. Each batch commits, so an interrupted run resumes. */

const claimStatement = unprepared(
  'organizations.claim_for_purge',
  (_: Params<Record<never, never>>) => sql`
    update ${organizations} set purge_began_at = now() where ${organizations.purgeBeganAt} is null and ${isPastRetention}`,
);

export type ClaimedOrganization = { id: string; closedAt: string };

const claimedStatement = unprepared(
  'organizations.claimed_for_purge',
  (_: Params<Record<never, never>>): SQL<ClaimedOrganization> => sql`
    select ${organizations.id}, ${isoTime(organizations.closedAt)} as "closedAt" from ${organizations}
    where ${organizations.purgeBeganAt} is not null order by ${organizations.closedAt}, ${organizations.id}`,
);

/**
 * Claims the organizations whose retention is over; nobody can reopen them. Returns those of earlier runs
 * too.
 */
export async function claimOrganizations(db: Queries): Promise<ClaimedOrganization[]> {
  await db.write(claimStatement, {});
  return db.read(claimedStatement, {});
}

/**
 * Primary keys after `after`, up to `last`. Each batch starts at the end of the one before: dead rows are
 * still in the indexes.
 */
type Batch = { organizationId: string; after: string[] | null; last: string[] | null };

function defineBatches(table: Owned) {
  const name = getTableName(table);
  const columns = new Map(Object.values(getTableColumns(table)).map((column) => [column.name, column]));
  columns.delete(table.organizationId.name);
  const keys = (getTableConfig(table).primaryKeys[0]?.columns ?? []).flatMap(
    (column) => columns.get(column.name) ?? [],
  );
  const key = sql`(${sql.join(keys, sql`, `)})`;
  const keyIn = (array: SQL): SQL =>
    sql`(${sql.join(
      keys.map(
        (column, index) => sql`(${array})[${sql.raw(`${index + 1}`)}]::${sql.raw(column.getSQLType())}`,
      ),
      sql`, `,
    )})`;
  const rowsOf = ($: Params<Pick<Batch, 'organizationId' | 'after'>>): SQL => sql`
    ${table.organizationId} = ${$.organizationId}
    and (${$.after}::text[] is null or ${key} > ${keyIn(sql`${$.after}::text[]`)})`;

  const lastStatement = unprepared(
    `organizations.purge_until_${name}`,
    ($: Params<Omit<Batch, 'last'> & { skipped: number }>): SQL<{ last: string[] }> => sql`
      select array[${sql.join(
        keys.map((column) => sql`${column}::text`),
        sql`, `,
      )}] as last from ${table} where ${rowsOf($)} order by ${sql.join(keys, sql`, `)} offset ${$.skipped} limit 1`,
  );
  const purgeStatement = unprepared(
    `organizations.purge_${name}`,
    ($: Params<Batch>): SQL<{ isDeleted: boolean }> => sql`
      delete from ${table} where ${rowsOf($)} and (${$.last}::text[] is null or ${key} <= ${keyIn(sql`${$.last}::text[]`)})
      returning true as "isDeleted"`,
  );
  return { name, lastStatement, purgeStatement };
}

/** Run before its batch is deleted: threads that continue one of these would block the delete. */
const unlinkStatement = unprepared(
  'organizations.unlink_conversations',
  ($: Params<Batch>) => sql`
    update ${conversations} set rotated_from = null where ${conversations.organizationId} = ${$.organizationId}
      and ${conversations.rotatedFrom} is not null
      and (${$.after}::text[] is null or ${conversations.rotatedFrom} > (${$.after}::text[])[1]::uuid)
      and (${$.last}::text[] is null or ${conversations.rotatedFrom} <= (${$.last}::text[])[1]::uuid)`,
);

/** Deleting one of their rows scans all archived opportunities, which have no index by stage or seller. */
const SLOW: ReadonlySet<PgTable> = new Set([pipelineStages, teamMembers]);
const SLOW_LIMIT = 10;

/** The counts of one organization are few, and are consistent only together. */
const limitOf = (table: PgTable, batchSize: number): number =>
  table === liveCounts ? 1_000 : SLOW.has(table) ? Math.min(batchSize, SLOW_LIMIT) : batchSize;

const records = inOrder(owned.filter((table) => !isDerived(table)));
const purged = [...records, ...owned.filter(isDerived)].map((table) => ({ table, ...defineBatches(table) }));

/**
 * Deletes the rows of a claimed organization, in batches.
 * @param batchSize rows per transaction, without derived data
 * @param onBatch called with the table and the number of deleted rows; false stops the purge
 * @returns whether all rows are deleted
 */
export async function purgeRows(
  db: Queries,
  organizationId: string,
  batchSize: number,
  onBatch: (table: string, rows: number) => boolean,
): Promise<boolean> {
  for (const { table, name, lastStatement, purgeStatement } of purged) {
    const limit = limitOf(table, batchSize);
    let after: string[] | null = null;
    for (let more = true; more; ) {
      const [end]: { last: string[] }[] = await db.read(lastStatement, {
        organizationId,
        after,
        skipped: limit - 1,
      });
      const batch: Batch = { organizationId, after, last: end?.last ?? null };
      const rows = await db.transaction(async ({ write }) => {
        if (table === conversations) await write(unlinkStatement, batch);
        return write(purgeStatement, batch);
      });
      if (!onBatch(name, rows.length)) return false;
      after = batch.last;
      more = after !== null;
    }
  }
  return true;
}

const recordStatement = unprepared(
  'organizations.record_purge',
  ($: Params<ClaimedOrganization>) => sql`
    insert into ${purgedOrganizations} (id, closed_at) values (${$.id}, ${$.closedAt}) on conflict do nothing`,
);

const removeStatement = unprepared(
  'organizations.remove',
  ($: Params<{ id: string }>) => sql`
    delete from ${organizations} where ${organizations.id} = ${$.id} and ${organizations.purgeBeganAt} is not null`,
);

/** Deletes the organization and records its id. Fails if it still has rows. */
export const removeOrganization = async (db: Queries, organization: ClaimedOrganization): Promise<void> => {
  await db.transaction(async ({ write }) => {
    await write(recordStatement, organization);
    await write(removeStatement, organization);
  });
};
