import { getTableColumns, getTableName, type SQL, sql } from 'drizzle-orm';
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import type { Queries } from '../db/pool/scope.ts';
import { isoTime } from '../db/sql/json.ts';
import { type Params, unprepared } from '../db/sql/statement.ts';
import * as schema from '../db/tables/index.ts';
import { inOrder, isDerived, type Owned, owned } from '../db/tables/owned.ts';
import { isOver } from './repository.ts';

/** The end of a closed organization. Its rows go in batches that each commit: a run that was ended anywhere is gone on with. */

const { conversations, liveCounts, organizations, pipelineStages, purgedOrganizations, teamMembers } = schema;

const claimStatement = unprepared(
  'organizations.claim_for_purge',
  (_: Params<Record<never, never>>) => sql`
    update ${organizations} set purge_began_at = now() where ${organizations.purgeBeganAt} is null and ${isOver}`,
);

export type ClaimedOrganization = { id: string; closedAt: string };

const claimedStatement = unprepared(
  'organizations.claimed_for_purge',
  (_: Params<Record<never, never>>): SQL<ClaimedOrganization> => sql`
    select ${organizations.id}, ${isoTime(organizations.closedAt)} as "closedAt" from ${organizations}
    where ${organizations.purgeBeganAt} is not null order by ${organizations.closedAt}, ${organizations.id}`,
);

/** Claims the organizations whose time is over: nobody opens them again. Answers those of earlier runs too. */
export async function claimOrganizations(db: Queries): Promise<ClaimedOrganization[]> {
  await db.write(claimStatement, {});
  return db.read(claimedStatement, {});
}

/** A batch: the rows behind one key, up to another. Rows that are gone still stand in indexes, so each begins where the last ended. */
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
    ($: Params<Batch>): SQL<{ isGone: boolean }> => sql`
      delete from ${table} where ${rowsOf($)} and (${$.last}::text[] is null or ${key} <= ${keyIn(sql`${$.last}::text[]`)})
      returning true as "isGone"`,
  );
  return { name, lastStatement, purgeStatement };
}

/** A thread goes before or after the one that it continues: first, none of the batch is continued any more. */
const unlinkStatement = unprepared(
  'organizations.unlink_conversations',
  ($: Params<Batch>) => sql`
    update ${conversations} set rotated_from = null where ${conversations.organizationId} = ${$.organizationId}
      and ${conversations.rotatedFrom} is not null
      and (${$.after}::text[] is null or ${conversations.rotatedFrom} > (${$.after}::text[])[1]::uuid)
      and (${$.last}::text[] is null or ${conversations.rotatedFrom} <= (${$.last}::text[])[1]::uuid)`,
);

/** For each of their rows PostgreSQL looks through the places of all opportunities that were: no index finds archived ones by it. */
const SLOW: ReadonlySet<PgTable> = new Set([pipelineStages, teamMembers]);
const SLOW_LIMIT = 10;

/** Rows of a table that one batch takes at most. The slots of a count mean something together, and are few. */
const limitOf = (table: PgTable, batchSize: number): number =>
  table === liveCounts ? 1_000 : SLOW.has(table) ? Math.min(batchSize, SLOW_LIMIT) : batchSize;

const records = inOrder(owned.filter((table) => !isDerived(table)));
const purged = [...records, ...owned.filter(isDerived)].map((table) => ({ table, ...defineBatches(table) }));

/**
 * Removes the rows of a claimed organization, but not its own, in batches.
 * @param batchSize rows that one transaction takes at most, beside those that follow from them
 * @param onBatch told the table and how many rows of it went; false ends it
 * @returns whether all are gone
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

/** Removes the organization itself, and keeps its id. Fails where it still has something. */
export const removeOrganization = async (db: Queries, organization: ClaimedOrganization): Promise<void> => {
  await db.transaction(async ({ write }) => {
    await write(recordStatement, organization);
    await write(removeStatement, organization);
  });
};
