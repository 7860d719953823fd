import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { OrganizationScope } from '../run/scope.ts';
import type { Columns } from '../sql/field-columns.ts';
import { isId } from '../sql/ids.ts';
import type { Json } from '../sql/json.ts';
import { nextUpdatedAt, placeholdersOf, rowValues, type Storable } from '../sql/row.ts';
import {
  columnName,
  nameOfParts,
  type Params,
  prepared,
  type Statement,
  type Step,
  step,
  unprepared,
} from '../sql/statement.ts';
import { lock } from './get.ts';
import { getBody, type KeptView, refresh } from './read-row.ts';
import { isSearched, putSearchRow, type Searched } from './search-row.ts';
import { missing, type RecordKey, recordOf, tableName } from './view.ts';

/** A record that clients create and change: with a read row and a search row. */
export type WrittenView<T> = KeptView<T> & Searched;

/**
 * The steps that end every write of a record: searches see it, reads see it, and the last step reads its body. So a write
 * has the answer of the next GET.
 */
export function defineEnd<T>(view: WrittenView<T>) {
  const [search, render, get] = [putSearchRow(view), refresh(view), getBody(view)];
  return (key: RecordKey, isSearchedNow = true) =>
    [
      ...(isSearchedNow ? [step(search, key)] : []),
      step(render, key),
      step(get, key),
    ] as readonly Step[] as readonly [...Step[], Step<{ body: Json<T> }>];
}

/** Sends the steps of a write, whose last one reads the body. Undefined when there is no such record. */
export async function writeRecord<T>(
  { db }: OrganizationScope,
  steps: readonly [...Step[], Step<{ body: Json<T> }>],
): Promise<Json<T> | undefined> {
  const answers: readonly unknown[][] = await db.writeTogether(steps);
  const [row] = answers.at(-1) as { body: Json<T> }[];
  return row?.body;
}

/** Each connection prepares the statements of so many sets of fields; those of others are parsed at each run. */
const PREPARED_SETS = 64;

/**
 * Makes the function that gives the step which changes these fields of a record: only where a value differs, and only then
 * `updatedAt` moves. PostgreSQL computes the searched text anew only where the statement names a field of it.
 */
function defineChange<T, Name extends string>(view: KeptView<T>, columns: Columns<Name>, name: string) {
  type Values = RecordKey & Record<Name, unknown>;
  const statements = new Map<string, Statement<unknown, Values>>();
  const allFields = Object.keys(columns) as Name[];
  const { table } = view;

  function compose(fields: readonly Name[]): Statement<unknown, Values> {
    const chosen = Object.fromEntries(fields.map((field) => [field, columns[field]])) as Columns<Name>;
    const make = statements.size < PREPARED_SETS ? prepared : unprepared;
    return make(
      fields.length === allFields.length ? name : nameOfParts([name, ...fields]),
      ($: Params<Values>) => {
        const values: SQL[] = Object.values(placeholdersOf($, chosen));
        const assignments = (Object.values(chosen) as PgColumn[]).map(
          (column, index) => sql`${sql.identifier(columnName(column))} = ${values[index]}`,
        );
        return sql`update ${table} set ${sql.join(assignments, sql`, `)}, updated_at = ${nextUpdatedAt(table.updatedAt)}
          where ${recordOf(view, $)} and row(${sql.join(Object.values(chosen), sql`, `)}) is distinct from row(${sql.join(values, sql`, `)})`;
      },
      { isVariant: statements.size > 0 },
    ) as Statement<unknown, Values>;
  }

  statements.set(allFields.join(), compose(allFields));

  return <Body extends object>(key: RecordKey, input: Storable<Body, Name>): Step[] => {
    const fields = allFields.filter(
      (field) => (input as Partial<Record<Name, unknown>>)[field] !== undefined,
    );
    if (fields.length === 0) return [];
    const statement = statements.get(fields.join()) ?? compose(fields);
    if (statements.size < PREPARED_SETS) statements.set(fields.join(), statement);
    return [step(statement, { ...rowValues(columns, input), ...key } as Values)];
  };
}

/**
 * Makes the function that changes the fields which a body has; null clears one. Values equal to the stored ones change
 * nothing. It throws the resource's not-found.
 */
export function definePatch<T, Name extends string>(
  view: WrittenView<T>,
  columns: Columns<Name>,
  name = `${tableName(view)}.update`,
) {
  const lockStatement = lock(view);
  const change = defineChange(view, columns, name);
  const end = defineEnd(view);

  /** @param before steps of the same write, under the record's lock */
  return async <Body extends object>(
    scope: OrganizationScope,
    id: string,
    input: Storable<Body, Name>,
    before: readonly Step[] = [],
  ): Promise<Json<T>> => {
    if (!isId(id)) throw missing(view, id);
    const key = { organizationId: scope.organizationId, id };
    const steps = [step(lockStatement, key), ...before, ...change(key, input)];
    const body = await writeRecord<T>(scope, [
      ...steps,
      ...end(key, isSearched(view.searchRow, Object.keys(input))),
    ]);
    if (body === undefined) throw missing(view, id);
    return body;
  };
}
