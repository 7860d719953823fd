import { sql } from 'drizzle-orm';
import type { Queries } from '../db/client.ts';
import { isId, newId } from '../db/ids.ts';
import { type Fields, isoTime, type Json, jsonRows } from '../db/json.ts';
import { defineList, newestFirst } from '../db/list.ts';
import { apiKeys } from '../db/schema/index.ts';
import type { OrganizationId, OrganizationScope } from '../db/scope.ts';
import { prepared, rendered } from '../db/statement.ts';
import { ApiError, notFound, validationFailed } from '../errors.ts';
import { hashKey, makeKey, recognisable } from './api-key.ts';
import type { ApiKey, ApiKeyCreate } from './schema.ts';

/** The channel on which instances tell each other whose cached key changed; the payload is the hash in hex. */
export const KEY_CHANNEL = 'api_keys_changed';

const keyFields: Fields<ApiKey> = {
  id: apiKeys.id,
  name: apiKeys.name,
  start: apiKeys.start,
  last4: apiKeys.last4,
  requestsPerMinute: apiKeys.requestsPerMinute,
  createdAt: isoTime(apiKeys.createdAt),
  lastUsedAt: isoTime(apiKeys.lastUsedAt),
  expiresAt: isoTime(apiKeys.expiresAt),
  revokedAt: isoTime(apiKeys.revokedAt),
  replacedBy: apiKeys.replacedBy,
};

const ofOrganization = sql`${apiKeys.organizationId} = ${sql.placeholder('organizationId')}`;
const oneKey = sql`${ofOrganization} and ${apiKeys.id} = ${sql.placeholder('id')}`;

const keyNotFound = (id: string): ApiError => notFound('API_KEY_NOT_FOUND', 'API key', id);

/** A key as authentication knows it. */
export type KnownKey = {
  id: string;
  organizationId: OrganizationId;
  requestsPerMinute: number | null;
  /** Milliseconds since 1970 by the clock of this process, however far the database's is from it. */
  expiresAt: number | null;
};

const findStatement = prepared<Omit<KnownKey, 'expiresAt'> & { lifetime: number | null }, { hash: string }>(
  'find_api_key',
  sql`select ${apiKeys.id} as "id", ${apiKeys.organizationId} as "organizationId",
      ${apiKeys.requestsPerMinute} as "requestsPerMinute",
      (extract(epoch from ${apiKeys.expiresAt} - now()) * 1000)::float8 as "lifetime"
    from ${apiKeys}
    where ${apiKeys.hash} = decode(${sql.placeholder('hash')}, 'hex') and ${apiKeys.revokedAt} is null
      and (${apiKeys.expiresAt} is null or ${apiKeys.expiresAt} > now())`,
);

/**
 * The live key with this hash.
 * @param now the clock of this process: milliseconds since 1970
 */
export async function findKey(db: Queries, hash: string, now = Date.now()): Promise<KnownKey | undefined> {
  const [row] = await db.read(findStatement, { hash });
  if (!row) return undefined;
  const { lifetime, ...key } = row;
  return { ...key, expiresAt: lifetime === null ? null : now + lifetime };
}

/** The organization's keys, newest first, those revoked and expired too. */
export const listApiKeys = defineList<ApiKey>({
  name: 'list_api_keys',
  table: apiKeys,
  fields: keyFields,
  order: [newestFirst(apiKeys.createdAt), newestFirst(apiKeys.id)],
});

type NewKey = { id: string; key: string; hash: string; start: string; last4: string };

function newKey(): NewKey {
  const key = makeKey();
  return { id: newId(), key, hash: hashKey(key), ...recognisable(key) };
}

/** The stored key with the key itself, the one time that it is shown. */
const withSecret = (body: Json<ApiKey>, key: string): Json<ApiKey & { key: string }> =>
  `${String(body).slice(0, -1)},"key":${JSON.stringify(key)}}`;

const issueStatement = prepared<
  { body: Json<ApiKey> },
  Omit<NewKey, 'key'> & {
    organizationId: string;
    name: string;
    requestsPerMinute: number | null;
    expiresAt: string | null;
  }
>(
  'issue_api_key',
  sql`with api_keys as (
      insert into ${apiKeys} (organization_id, id, name, hash, start, last4, requests_per_minute, expires_at)
      values (${sql.placeholder('organizationId')}, ${sql.placeholder('id')}, ${sql.placeholder('name')},
        decode(${sql.placeholder('hash')}, 'hex'), ${sql.placeholder('start')}, ${sql.placeholder('last4')},
        ${sql.placeholder('requestsPerMinute')}, ${sql.placeholder('expiresAt')}::timestamptz)
      returning *)
    ${jsonRows(keyFields, sql`from ${apiKeys}`)}`,
);

/**
 * Issues a key. The answer is the only place that ever shows it.
 * @param now milliseconds since 1970
 * @throws VALIDATION_FAILED when it would have expired already
 */
export async function issueApiKey(
  scope: OrganizationScope,
  input: ApiKeyCreate,
  now = Date.now(),
): Promise<Json<ApiKey & { key: string }>> {
  if (input.expiresAt != null && Date.parse(input.expiresAt) <= now) {
    throw validationFailed([{ path: 'body.expiresAt', message: 'must be in the future' }]);
  }
  const { key, ...stored } = newKey();
  const [row] = await scope.db.write(issueStatement, {
    ...stored,
    organizationId: scope.organizationId,
    name: input.name,
    requestsPerMinute: input.requestsPerMinute ?? null,
    expiresAt: input.expiresAt ?? null,
  });
  if (!row) throw new Error('Issuing a key returned no row.');
  return withSecret(row.body, key);
}

const notifyChanged = sql`select pg_notify(${sql.raw(`'${KEY_CHANNEL}'`)}, encode(hash, 'hex')) from changed`;

const revokeStatement = rendered<ApiKey, { organizationId: string; id: string }>(
  'revoke_api_key',
  sql`with stored as (select ${apiKeys} as record from ${apiKeys} where ${oneKey} for update),
    changed as (
      update ${apiKeys} set revoked_at = now() from stored
      where ${oneKey} and (stored.record).revoked_at is null returning ${apiKeys}.*),
    notified as (${notifyChanged})
    select item.body from (${jsonRows(
      keyFields,
      sql`from (select * from changed union all
        select (record).* from stored where not exists (select from changed)) api_keys`,
    )}) item where (select count(*) from notified) >= 0`,
);

/**
 * Ends a key now, on every instance. Of a revoked key: the same answer again.
 * @throws API_KEY_NOT_FOUND
 */
export async function revokeApiKey(scope: OrganizationScope, id: string): Promise<Json<ApiKey>> {
  const { db, organizationId } = scope;
  const [row] = isId(id) ? await db.write(revokeStatement, { organizationId, id }) : [];
  if (!row) throw keyNotFound(id);
  return row.body;
}

const rotateStatement = prepared<
  { body: Json<ApiKey> },
  Omit<NewKey, 'key'> & { organizationId: string; oldId: string; overlapSeconds: number }
>(
  'rotate_api_key',
  sql`with old as (
      select * from ${apiKeys}
      where ${ofOrganization} and ${apiKeys.id} = ${sql.placeholder('oldId')} and ${apiKeys.revokedAt} is null
        and (${apiKeys.expiresAt} is null or ${apiKeys.expiresAt} > now())
      for update),
    changed as (
      update ${apiKeys} set replaced_by = ${sql.placeholder('id')},
        expires_at = least(${apiKeys.expiresAt}, now() + make_interval(secs => ${sql.placeholder('overlapSeconds')}))
      from old where ${ofOrganization} and ${apiKeys.id} = old.id returning ${apiKeys.hash}),
    notified as (${notifyChanged}),
    api_keys as (
      insert into ${apiKeys} (organization_id, id, name, hash, start, last4, requests_per_minute, expires_at)
      select organization_id, ${sql.placeholder('id')}, name, decode(${sql.placeholder('hash')}, 'hex'), ${sql.placeholder('start')},
        ${sql.placeholder('last4')}, requests_per_minute, expires_at
      from old where (select count(*) from notified) >= 0
      returning *)
    ${jsonRows(keyFields, sql`from ${apiKeys}`)}`,
);

const existsStatement = prepared<{ id: string }, { organizationId: string; id: string }>(
  'api_key_exists',
  sql`select ${apiKeys.id} as "id" from ${apiKeys} where ${oneKey}`,
);

/**
 * Issues a key with the settings of another, which then lives for the overlap, and never longer than it would have.
 * @throws API_KEY_NOT_FOUND, API_KEY_INACTIVE when the old key is revoked or expired
 */
export async function rotateApiKey(
  scope: OrganizationScope,
  oldId: string,
  overlapSeconds: number,
): Promise<Json<ApiKey & { key: string }>> {
  if (!isId(oldId)) throw keyNotFound(oldId);
  const { key, ...stored } = newKey();
  const { organizationId, db } = scope;
  const [row] = await db.write(rotateStatement, { ...stored, organizationId, oldId, overlapSeconds });
  if (row) return withSecret(row.body, key);
  const [old] = await db.read(existsStatement, { organizationId, id: oldId });
  if (!old) throw keyNotFound(oldId);
  throw new ApiError('API_KEY_INACTIVE', 'A revoked or expired key cannot be rotated; issue a new one.');
}

const usageStatement = prepared<unknown, { usage: string }>(
  'save_api_key_usage',
  sql`update ${apiKeys} set last_used_at = used.at
    from jsonb_to_recordset(${sql.placeholder('usage')}::jsonb) as used(organization_id uuid, id uuid, at timestamptz)
    where ${apiKeys.organizationId} = used.organization_id and ${apiKeys.id} = used.id
      and (${apiKeys.lastUsedAt} is null or ${apiKeys.lastUsedAt} < date_trunc('minute', used.at))`,
);

/** Saves when keys were last used, many at once; of one key and minute only the first, whichever instance tells it. */
export async function saveKeyUsage(
  db: Queries,
  usage: Iterable<{ key: KnownKey; at: number }>,
): Promise<void> {
  const rows = [...usage].map(({ key, at }) => ({
    organization_id: key.organizationId,
    id: key.id,
    at: new Date(at).toISOString(),
  }));
  await db.write(usageStatement, { usage: JSON.stringify(rows) });
}
