import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { LostRace, type OrganizationScope } from '../pool/scope.ts';
import type { Columns } from '../sql/field-columns.ts';
import { isId } from '../sql/ids.ts';
import { type Fields, type Json, jsonRow } from '../sql/json.ts';
import { assignments, columnList, rowValues, type Storable, valueList } from '../sql/row.ts';
import { nameOfParts, type Params, prepared, type Statement, unprepared } from '../sql/statement.ts';
import type { Resource, TenantTable } from '../tables/resource.ts';
import { defineGet, getStatement } from './get.ts';
import { bodyOf, missing, type RecordKey, recordOf, tableName, type View } from './view.ts';

/**
 * Writes of one record, one statement each, and the get of what was created. Triggers move `updated_at`, drop what changes
 * nothing, and keep counts and search rows. A write answers what the next GET answers.
 */

export type Body<T> = { body: Json<T> };

/**
 * Makes the function that creates a record of these columns, under an id that the caller makes. Not by what the insert returns: a
 * cluster refuses subselects there. It throws LostRace where a trigger drops the record.
 */
export function defineCreate<T, Name extends string>(
  view: View<T>,
  columns: Columns<Name>,
  name = `${tableName(view)}.create`,
) {
  const insert = prepared(
    name,
    ($: Params<RecordKey>) => sql`
      insert into ${view.table} (organization_id, id, ${columnList(columns)})
      values (${$.organizationId}, ${$.id}, ${valueList(columns)})`,
  );
  // Also a record that somebody has archived in between.
  const get = getStatement({ ...view, visible: sql`true` }, `${name}_get`);
  return async <Input extends object>(
    { db, organizationId }: OrganizationScope,
    id: string,
    input: Storable<Input, Name>,
  ): Promise<Json<T>> => {
    const values = { ...rowValues(columns, input), organizationId, id };
    const [row] = await db.writeAndRead(insert, get, values);
    if (!row) throw new LostRace('A trigger dropped the record.');
    return row.body;
  };
}

/** Each connection prepares the statements of so many sets of fields; those of others are parsed at each run. */
const PREPARED_SETS = 64;

/**
 * Makes the function that changes the fields which a body has; null clears one. Values equal to the stored ones change
 * nothing. It throws the resource's not-found.
 */
export function defineUpdate<T, Name extends string>(
  view: View<T>,
  columns: Columns<Name>,
  name = `${tableName(view)}.update`,
  get = defineGet(view),
) {
  const statements = new Map<string, Statement<Body<T>, RecordKey>>();
  const allFields = Object.keys(columns) as Name[];

  function compose(fields: readonly Name[]): Statement<Body<T>, RecordKey> {
    const chosen = Object.fromEntries(fields.map((field) => [field, columns[field]])) as Columns<Name>;
    const make = statements.size < PREPARED_SETS ? prepared : unprepared;
    return make(
      fields.length === allFields.length ? name : nameOfParts([name, ...fields]),
      ($: Params<RecordKey>) => sql<Body<T>>`
        update ${view.table} set ${assignments(chosen)} where ${recordOf(view, $)} returning ${bodyOf(view)} as body`,
      { isVariant: statements.size > 0 },
    );
  }

  function statementFor(fields: readonly Name[]): Statement<Body<T>, RecordKey> {
    const key = fields.join();
    const statement = statements.get(key) ?? compose(fields);
    if (statements.size < PREPARED_SETS) statements.set(key, statement);
    return statement;
  }

  statementFor(allFields);

  return async <Input extends object>(
    scope: OrganizationScope,
    id: string,
    input: Storable<Input, Name>,
  ): Promise<Json<T>> => {
    const fields = allFields.filter(
      (field) => (input as Partial<Record<Name, unknown>>)[field] !== undefined,
    );
    if (!isId(id) || fields.length === 0) return get(scope, id);
    const { db, organizationId } = scope;
    const [row] = await db.write(statementFor(fields), { ...rowValues(columns, input), organizationId, id });
    // No row: nothing differs, or there is no such record.
    return row?.body ?? get(scope, id);
  };
}

export type Archived = { id: string; archivedAt: string };

/**
 * Makes the function that archives a record: it leaves lists and lookups. It throws the resource's not-found, also for a record
 * that is archived already.
 * @param fields of the answer
 */
export function defineArchive<T = Archived>(
  resource: Resource<TenantTable & { archivedAt: PgColumn }>,
  fields = { id: resource.table.id, archivedAt: resource.table.archivedAt } as unknown as Fields<T>,
) {
  const { table } = resource;
  const statement = prepared(
    `${tableName(resource)}.archive`,
    ($: Params<RecordKey>): SQL<Body<T>> => sql`
      update ${table} set archived_at = now() where ${recordOf(resource, $)} returning ${jsonRow(fields)} as body`,
  );
  return async ({ db, organizationId }: OrganizationScope, id: string): Promise<Json<T>> => {
    const [row] = isId(id) ? await db.write(statement, { organizationId, id }) : [];
    if (!row) throw missing(resource, id);
    return row.body;
  };
}
