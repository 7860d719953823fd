import { and, eq, getTableName, isNotNull, or, sql } from 'drizzle-orm';
import { getTableConfig } from 'drizzle-orm/pg-core';
import {
  apiKeys,
  channelMessages,
  columns,
  commaSeparated,
  conversations,
  customers,
  idempotencyKeys,
  liveCounts,
  ofOrganization,
  opportunities,
  organizations,
  type Params,
  parseJson,
  pipelineStages,
  products,
  purgedOrganizations,
  type Queries,
  qb,
  quoteAttachments,
  quotes,
  returningJson,
  teamMembers,
  unprepared,
  whatsappMessages,
} from '../db/index.ts';
import { isPastRetention } from './repository.ts';

const { id, closedAt, purgeBeganAt } = organizations;

export type ClaimedOrganization = { id: string; closedAt: string };

const claimStatement = unprepared('organizations.claim_for_purge', () =>
  returningJson<ClaimedOrganization>(
    { table: organizations, fields: { id, closedAt } },
    qb
      .update(organizations)
      .set({ purgeBeganAt: sql`now()` })
      .where(or(isNotNull(purgeBeganAt), isPastRetention)),
  ),
);

/** Claims the organizations whose retention is over; nobody can reopen them. Returns those of earlier runs too. */
export async function claimOrganizations(db: Queries): Promise<ClaimedOrganization[]> {
  const claimed = await db.write(claimStatement, {});
  return claimed.map(({ body }) => parseJson(body));
}

/** Rows go before those that they refer to. Triggers and cascades delete derived data with them, and change the counts, which go last. */
const tables = [
  whatsappMessages,
  channelMessages,
  conversations,
  quoteAttachments,
  quotes,
  opportunities,
  customers,
  products,
  pipelineStages,
  teamMembers,
  idempotencyKeys,
  apiKeys,
  liveCounts,
];

/** A thread that another one continues cannot be deleted before it. */
const { organizationId, id: thread } = conversations;
const isContinued = sql`exists (select from conversations as next
  where next.organization_id = ${organizationId} and next.rotated_from = ${thread})`;

const deletions = tables.map((table) => ({
  table: getTableName(table),
  statement: unprepared(
    `organizations.purge_${getTableName(table)}`,
    ($: Params<{ organizationId: string; limit: number }>) => {
      const key = commaSeparated(getTableConfig(table).primaryKeys[0]?.columns ?? []);
      const isOwned = ofOrganization(table);
      const isFree = table === conversations ? sql`not ${isContinued}` : undefined;
      const keys = sql`select ${key} from ${table} where ${and(isOwned, isFree)} limit ${$.limit}`;
      return qb
        .delete(table)
        .where(and(isOwned, sql`(${key}) in (${keys})`))
        .returning(columns({ isDeleted: sql<boolean>`true` }));
    },
  ),
}));

/**
 * Deletes the records and keys of the organization in batches, each by one statement, and yields the number of their rows.
 * @param limit rows of a batch, without derived data
 */
export async function* deleteRows(
  { db, organizationId }: { db: Queries; organizationId: string },
  limit: number,
) {
  for (const { table, statement } of deletions)
    for (let rows = 1; rows > 0; ) {
      rows = (await db.write(statement, { organizationId, limit })).length;
      yield { table, rows };
    }
}

const saveTombstoneStatement = unprepared('organizations.save_tombstone', ($: Params<ClaimedOrganization>) =>
  qb.insert(purgedOrganizations).values({ id: $.id, closedAt: $.closedAt }).onConflictDoNothing(),
);

const removeStatement = unprepared('organizations.remove', ($: Params<{ id: string }>) =>
  qb.delete(organizations).where(and(eq(id, $.id), isNotNull(purgeBeganAt))),
);

/** Deletes the organization and records its id. Fails if it still has rows. */
export async function removeOrganization(db: Queries, organization: ClaimedOrganization): Promise<void> {
  await db.transaction(async ({ write }) => {
    await write(saveTombstoneStatement, organization);
    await write(removeStatement, organization);
  });
}
