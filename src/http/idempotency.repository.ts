import { and, eq, not, type SQL, sql } from 'drizzle-orm';
import {
  as,
  type Ids,
  idempotencyKeys,
  type OrganizationScope,
  ofOrganization,
  type Params,
  prepared,
  type Queries,
  qb,
  unprepared,
  violatedConstraint,
} from '../db/index.ts';

const RETENTION_HOURS = 24;

export type StoredResponse = {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
  bodyHash: Buffer;
};

type Key = { organizationId: string; fingerprint: Buffer };

const isStored = sql`${idempotencyKeys.createdAt} > now() - interval '${sql.raw(String(RETENTION_HOURS))} hours'`;

const fingerprintIs = ($: Params<Key>) =>
  and(ofOrganization(idempotencyKeys, $), eq(idempotencyKeys.fingerprint, $.fingerprint));

/** Without a row of the key, all but `isLocked` is null. */
type Claim = StoredResponse & { isLocked: boolean; isExpired: boolean | null };

/**
 * The lock is by the first eight bytes of the fingerprint: if two requests share them by chance, the second one is told to retry. What
 * is found may be older than the lock; then the insert of the second response fails.
 */
const claimStatement = prepared('idempotency_keys.claim', ($: Params<Key & { lock: string }>) => {
  const { status, headers, body, bodyHash } = idempotencyKeys;
  return sql<Claim>`
    select pg_try_advisory_xact_lock(${$.lock}::bigint) as "isLocked", not ${isStored} as "isExpired",
      ${status}, ${headers}, ${body}, ${bodyHash} as "bodyHash"
    from (select) as claim left join ${idempotencyKeys} on ${fingerprintIs($)}`;
});

const forgetStatement = prepared('idempotency_keys.forget', ($: Params<Key>) =>
  qb.delete(idempotencyKeys).where(and(fingerprintIs($), not(isStored))),
);

const storeStatement = prepared(
  'idempotency_keys.store',
  ($: Params<Key & StoredResponse & { recordIds: readonly string[] }>) => {
    const { organizationId, fingerprint, bodyHash, status, headers, body, recordIds } = $;
    return qb
      .insert(idempotencyKeys)
      .values({ organizationId, fingerprint, bodyHash, status, headers, body, recordIds });
  },
);

/**
 * Locks the key until the transaction ends, and looks for its response. An expired key is forgotten.
 * @returns `isLocked` is false while another transaction, on any instance, has the lock
 */
export async function claimKey(
  { db, organizationId }: OrganizationScope,
  fingerprint: Buffer,
): Promise<{ isLocked: boolean; first: StoredResponse | undefined }> {
  const key = { organizationId, fingerprint };
  const [claim] = await db.read(claimStatement, { ...key, lock: String(fingerprint.readBigInt64BE()) });
  if (!claim) throw new Error('A claim returned no row.');
  const { isLocked, isExpired, ...first } = claim;
  if (isLocked && isExpired) await db.write(forgetStatement, key);
  return { isLocked, first: isExpired === false ? first : undefined };
}

/** Whether another transaction stored its response between the look and the lock: the next attempt finds it. */
export const isStoredMeanwhile = (error: unknown): boolean =>
  violatedConstraint(error) === 'idempotency_keys_pkey';

/** Sends the response together with the commit, which waits for it. */
export function storeResponse(
  { db, organizationId }: OrganizationScope,
  response: StoredResponse & { fingerprint: Buffer; recordIds: readonly string[] },
): void {
  db.write(storeStatement, { ...response, organizationId });
}

const defineErase = (name: string, isOfRecords: ($: Params<Ids>) => SQL) =>
  unprepared(name, ($: Params<Ids>) =>
    qb
      .delete(idempotencyKeys)
      .where(and(ofOrganization(idempotencyKeys, $), isOfRecords($)))
      .returning(as({ status: idempotencyKeys.status })),
  );

const eraseStatements = [
  defineErase('idempotency_keys.erase', ($) => sql`${idempotencyKeys.recordIds} && ${$.ids}::uuid[]`),
  // Release 1.0.0 stores no ids. A response with the text of a person begins with the id of its record.
  defineErase(
    'idempotency_keys.erase_without_ids',
    ($) => sql`${idempotencyKeys.recordIds} is null
      and encode(substring(${idempotencyKeys.body} from 8 for 36), 'escape') = any(${$.ids}::text[])`,
  ),
];

/**
 * Deletes the stored responses about these records, encrypted ones too.
 * @returns their number
 */
export async function eraseResponses({ db }: OrganizationScope, records: Ids): Promise<number> {
  let erased = 0;
  for (const statement of eraseStatements) erased += (await db.write(statement, records)).length;
  return erased;
}

const dueStatement = unprepared('idempotency_keys.due_for_sweep', ($: Params<{ limit: number }>) => {
  const { organizationId, fingerprint, createdAt } = idempotencyKeys;
  return qb
    .select(as({ organizationId, fingerprint }))
    .from(idempotencyKeys)
    .where(not(isStored))
    .orderBy(createdAt)
    .limit($.limit);
});

const sweepStatement = prepared(
  'idempotency_keys.sweep',
  ($: Params<{ organizationId: string; fingerprints: Buffer[] }>) =>
    qb
      .delete(idempotencyKeys)
      .where(
        and(
          ofOrganization(idempotencyKeys, $),
          sql`${idempotencyKeys.fingerprint} = any(${$.fingerprints}::bytea[])`,
          not(isStored),
        ),
      )
      .returning(as({ status: idempotencyKeys.status })),
);

/**
 * Removes at most `limit` expired keys, oldest first.
 * @returns how many expired keys were found, and how many were removed: a key that was reused meanwhile stays
 */
export async function sweepKeys(db: Queries, limit: number): Promise<{ found: number; removed: number }> {
  const due = await db.read(dueStatement, { limit });
  let removed = 0;
  for (const [organizationId, rows] of Map.groupBy(due, (row) => row.organizationId)) {
    const fingerprints = rows.map(({ fingerprint }) => fingerprint);
    removed += (await db.write(sweepStatement, { organizationId, fingerprints })).length;
  }
  return { found: due.length, removed };
}
