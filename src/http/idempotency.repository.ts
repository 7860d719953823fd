import { type SQL, sql } from 'drizzle-orm';
import {
  idempotencyKeys,
  type OrganizationScope,
  type Params,
  prepared,
  type Queries,
  unprepared,
} from '../db/index.ts';

const RETENTION_HOURS = 24;

export type StoredResponse = {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
  bodyHash: Buffer;
};

type Key = { organizationId: string; fingerprint: Buffer };

/** By the first eight bytes of the fingerprint. If two requests share them by chance, the second one is told to retry. */
const lockStatement = prepared(
  'idempotency_keys.lock',
  ($: Params<{ lock: string }>) =>
    sql<{ isLocked: boolean }>`select pg_try_advisory_xact_lock(${$.lock}::bigint) as "isLocked"`,
);

const isStored = sql`${idempotencyKeys.createdAt} > now() - interval '${sql.raw(String(RETENTION_HOURS))} hours'`;

const findStatement = prepared(
  'idempotency_keys.find',
  ($: Params<Key>): SQL<StoredResponse> => sql`
    select ${idempotencyKeys.status}, ${idempotencyKeys.headers}, ${idempotencyKeys.body}, ${idempotencyKeys.bodyHash} as "bodyHash"
    from ${idempotencyKeys}
    where ${idempotencyKeys.organizationId} = ${$.organizationId} and ${idempotencyKeys.fingerprint} = ${$.fingerprint}
      and ${isStored}`,
);

/** Replaces an expired key that the sweep has not removed yet. No other can conflict: the key is locked and was not found. */
const storeStatement = prepared(
  'idempotency_keys.store',
  (
    $: Params<Key & Omit<StoredResponse, 'headers'> & { headers: string; recordIds: readonly string[] }>,
  ) => sql`
    insert into ${idempotencyKeys} (organization_id, fingerprint, body_hash, status, headers, body, record_ids)
    values (${$.organizationId}, ${$.fingerprint}, ${$.bodyHash}, ${$.status}, ${$.headers}, ${$.body}, ${$.recordIds})
    on conflict (organization_id, fingerprint) do update set body_hash = excluded.body_hash, status = excluded.status,
      headers = excluded.headers, body = excluded.body, record_ids = excluded.record_ids, created_at = excluded.created_at`,
);

/**
 * Locks the key until the transaction ends.
 * @returns false while another transaction, on any instance, has the lock
 */
export async function claimKey({ db }: OrganizationScope, fingerprint: Buffer): Promise<boolean> {
  const [row] = await db.write(lockStatement, { lock: String(fingerprint.readBigInt64BE()) });
  return row?.isLocked ?? false;
}

export async function findResponse(
  { db, organizationId }: OrganizationScope,
  fingerprint: Buffer,
): Promise<StoredResponse | undefined> {
  const [row] = await db.read(findStatement, { organizationId, fingerprint });
  return row;
}

export async function storeResponse(
  { db, organizationId }: OrganizationScope,
  fingerprint: Buffer,
  { headers, ...response }: StoredResponse,
  recordIds: readonly string[],
): Promise<void> {
  await db.write(storeStatement, {
    ...response,
    organizationId,
    fingerprint,
    headers: JSON.stringify(headers),
    recordIds,
  });
}

type Records = { organizationId: string; ids: readonly string[] };

const eraseStatements = [
  unprepared(
    'idempotency_keys.erase',
    ($: Params<Records>): SQL<{ status: number }> => sql`
      delete from ${idempotencyKeys} where ${idempotencyKeys.organizationId} = ${$.organizationId}
        and ${idempotencyKeys.recordIds} && ${$.ids}::uuid[]
      returning ${idempotencyKeys.status}`,
  ),
  // Release 1.0.0 stores no ids. A response with the text of a person begins with the id of its record.
  unprepared(
    'idempotency_keys.erase_without_ids',
    ($: Params<Records>): SQL<{ status: number }> => sql`
      delete from ${idempotencyKeys} where ${idempotencyKeys.organizationId} = ${$.organizationId}
        and ${idempotencyKeys.recordIds} is null
        and encode(substring(${idempotencyKeys.body} from 8 for 36), 'escape') = any(${$.ids}::text[])
      returning ${idempotencyKeys.status}`,
  ),
];

/**
 * Deletes the stored responses about these records, encrypted ones too.
 * @returns their number
 */
export async function eraseResponses({ db }: OrganizationScope, records: Records): Promise<number> {
  let erased = 0;
  for (const statement of eraseStatements) erased += (await db.write(statement, records)).length;
  return erased;
}

const dueStatement = unprepared(
  'idempotency_keys.due_for_sweep',
  ($: Params<{ limit: number }>): SQL<Key> => sql`
    select ${idempotencyKeys.organizationId} as "organizationId", ${idempotencyKeys.fingerprint} from ${idempotencyKeys}
    where not (${isStored}) order by ${idempotencyKeys.createdAt} limit ${$.limit}`,
);

const sweepStatement = prepared(
  'idempotency_keys.sweep',
  ($: Params<{ organizationId: string; fingerprints: Buffer[] }>) => sql<{ swept: boolean }>`
    delete from ${idempotencyKeys} where ${idempotencyKeys.organizationId} = ${$.organizationId}
      and ${idempotencyKeys.fingerprint} = any(${$.fingerprints}::bytea[]) and not (${isStored})
    returning true as swept`,
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
