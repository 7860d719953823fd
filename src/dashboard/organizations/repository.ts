import { sql } from 'drizzle-orm';
import type { Queries } from '../../db/client.ts';
import { isId } from '../../db/ids.ts';
import { type Fields, isoTime, type Json, jsonRows } from '../../db/json.ts';
import type { Page } from '../../db/list.ts';
import { organizations } from '../../db/schema/index.ts';
import { rendered } from '../../db/statement.ts';
import { notFound } from '../../errors.ts';
import type { Organization } from './schema.ts';

const organizationFields: Fields<Organization> = {
  id: organizations.id,
  name: organizations.name,
  createdAt: isoTime(organizations.createdAt),
};

const listStatement = rendered<Page<Organization>, { limit: number; offset: number }>(
  'list_organizations',
  sql`select concat(
    '{"data":[',
    (select string_agg(organization.body, ',') from (${jsonRows(
      organizationFields,
      sql`from ${organizations} order by ${organizations.createdAt}, ${organizations.id}
        limit ${sql.placeholder('limit')} offset ${sql.placeholder('offset')}`,
    )}) organization),
    '],"pagination":{"limit":', ${sql.placeholder('limit')}::int, ',"offset":', ${sql.placeholder('offset')}::int,
    ',"total":', (select count(*) from ${organizations}), '}}') as body`,
);

/** All organizations, oldest first. */
export async function listOrganizations(
  db: Queries,
  query: { limit: number; offset: number },
): Promise<Json<Page<Organization>>> {
  const [row] = await db.read(listStatement, query);
  if (!row) throw new Error('Listing organizations returned no row.');
  return row.body;
}

const getStatement = rendered<Organization, { id: string }>(
  'get_organization',
  jsonRows(
    organizationFields,
    sql`from ${organizations} where ${organizations.id} = ${sql.placeholder('id')}`,
  ),
);

/** @throws ORGANIZATION_NOT_FOUND */
export async function getOrganization(db: Queries, id: string): Promise<Json<Organization>> {
  const [row] = isId(id) ? await db.read(getStatement, { id }) : [];
  if (!row) throw notFound('ORGANIZATION_NOT_FOUND', 'organization', id);
  return row.body;
}
