import { and, eq, gt, isNull, or, sql } from 'drizzle-orm';
import { ApiError, invalid } from '../contract/errors.ts';
import { LATEST } from '../contract/fields.ts';
import {
  apiKeys,
  columns,
  columnsOf,
  databaseNow,
  defineCreate,
  defineGet,
  defineList,
  defineLock,
  defineUpdate,
  isId,
  issuedKeys,
  type Json,
  keyIs,
  newestFirst,
  newId,
  type OrganizationId,
  type OrganizationScope,
  organizations,
  type Params,
  parseJson,
  prepared,
  type Queries,
  qb,
  type RecordKey,
  recordFilters,
  recordNotFound,
  returningJson,
  toJson,
  viewOf,
} from '../db/index.ts';
import { generateKey, hashKey } from './api-key.ts';
import { ApiKey, ApiKeyCreate, ApiKeyListQuery, type ApiKeyRotate, ApiKeyUpdate } from './schema.ts';

const keyView = viewOf(issuedKeys, ApiKey, {});

const isActive = and(
  isNull(apiKeys.revokedAt),
  or(isNull(apiKeys.expiresAt), gt(apiKeys.expiresAt, sql`now()`)),
);

const isCurrent = and(isActive, isNull(apiKeys.replacedBy));

const isUsageDue = sql<boolean>`(${apiKeys.lastUsedAt} is null or ${apiKeys.lastUsedAt} < now() - interval '1 minute')`;

const findStatement = prepared('api_keys.find', ($: Params<{ hash: string }>) =>
  qb
    .select(
      columns({
        id: apiKeys.id,
        organizationId: sql<OrganizationId>`${apiKeys.organizationId}`,
        access: sql<ApiKey['access']>`${apiKeys.access}`,
        resources: apiKeys.resources,
        requestsPerMinute: apiKeys.requestsPerMinute,
        // Milliseconds that the key still lives.
        lifetime: sql<number>`coalesce(extract(epoch from ${apiKeys.expiresAt} - now()) * 1000, 'infinity')::float8`,
        isUsageDue,
      }),
    )
    .from(apiKeys)
    .innerJoin(organizations, eq(organizations.id, apiKeys.organizationId))
    .where(and(eq(apiKeys.hash, $.hash), isActive, isNull(organizations.closedAt))),
);

/** The active key of an open organization. */
export async function findKey(db: Queries, hash: string) {
  const [key] = await db.read(findStatement, { hash: `\\x${hash}` });
  return key;
}
export type KnownKey = NonNullable<Awaited<ReturnType<typeof findKey>>>;

export const listApiKeys = defineList('api_keys.list', keyView, {
  query: ApiKeyListQuery,
  order: newestFirst(apiKeys, apiKeys.createdAt),
  filters: { ...recordFilters(issuedKeys), active: { where: () => sql`${isCurrent}` } },
});

/** @throws API_KEY_NOT_FOUND */
export const getApiKey = defineGet('api_keys.get', keyView);

/** @throws API_KEY_NOT_FOUND */
export const lockApiKey = defineLock(apiKeys, getApiKey);

const { hash, start, last4 } = apiKeys;
const createKey = defineCreate('api_keys.issue', keyView, {
  ...columnsOf(ApiKeyCreate, apiKeys),
  hash,
  start,
  last4,
});

async function insertKey(
  scope: OrganizationScope,
  { access = 'write', ...settings }: ApiKeyCreate,
  id = newId(),
) {
  const key = generateKey();
  // `start`: the prefix and six more characters.
  const stored = { hash: `\\x${hashKey(key)}`, start: key.slice(0, 11), last4: key.slice(-4) };
  const issued = await createKey(scope, id, { ...settings, access, ...stored });
  return toJson({ ...parseJson(issued), key });
}

async function rejectPast(scope: OrganizationScope, expiresAt: string | null | undefined): Promise<void> {
  if (expiresAt && Date.parse(expiresAt) <= (await databaseNow(scope)))
    throw invalid('body.expiresAt', 'must be in the future');
}

/** @throws VALIDATION_FAILED if `expiresAt` is in the past */
export async function issueApiKey(scope: OrganizationScope, input: ApiKeyCreate) {
  await rejectPast(scope, input.expiresAt);
  return insertKey(scope, input);
}

const changeSettings = defineUpdate('api_keys.update', keyView, columnsOf(ApiKeyUpdate, apiKeys), getApiKey);

/** @throws API_KEY_NOT_FOUND, API_KEY_INACTIVE for a new expiry of a rotated key, VALIDATION_FAILED for one in the past */
export async function updateApiKey(scope: OrganizationScope, id: string, input: ApiKeyUpdate) {
  const { expiresAt } = input;
  if (expiresAt === undefined) return changeSettings(scope, id, input);
  return scope.transaction(async (within) => {
    const stored = parseJson(await lockApiKey(within, id));
    if (expiresAt !== stored.expiresAt) {
      await rejectPast(within, expiresAt);
      if (stored.replacedBy !== null) throw new ApiError('API_KEY_INACTIVE');
    }
    return changeSettings(within, id, input);
  });
}

const revokeStatement = prepared('api_keys.revoke', ($: Params<RecordKey>) => {
  const revokedAt = sql`least(${apiKeys.revokedAt}, now())`;
  return returningJson(keyView, qb.update(apiKeys).set({ revokedAt }).where(keyIs(apiKeys, $)));
});

/** @throws API_KEY_NOT_FOUND */
export async function revokeApiKey(scope: OrganizationScope, id: string) {
  const [row] = isId(id) ? await scope.write(revokeStatement, { id }) : [];
  if (!row) throw recordNotFound(issuedKeys, id);
  return row.body;
}

const replaceStatement = prepared(
  'api_keys.replace',
  ($: Params<RecordKey & { replacedBy: string; overlapSeconds: number }>) =>
    qb
      .update(apiKeys)
      .set({
        replacedBy: sql`${$.replacedBy}`,
        expiresAt: sql`least(${apiKeys.expiresAt}, now() + make_interval(secs => ${$.overlapSeconds}))`,
      })
      .where(and(keyIs(apiKeys, $), isCurrent))
      .returning(columns({ id: apiKeys.id })),
);

/** Gives the new key the whole lifetime of the old one. */
const renewedExpiry = ({ createdAt, expiresAt }: ApiKey, now: number): string | null =>
  expiresAt && new Date(Math.min(LATEST, now + Date.parse(expiresAt) - Date.parse(createdAt))).toISOString();

/**
 * Issues a key with the settings of the old one, which stays active for the overlap, but not beyond its own expiry.
 * @param expiresAt of the new key; undefined: the lifetime of the old key; null: never
 * @throws API_KEY_NOT_FOUND, API_KEY_INACTIVE if the old key is revoked, expired or already rotated
 */
export const rotateApiKey = (
  scope: OrganizationScope,
  id: string,
  { overlapSeconds, expiresAt }: ApiKeyRotate,
): Promise<Json<ApiKey & { key: string }>> =>
  scope.transaction(async (within) => {
    await rejectPast(within, expiresAt);
    const old = parseJson(await lockApiKey(within, id));
    const replacedBy = newId();
    const [replaced] = await within.write(replaceStatement, { id, replacedBy, overlapSeconds });
    if (!replaced) throw new ApiError('API_KEY_INACTIVE');
    const end = expiresAt === undefined ? renewedExpiry(old, await databaseNow(within)) : expiresAt;
    return insertKey(within, { ...old, expiresAt: end }, replacedBy);
  });

const usageStatement = prepared('api_keys.save_usage', ($: Params<RecordKey>) =>
  qb
    .update(apiKeys)
    .set({ lastUsedAt: sql`now()` })
    .where(and(keyIs(apiKeys, $), isUsageDue)),
);

/** Writes `last_used_at` at most once per key and minute, over all instances. */
export async function saveKeyUsage(db: Queries, { organizationId, id }: KnownKey): Promise<void> {
  await db.write(usageStatement, { organizationId, id });
}
