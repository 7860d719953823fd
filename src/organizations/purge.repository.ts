import { and, eq, getTableColumns, getTableName, isNotNull, isNull, type SQL, sql } from 'drizzle-orm';
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import {
  as,
  conversations,
  inOrder,
  isDerived,
  isoTime,
  liveCounts,
  type Owned,
  ofOrganization,
  organizations,
  owned,
  type Params,
  pipelineStages,
  purgedOrganizations,
  type Queries,
  qb,
  teamMembers,
  unprepared,
} from '../db/index.ts';
import { isPastRetention } from './repository.ts';

/** Purges closed organizations in batches. Each batch commits, so an interrupted run resumes. */

const { id, closedAt, purgeBeganAt } = organizations;

const claimStatement = unprepared('organizations.claim_for_purge', () =>
  qb
    .update(organizations)
    .set({ purgeBeganAt: sql`now()` })
    .where(and(isNull(purgeBeganAt), isPastRetention)),
);

const claimedStatement = unprepared('organizations.claimed_for_purge', () =>
  qb
    .select(as({ id, closedAt: isoTime(closedAt) }))
    .from(organizations)
    .where(isNotNull(purgeBeganAt))
    .orderBy(closedAt, id),
);

export type ClaimedOrganization = { id: string; closedAt: string };

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
  const rowsOf = ($: Params<Pick<Batch, 'organizationId' | 'after'>>) =>
    and(
      ofOrganization(table, $),
      sql`(${$.after}::text[] is null or ${key} > ${keyIn(sql`${$.after}::text[]`)})`,
    );
  const last = sql<string[]>`array[${sql.join(
    keys.map((column) => sql`${column}::text`),
    sql`, `,
  )}]`;

  const lastStatement = unprepared(
    `organizations.purge_until_${name}`,
    ($: Params<Omit<Batch, 'last'> & { skipped: number }>) =>
      qb
        .select(as({ last }))
        .from(table)
        .where(rowsOf($))
        .orderBy(...keys)
        .offset($.skipped)
        .limit(1),
  );
  const purgeStatement = unprepared(`organizations.purge_${name}`, ($: Params<Batch>) =>
    qb
      .delete(table)
      .where(and(rowsOf($), sql`(${$.last}::text[] is null or ${key} <= ${keyIn(sql`${$.last}::text[]`)})`))
      .returning(as({ isDeleted: sql<boolean>`true` })),
  );
  return { name, lastStatement, purgeStatement };
}

/** Run before its batch is deleted: threads that continue one of these would block the delete. */
const unlinkStatement = unprepared('organizations.unlink_conversations', ($: Params<Batch>) => {
  const { organizationId, rotatedFrom } = conversations;
  return qb
    .update(conversations)
    .set({ rotatedFrom: null })
    .where(
      and(
        eq(organizationId, $.organizationId),
        isNotNull(rotatedFrom),
        sql`(${$.after}::text[] is null or ${rotatedFrom} > (${$.after}::text[])[1]::uuid)`,
        sql`(${$.last}::text[] is null or ${rotatedFrom} <= (${$.last}::text[])[1]::uuid)`,
      ),
    );
});

/** Deleting one of their rows scans all archived opportunities, which have no index by stage or seller. */
const SLOW: ReadonlySet<PgTable> = new Set([pipelineStages, teamMembers]);
const SLOW_LIMIT = 10;

/** All counts in one batch: a partial delete would leave wrong totals. */
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

const recordStatement = unprepared('organizations.record_purge', ($: Params<ClaimedOrganization>) =>
  qb.insert(purgedOrganizations).values({ id: $.id, closedAt: $.closedAt }).onConflictDoNothing(),
);

const removeStatement = unprepared('organizations.remove', ($: Params<{ id: string }>) =>
  qb.delete(organizations).where(and(eq(id, $.id), isNotNull(purgeBeganAt))),
);

/** Deletes the organization and records its id. Fails if it still has rows. */
export async function removeOrganization(db: Queries, organization: ClaimedOrganization): Promise<void> {
  await db.transaction(async ({ write }) => {
    await write(recordStatement, organization);
    await write(removeStatement, organization);
  });
}
