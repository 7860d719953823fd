import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { OrganizationScope } from '../pool/scope.ts';
import { type Params, prepared } from '../sql/statement.ts';
import type { Resource } from '../tables/resource.ts';
import { tableName } from './view.ts';

/** A value that an organization has of a field, and for an id what people call it. */
export type KnownValue = { value: string; name?: string };

/** The values of each filter whose list an organization makes itself. */
export type KnownValues = Readonly<Record<string, (scope: OrganizationScope) => Promise<KnownValue[]>>>;

/** As many as help a person. */
export const MAX_VALUES = 20;

/**
 * Makes the function that reads which values the visible records have, the first ones in their order. It looks up one after
 * another in the index of the filter: its cost follows the number of values, not of records.
 */
export function defineKnownValues(resource: Resource, column: PgColumn) {
  const { table, visible } = resource;
  const first = ($: Params<{ organizationId: string }>, after: SQL): SQL => sql`
    select ${column} from ${table} where ${table.organizationId} = ${$.organizationId} and ${visible} and ${after}
    order by ${column} limit 1`;
  const statement = prepared(
    `${tableName(resource)}.known_values ${column.name}`,
    ($: Params<{ organizationId: string }>): SQL<KnownValue> => sql`
      with recursive known(value) as (
        (${first($, sql`${column} is not null`)})
        union all
        select (${first($, sql`${column} > known.value`)}) from known where known.value is not null
      )
      select value from known where value is not null limit ${sql.raw(String(MAX_VALUES))}`,
  );
  return ({ db, organizationId }: OrganizationScope): Promise<KnownValue[]> =>
    db.read(statement, { organizationId });
}
