import { sql } from 'drizzle-orm';
import type { Queries } from '../db/client.ts';
import { isId, newId } from '../db/ids.ts';
import { organizations } from '../db/schema/index.ts';
import { type OrganizationScope, scopeTo } from '../db/scope.ts';
import { prepared } from '../db/statement.ts';
import { notFound } from '../errors.ts';

export type Organization = { id: string; name: string; createdAt: Date };

const columns = sql`${organizations.id} as "id", ${organizations.name} as "name", ${organizations.createdAt} as "createdAt"`;

const createStatement = prepared<Organization, { id: string; name: string }>(
  'create_organization',
  sql`insert into ${organizations} (id, name) values (${sql.placeholder('id')}, ${sql.placeholder('name')})
    returning ${columns}`,
);

export async function createOrganization(db: Queries, name: string, id = newId()): Promise<Organization> {
  const [row] = await db.write(createStatement, { id, name });
  if (!row) throw new Error('Creating an organization returned no row.');
  return row;
}

const findStatement = prepared<Organization, { id: string }>(
  'find_organization',
  sql`select ${columns} from ${organizations} where ${organizations.id} = ${sql.placeholder('id')}`,
);

/** Opens the scope of an organization that is named from outside: the dashboard's path, the command line. */
export async function scopeOf(db: Queries, id: string): Promise<OrganizationScope> {
  const [row] = isId(id) ? await db.read(findStatement, { id }) : [];
  if (!row) throw notFound('ORGANIZATION_NOT_FOUND', 'organization', id);
  return scopeTo(db, row.id);
}

const listStatement = prepared<Organization, Record<string, never>>(
  'all_organizations',
  sql`select ${columns} from ${organizations} order by ${organizations.createdAt}, ${organizations.id}`,
);

export const allOrganizations = (db: Queries): Promise<Organization[]> => db.read(listStatement, {});
