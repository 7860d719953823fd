import { and, eq, getTableName, isNotNull, isNull, sql } from 'drizzle-orm';
import { getTableConfig } from 'drizzle-orm/pg-core';
import {
  apiKeys,
  columns,
  conversations,
  idempotencyKeys,
  inOrder,
  isDerived,
  isoTime,
  liveCounts,
  type OrganizationScope,
  ofOrganization,
  organizations,
  owned,
  type Params,
  purgedOrganizations,
  type Queries,
  qb,
  unprepared,
} from '../db/index.ts';
import { isPastRetention } from './repository.ts';

const { id, closedAt, purgeBeganAt } = organizations;

const claimStatement = unprepared('organizations.claim_for_purge', () =>
  qb
    .update(organizations)
    .set({ purgeBeganAt: sql`now()` })
    .where(and(isNull(purgeBeganAt), isPastRetention)),
);

const claimedStatement = unprepared('organizations.claimed_for_purge', () =>
  qb
    .select(columns({ id, closedAt: isoTime(closedAt) }))
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

type Batch = { organizationId: string; limit: number | null };

/** A thread that another one continues cannot be deleted before it. */
const { organizationId, id: thread } = conversations;
const isContinued = sql`exists (select from conversations as next
  where next.organization_id = ${organizationId} and next.rotated_from = ${thread})`;

/** Rows go before those that they refer to; derived ones go with them. */
const tables = inOrder(owned.filter((table) => !isDerived(table)));

const batches = tables.map((table) => {
  const name = getTableName(table);
  const key = sql.join(getTableConfig(table).primaryKeys[0]?.columns ?? [], sql`, `);
  const isFree = table === conversations ? sql`not ${isContinued}` : undefined;
  const statement = unprepared(`organizations.purge_${name}`, ($: Params<Batch>) => {
    const isOwned = ofOrganization(table, $);
    const keys = sql`select ${key} from ${table} where ${and(isOwned, isFree)} limit ${$.limit}`;
    return qb
      .delete(table)
      .where(and(isOwned, sql`(${key}) in (${keys})`))
      .returning(columns({ isDeleted: sql<boolean>`true` }));
  });
  return { table, name, statement };
});

/**
 * Deletes the rows of a claimed organization. Each batch commits, so an interrupted run resumes.
 * @param limit rows per statement, without derived data
 * @param onBatch called with the table and the number of deleted rows; false stops the purge
 * @returns whether all rows are deleted
 */
export async function purgeRows(
  db: Queries,
  organizationId: string,
  limit: number,
  onBatch: (table: string, rows: number) => boolean,
): Promise<boolean> {
  for (const { name, statement } of batches)
    for (let rows = 1; rows > 0; ) {
      rows = (await db.write(statement, { organizationId, limit })).length;
      if (!onBatch(name, rows)) return false;
    }
  return true;
}

/** Deletes all records and idempotency keys of the organization, but not its API keys, at once. */
export const clearOrganization = ({ db, organizationId }: OrganizationScope): Promise<void> =>
  db.transaction(async ({ write }) => {
    for (const { statement } of batches.filter(({ table }) => table !== apiKeys)) {
      let rows: unknown[];
      do rows = await write(statement, { organizationId, limit: null });
      while (rows.length > 0);
    }
  });

const hasRecordsStatement = unprepared(
  'organizations.has_records',
  ($: Params<{ organizationId: string }>) => {
    const parts = tables
      .filter((table) => table !== apiKeys && table !== idempotencyKeys)
      .map((table) => sql`exists (select from ${table} where ${ofOrganization(table, $)})`);
    return sql<{ found: boolean }>`select ${sql.join(parts, sql` or `)} as found`;
  },
);

/** Whether the organization has any record, archived or not. */
export async function hasRecords({ db, organizationId }: OrganizationScope): Promise<boolean> {
  const [row] = await db.read(hasRecordsStatement, { organizationId });
  return row?.found === true;
}

const removeCountsStatement = unprepared(
  'organizations.purge_live_counts',
  ($: Params<{ organizationId: string }>) => qb.delete(liveCounts).where(ofOrganization(liveCounts, $)),
);

const saveTombstoneStatement = unprepared('organizations.save_tombstone', ($: Params<ClaimedOrganization>) =>
  qb.insert(purgedOrganizations).values({ id: $.id, closedAt: $.closedAt }).onConflictDoNothing(),
);

const removeStatement = unprepared('organizations.remove', ($: Params<{ id: string }>) =>
  qb.delete(organizations).where(and(eq(id, $.id), isNotNull(purgeBeganAt))),
);

/** Deletes the organization and records its id. Fails if it still has rows. */
export async function removeOrganization(db: Queries, organization: ClaimedOrganization): Promise<void> {
  await db.transaction(async ({ write }) => {
    await write(removeCountsStatement, { organizationId: organization.id });
    await write(saveTombstoneStatement, organization);
    await write(removeStatement, organization);
  });
}
