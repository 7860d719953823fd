import { getTableName } from 'drizzle-orm';
import { type Columns, hasValues, placeholdersOf, rowValues, type Storable } from '../fields.ts';
import { isId } from '../ids.ts';
import type { Json } from '../json.ts';
import { ContactTaken, type OrganizationScope } from '../pool/scope.ts';
import { as, body, qb, type RecordKey, recordIs, type View, written } from '../query.ts';
import { nameOfParts, type Params, prepared, statementsBySet } from '../statement.ts';
import { recordNotFound } from '../tables/resource.ts';
import { defineGet } from './get.ts';

/** The function throws ContactTaken if a trigger drops the record. */
export function defineCreate<T, Name extends string>(
  view: View<T>,
  columns: Columns<Name>,
  name = `${getTableName(view.table)}.create`,
) {
  const statement = prepared(name, ({ organizationId, id }: Params<RecordKey>) =>
    written(view, qb.insert(view.table).values({ ...placeholdersOf(columns), organizationId, id })),
  );
  return async <Input extends object>(
    { db, organizationId }: OrganizationScope,
    id: string,
    input: Storable<Input, Name>,
  ): Promise<Json<T>> => {
    const [row] = await db.write(statement, { ...rowValues(columns, input), organizationId, id });
    if (!row) throw new ContactTaken();
    return row.body;
  };
}

/** The second attempt writes a record that was archived and restored between two statements. A taken contact uses up an attempt too. */
const ATTEMPTS = 2;

/** The function changes the fields of its input; null clears one. It throws the resource's not-found error. */
export function defineUpdate<T, Name extends string>(
  view: View<T>,
  columns: Columns<Name>,
  name = `${getTableName(view.table)}.update`,
  get = defineGet(view),
) {
  const { table, fields: shown } = view;
  const allFields = Object.keys(columns) as Name[];

  const statementsFor = statementsBySet((fields: readonly Name[], isFurther) => {
    const chosen = Object.fromEntries(fields.map((field) => [field, columns[field]])) as Columns<Name>;
    const isWhole = fields.length === allFields.length;
    return {
      update: prepared(
        isWhole ? name : nameOfParts([name, ...fields]),
        ($: Params<RecordKey>) =>
          written(view, qb.update(table).set(placeholdersOf(chosen)).where(recordIs(view, $))),
        { isFurther },
      ),
      current: prepared(
        isWhole ? `${name}_current` : nameOfParts([`${name}_current`, ...fields]),
        ($: Params<RecordKey>) =>
          qb
            .select({ ...body(shown), ...as({ isApplied: hasValues(chosen) }) })
            .from(table)
            .where(recordIs(view, $)),
        { isFurther },
      ),
    };
  });

  statementsFor(allFields);

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
    const { update, current } = statementsFor(fields);
    const values = { ...rowValues(columns, input), organizationId, id };
    for (let attempt = 1; ; attempt += 1) {
      const [row] = await db.write(update, values);
      if (row) return row.body;
      // No row: nothing differs, or the record is not found. It may have been archived, and restored since.
      const [stored] = await db.read(current, values);
      if (!stored) throw recordNotFound(view, id);
      if (stored.isApplied || attempt === ATTEMPTS) return stored.body;
    }
  };
}
