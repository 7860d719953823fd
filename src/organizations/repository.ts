import { and, eq, type SQL, sql } from 'drizzle-orm';
import { LruMap } from 'toad-cache';
import type { z } from 'zod';
import { ApiError } from '../contract/errors.ts';
import {
  columns,
  type Fields,
  fieldsOf,
  isId,
  isoTime,
  type Json,
  jsonOf,
  jsonRow,
  newId,
  type OrganizationScope,
  organizations,
  type Page,
  type PageJson,
  type Params,
  parseJson,
  prepared,
  type Queries,
  qb,
  RETENTION,
  returningJson,
  selectJson,
  teamMembers,
  unprepared,
} from '../db/index.ts';
import { ClosedOrganization, Organization, type OrganizationListQuery } from './schema.ts';

/** Closed for so long that it cannot be reopened. */
export const isPastRetention = sql`${organizations.closedAt} <= now() - ${RETENTION}`;

/** A claim for the purge and a reopening both update the row, so only one of them succeeds. */
export const isFound = sql`${organizations.purgeBeganAt} is null and (${isPastRetention}) is not true`;

const purgeAt = isoTime(sql`(${organizations.closedAt} + ${RETENTION})`);
const view = { table: organizations, fields: fieldsOf(Organization, organizations, { purgeAt }) };

type Key = { id: string };

const organizationIs = ($: Params<Key>) => and(eq(organizations.id, $.id), isFound);

const createStatement = prepared('organizations.create', ({ id, name }: Params<Key & { name: string }>) =>
  returningJson(view, qb.insert(organizations).values({ id, name })),
);

const getStatement = prepared('organizations.get', ($: Params<Key>) =>
  selectJson(view.fields, organizations, organizationIs($)),
);

/** @throws ORGANIZATION_NOT_FOUND */
function rowOf<Row>([row]: Row[], id: string): Row {
  if (row === undefined) throw new ApiError('ORGANIZATION_NOT_FOUND', { id });
  return row;
}

export async function createOrganization(db: Queries, name: string, id = newId()): Promise<Organization> {
  return parseJson(rowOf(await db.write(createStatement, { id, name }), id).body);
}

/** @throws ORGANIZATION_NOT_FOUND */
export async function getOrganization(db: Pick<Queries, 'read'>, id: string): Promise<Json<Organization>> {
  return rowOf(isId(id) ? await db.read(getStatement, { id }) : [], id).body;
}

const stateStatement = prepared(
  'organizations.state',
  ($: Params<Key>) =>
    qb
      .select(columns({ isClosed: sql<boolean>`${organizations.closedAt} is not null` }))
      .from(organizations)
      .where(organizationIs($)),
  { isShort: true },
);

/** Another instance sees a closing within a second, as it does for keys: nearly no request asks. */
const OPEN_MS = 900;
const openUntil = new LruMap<number>(1_000);

/** @throws ORGANIZATION_NOT_FOUND; ORGANIZATION_CLOSED if it must be open */
export async function checkOrganization(scope: OrganizationScope, needsOpen: boolean) {
  const { organizationId: id } = scope;
  const now = performance.now();
  if (now < (openUntil.get(id) ?? 0)) return;
  const { isClosed } = rowOf(isId(id) ? await scope.read(stateStatement, { id }) : [], id);
  if (needsOpen && isClosed) throw new ApiError('ORGANIZATION_CLOSED');
  if (!isClosed) openUntil.set(id, now + OPEN_MS);
}

const lockOrganizationStatement = prepared('organizations.lock', ($: Params<Key>) =>
  qb.select({}).from(organizations).where(eq(organizations.id, $.id)).for('no key update'),
);

export async function lockOrganization(scope: OrganizationScope, id: string): Promise<Json<Organization>> {
  await scope.write(lockOrganizationStatement, { id });
  return getOrganization(scope, id);
}

const renameStatement = prepared('organizations.rename', ($: Params<Key & { name: string | null }>) =>
  returningJson(
    view,
    qb
      .update(organizations)
      .set({ name: sql`coalesce(${$.name}, ${organizations.name})` })
      .where(organizationIs($)),
  ),
);

/** @throws ORGANIZATION_NOT_FOUND */
export async function updateOrganization(
  scope: OrganizationScope,
  id: string,
  { name = null }: { name?: string | null | undefined },
): Promise<Json<Organization>> {
  return rowOf(await scope.write(renameStatement, { id, name }), id).body;
}

function defineClosedAt<T>(name: string, fields: Fields<T>, closedAt: SQL) {
  const statement = prepared(name, ($: Params<Key>) =>
    returningJson(
      { table: organizations, fields },
      qb.update(organizations).set({ closedAt }).where(organizationIs($)),
    ),
  );
  return async (scope: OrganizationScope): Promise<Json<T>> => {
    const { organizationId: id } = scope;
    const { body } = rowOf(await scope.write(statement, { id }), id);
    openUntil.delete(id);
    return body;
  };
}

/**
 * Closes the organization. If it is closed already, nothing changes.
 * @throws ORGANIZATION_NOT_FOUND
 */
export const closeOrganization = defineClosedAt(
  'organizations.close',
  fieldsOf(ClosedOrganization, organizations, { closedAt: organizations.closedAt, purgeAt }),
  sql`least(${organizations.closedAt}, now())`,
);

/**
 * Reopens a closed organization. If it is open already, nothing changes.
 * @throws ORGANIZATION_NOT_FOUND also after its retention
 */
export const reopenOrganization = defineClosedAt('organizations.reopen', view.fields, sql`null`);

type OrganizationQuery = Record<
  'query' | 'userId' | 'createdSince' | 'createdBefore',
  string | null | undefined
> & { limit: number; offset: number; ids: string[] | null };

/** An account is an active member of few organizations. */
const listStatement = unprepared(
  'organizations.list',
  ($: Params<OrganizationQuery>): SQL<{ text: string; total: number }> => sql`with found as materialized (
      select ${organizations.id} as found_id from ${organizations} where ${isFound}
        and (${$.ids}::uuid[] is null or ${organizations.id} = any(${$.ids}))
        and ${organizations.createdAt} >= coalesce(${$.createdSince}::timestamptz, '-infinity')
        and ${organizations.createdAt} < coalesce(${$.createdBefore}::timestamptz, 'infinity')
        and (${$.query}::text is null or fold_text(${organizations.name}) like contains_pattern(${$.query}))
        and (${$.userId}::text is null or ${organizations.id} in (
          select ${teamMembers.organizationId} from ${teamMembers}
          where ${teamMembers.userId} = ${$.userId} and ${teamMembers.archivedAt} is null)))
    select total::float8, concat(
    '{"data":[',
    (select string_agg(page.body::text, ',') from (
      select ${jsonRow(view.fields)} as body from ${organizations} where ${organizations.id} in (select found_id from found)
      order by ${organizations.createdAt}, ${organizations.id}
      limit ${$.limit} offset ${$.offset}) page),
    '],"pagination":{"limit":', ${$.limit}::int, ',"offset":', ${$.offset}::int,
    ',"total":', total, '}}') as text
    from (select count(*) as total from found) counted`,
);

export async function listOrganizations(
  db: Queries,
  { ids, ...sent }: z.infer<typeof OrganizationListQuery>,
): Promise<PageJson<Organization>> {
  const none = { query: null, userId: null, createdSince: null, createdBefore: null };
  const [row] = await db.read(listStatement, {
    ...none,
    ...sent,
    ids: ids?.split(',').map((id) => id.trim()) ?? null,
  });
  if (!row) throw new Error('Listing organizations returned no row.');
  return Object.assign(jsonOf<Page<Organization>>(row.text), { total: row.total });
}
