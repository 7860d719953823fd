import { and, eq, not, sql } from 'drizzle-orm';
import { violatedConstraint } from '../pool/errors.ts';
import type { OrganizationScope, Queries } from '../pool/scope.ts';
import { type Columns, columnList, placeholdersOf } from '../sql/fields.ts';
import type { Json } from '../sql/json.ts';
import {
  columns,
  commaSeparated,
  ofOrganization,
  qb,
  type RecordKey,
  selectJson,
  type View,
} from '../sql/query.ts';
import { type Params, prepared, unprepared } from '../sql/statement.ts';
import { idempotencyKeys } from '../tables/index.ts';

/** An Idempotency-Key is written in the statement that creates its record, and finds that record for a day. */

/** Both are SHA-256: of the key with its operation, and of the body. */
export type IdempotencyKey = { fingerprint: Buffer; bodyHash: Buffer };

/** Nothing was written: the key is stored already, or its first request is running. */
export class KeyInUse extends Error {}

type Key = { organizationId: string; fingerprint: Buffer };

const isStored = sql`${idempotencyKeys.createdAt} > now() - interval '24 hours'`;

const fingerprintIs = ($: Params<Key>) =>
  and(ofOrganization(idempotencyKeys), eq(idempotencyKeys.fingerprint, $.fingerprint));

type Once = RecordKey & Key & { bodyHash: Buffer; lock: string };

/**
 * The function inserts a record and its key, or throws KeyInUse. The lock is by eight bytes of the fingerprint: two keys that share
 * them by chance exclude each other.
 */
export function defineInsertOnce<T>(name: string, { table, fields }: View<T>, inserted: Columns) {
  const placeholders = commaSeparated(Object.values(placeholdersOf(inserted)));
  const statement = prepared(
    name,
    ($: Params<Once>) => sql<{ isFree: boolean; body: Json<T> | null }>`
      with claim as materialized (select pg_try_advisory_xact_lock(${$.lock}::bigint) and not exists (
        select from ${idempotencyKeys} where ${fingerprintIs($)}) as is_free),
      written as (insert into ${table} (organization_id, id, ${columnList(inserted)})
        select ${$.organizationId}, ${$.id}, ${placeholders} where (select is_free from claim) returning *),
      kept as (insert into ${idempotencyKeys} (organization_id, fingerprint, body_hash, record_id)
        select organization_id, ${$.fingerprint}, ${$.bodyHash}, id from written)
      select is_free as "isFree", (${selectJson(fields, sql`written as ${table}`)}) as body from claim`,
  );
  return async (scope: OrganizationScope, values: { id: string } & IdempotencyKey) => {
    const lock = String(values.fingerprint.readBigInt64BE());
    const [row] = await scope.write(statement, { ...values, lock }).catch((error) => {
      // Stored between the look of this statement and its lock.
      throw violatedConstraint(error) === 'idempotency_keys_pkey' ? new KeyInUse() : error;
    });
    if (!row?.isFree) throw new KeyInUse();
    return row;
  };
}

const findStatement = prepared('idempotency_keys.find', ($: Params<Key>) => {
  const { bodyHash, recordId } = idempotencyKeys;
  return qb
    .select(columns({ bodyHash, recordId, isExpired: sql<boolean>`not ${isStored}` }))
    .from(idempotencyKeys)
    .where(fingerprintIs($));
});

const forgetStatement = prepared('idempotency_keys.forget', ($: Params<Key>) =>
  qb.delete(idempotencyKeys).where(and(fingerprintIs($), not(isStored))),
);

/** The record of the key. An expired key is forgotten: another request can use it. */
export async function findKey(scope: OrganizationScope, { fingerprint }: IdempotencyKey) {
  const [key] = await scope.read(findStatement, { fingerprint });
  if (key?.isExpired) await scope.write(forgetStatement, { fingerprint });
  return key;
}

const dueStatement = unprepared('idempotency_keys.due_for_sweep', ($: Params<{ limit: number }>) => {
  const { organizationId, fingerprint, createdAt } = idempotencyKeys;
  return qb
    .select(columns({ organizationId, fingerprint }))
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
          ofOrganization(idempotencyKeys),
          sql`${idempotencyKeys.fingerprint} = any(${$.fingerprints}::bytea[])`,
          not(isStored),
        ),
      )
      .returning(columns({ recordId: idempotencyKeys.recordId })),
);

/** Removes at most `limit` expired keys, oldest first, and returns their number. A key that was reused meanwhile stays. */
export async function sweepKeys(db: Queries, limit: number): Promise<number> {
  const due = await db.read(dueStatement, { limit });
  let removed = 0;
  for (const [organizationId, rows] of Map.groupBy(due, (row) => row.organizationId)) {
    const fingerprints = rows.map(({ fingerprint }) => fingerprint);
    removed += (await db.write(sweepStatement, { organizationId, fingerprints })).length;
  }
  return removed;
}
