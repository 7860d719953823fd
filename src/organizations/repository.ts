import { getTableName, type SQL, sql } from 'drizzle-orm';
import type { Page } from '../db/define/list.ts';
import type { Database } from '../db/run/client.ts';
import { type Caller, type OrganizationScope, type Queries, scopeTo } from '../db/run/scope.ts';
import {
  channelMessages,
  conversations,
  customers,
  idempotencyKeys,
  liveCounts,
  opportunities,
  organizations,
  pipelineStages,
  products,
  quoteAttachments,
  quotes,
  teamMembers,
  whatsappMessages,
} from '../db/schema/index.ts';
import { fieldsOf } from '../db/sql/field-columns.ts';
import { isId, newId } from '../db/sql/ids.ts';
import { type Json, jsonRow, parseJson, selectList } from '../db/sql/json.ts';
import { type Params, prepared, unprepared } from '../db/sql/statement.ts';
import { notFound } from '../errors.ts';
import { Organization } from './schema.ts';

const fields = fieldsOf(Organization, organizations);

const createStatement = prepared(
  'organizations.create',
  ($: Params<{ id: string; name: string }>) => sql`
    insert into ${organizations} (id, name) values (${$.id}, ${$.name})`,
);

const getStatement = prepared(
  'organizations.get',
  ($: Params<{ id: string }>): SQL<{ body: Json<Organization> }> => sql`
    select ${jsonRow(fields)} as body from ${organizations} where ${organizations.id} = ${$.id}`,
);

export const createOrganization = (db: Queries, name: string, id = newId()): Promise<Organization> =>
  db.transaction(async (within) => {
    await within.write(createStatement, { id, name });
    return parseJson(await getOrganization(within, id));
  });

/** @throws ORGANIZATION_NOT_FOUND */
export async function getOrganization(db: Queries, id: string): Promise<Json<Organization>> {
  const [row] = isId(id) ? await db.read(getStatement, { id }) : [];
  if (!row) throw notFound('ORGANIZATION_NOT_FOUND', 'organization', id);
  return row.body;
}

/**
 * Opens the scope of an organization that the dashboard's path or the command line names.
 * @throws ORGANIZATION_NOT_FOUND
 */
export async function scopeOf(db: Database, id: string, caller?: Caller): Promise<OrganizationScope> {
  await getOrganization(db.for(id, caller), id);
  return scopeTo(db, id.toLowerCase(), caller);
}

/** Answers that belong to no organization, such as its creation, are kept under an id that none has. */
const NO_ORGANIZATION = '00000000-0000-0000-0000-000000000000';

/** The scope of the dashboard's requests outside of any organization. */
export const serviceScope = (db: Database): OrganizationScope => scopeTo(db, NO_ORGANIZATION);

const allStatement = prepared(
  'organizations.all',
  (_: Params<Record<never, never>>): SQL<Organization> => sql`
    select ${selectList(fields)} from ${organizations} order by ${organizations.createdAt}, ${organizations.id}`,
);

/** Oldest first. */
export const allOrganizations = (db: Queries): Promise<Organization[]> => db.read(allStatement, {});

const listStatement = prepared(
  'organizations.list',
  (
    $: Params<{ limit: number; offset: number }>,
  ): SQL<{ body: Json<Page<Organization>> }> => sql`select concat(
    '{"data":[',
    (select string_agg(page.body, ',') from (
      select ${jsonRow(fields)} as body from ${organizations} order by ${organizations.createdAt}, ${organizations.id}
      limit ${$.limit} offset ${$.offset}) page),
    '],"pagination":{"limit":', ${$.limit}::int, ',"offset":', ${$.offset}::int,
    ',"total":', (select count(*) from ${organizations}), '}}') as body`,
);

/** A page of all organizations, oldest first. */
export async function listOrganizations(
  db: Queries,
  query: { limit: number; offset: number },
): Promise<Json<Page<Organization>>> {
  const [row] = await db.read(listStatement, query);
  if (!row) throw new Error('Listing organizations returned no row.');
  return row.body;
}

/** The tables of an organization's records, each before those that it refers to. Triggers and keys take what follows from a record. */
const RECORDS = [
  quoteAttachments,
  quotes,
  whatsappMessages,
  channelMessages,
  conversations,
  opportunities,
  customers,
  products,
  pipelineStages,
  teamMembers,
];

const hasRecordsStatement = unprepared(
  'organizations.has_records',
  ($: Params<{ organizationId: string }>) => {
    const parts = RECORDS.map(
      (table) => sql`exists (select from ${table} where ${table.organizationId} = ${$.organizationId})`,
    );
    return sql<{ found: boolean }>`select ${sql.join(parts, sql` or `)} as found`;
  },
);

/** Whether the organization has a record of any kind, archived ones too. */
export async function hasRecords({ db, organizationId }: OrganizationScope): Promise<boolean> {
  const [row] = await db.read(hasRecordsStatement, { organizationId });
  return row?.found === true;
}

const clearStatements = [...RECORDS, liveCounts, idempotencyKeys].map((table) =>
  unprepared(
    `organizations.clear_${getTableName(table)}`,
    ($: Params<{ organizationId: string }>) =>
      sql`delete from ${table} where ${table.organizationId} = ${$.organizationId}`,
    { isVariant: true },
  ),
);

/** Removes all records of the organization, and what is kept of its requests. Its keys stay. */
export async function clearOrganization({ db, organizationId }: OrganizationScope): Promise<void> {
  await db.transaction(async ({ write }) => {
    for (const statement of clearStatements) await write(statement, { organizationId });
  });
}
