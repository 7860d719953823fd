import { sql } from 'drizzle-orm';
import { LostRace, type OrganizationScope } from '../pool/scope.ts';
import type { Columns } from '../sql/field-columns.ts';
import { isId } from '../sql/ids.ts';
import type { Json } from '../sql/json.ts';
import { assignments, columnList, rowValues, type Storable, valueList } from '../sql/row.ts';
import { nameOfParts, type Params, prepared, statementsBySet, unprepared } from '../sql/statement.ts';
import { defineGet } from './get.ts';
import { type RecordKey, recordOf, tableName, type View, written } from './view.ts';

export type Body<T> = { body: Json<T> };

/** The function throws LostRace if a trigger drops the record. */
export function defineCreate<T, Name extends string>(
  view: View<T>,
  columns: Columns<Name>,
  name = `${tableName(view)}.create`,
) {
  const statement = prepared(
    name,
    ($: Params<RecordKey>) => sql<Body<T>>`
      with written as (insert into ${view.table} (organization_id, id, ${columnList(columns)})
        values (${$.organizationId}, ${$.id}, ${valueList(columns)}) returning *) ${written(view)}`,
  );
  return async <Input extends object>(
    { db, organizationId }: OrganizationScope,
    id: string,
    input: Storable<Input, Name>,
  ): Promise<Json<T>> => {
    const [row] = await db.write(statement, { ...rowValues(columns, input), organizationId, id });
    if (!row) throw new LostRace('A trigger dropped the record.');
    return row.body;
  };
}

/** The function changes the fields of its input; null clears one. It throws the resource's not-found error. */
export function defineUpdate<T, Name extends string>(
  view: View<T>,
  columns: Columns<Name>,
  name = `${tableName(view)}.update`,
  get = defineGet(view),
) {
  const allFields = Object.keys(columns) as Name[];

  const statementFor = statementsBySet((fields: readonly Name[], isOnce) => {
    const chosen = Object.fromEntries(fields.map((field) => [field, columns[field]])) as Columns<Name>;
    const make = isOnce ? unprepared : prepared;
    return make(
      fields.length === allFields.length ? name : nameOfParts([name, ...fields]),
      ($: Params<RecordKey>) => sql<Body<T>>`
        with written as (update ${view.table} set ${assignments(chosen)} where ${recordOf(view, $)} returning *) ${written(view)}`,
      { isOnce },
    );
  });

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
    // No row: nothing differs, or the record does not exist.
    return row?.body ?? get(scope, id);
  };
}
