import { and, getTableName, isNotNull, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { LostRace, type OrganizationScope, type Queries } from '../pool/scope.ts';
import {
  type Columns,
  columnList,
  hasValues,
  placeholdersOf,
  rowValues,
  type Storable,
} from '../sql/fields.ts';
import { isId } from '../sql/ids.ts';
import { type Json, parseJson } from '../sql/json.ts';
import {
  as,
  bodies,
  body,
  type Fields,
  type Ids,
  keyIn,
  keyIs,
  qb,
  type RecordKey,
  recordIs,
  type View,
  written,
} from '../sql/query.ts';
import { nameOfParts, type Params, prepared, statementsBySet, unprepared } from '../sql/statement.ts';
import { type Resource, recordNotFound, type TenantTable } from '../tables/resource.ts';
import { type IdempotencyKey, insertOnce, type Once, writeOnce } from './idempotency.ts';

export type Get<T> = (scope: OrganizationScope, id: string) => Promise<Json<T>>;

/** A lock needs its own statement: the next one sees what was committed before the lock. */
const lockStatement = ({ table }: Resource) =>
  prepared(`${getTableName(table)}.lock`, ($: Params<RecordKey>) =>
    qb.select({}).from(table).where(keyIs(table, $)).for('no key update'),
  );

/** The function throws the resource's not-found error. */
export function defineGet<T>(view: View<T>, name = `${getTableName(view.table)}.get`): Get<T> {
  const find = ($: Params<RecordKey>) => bodies(view.fields, view.table, recordIs(view, $));
  const statement = prepared(name, find, { isShort: true });
  return async ({ db, organizationId }, id) => {
    const [row] = isId(id) ? await db.read(statement, { organizationId, id }) : [];
    if (!row) throw recordNotFound(view, id);
    return row.body;
  };
}

/** Like `defineGet`, and locks the record until the transaction ends. */
export function defineLockedGet<T>(view: View<T>, name?: string): Get<T> {
  const [lock, get] = [lockStatement(view), defineGet(view, name)];
  return async (scope, id) => {
    if (isId(id)) await scope.db.write(lock, { organizationId: scope.organizationId, id });
    return get(scope, id);
  };
}

/** The function throws KeyInUse, and LostRace if a trigger drops the record. */
export function defineCreate<T, Name extends string>(
  view: View<T>,
  columns: Columns<Name>,
  name = `${getTableName(view.table)}.create`,
) {
  const statement = prepared(name, ({ organizationId, id }: Params<RecordKey>) =>
    written(view, qb.insert(view.table).values({ ...placeholdersOf(columns), organizationId, id })),
  );
  const onceStatement = prepared(`${name}_once`, ($: Params<RecordKey & Once>) =>
    insertOnce(
      $,
      (isFree) => sql`insert into ${view.table} (organization_id, id, ${columnList(columns)})
        select ${$.organizationId}, ${$.id}, ${sql.join(Object.values(placeholdersOf(columns)), sql`, `)} where ${isFree} returning *`,
      sql<{ body: Json<T> | null }>`(${bodies(view.fields, sql`written as ${view.table}`)}) as body`,
    ),
  );
  return async <Input extends object>(
    scope: OrganizationScope,
    id: string,
    input: Storable<Input, Name>,
    key?: IdempotencyKey,
  ): Promise<Json<T>> => {
    const { db, organizationId } = scope;
    const values = { ...rowValues(columns, input), organizationId, id };
    const [row] = key
      ? [await writeOnce(scope, onceStatement, { ...values, ...key })]
      : await db.write(statement, values);
    if (!row?.body) throw new LostRace('A trigger dropped the record.');
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

export type ArchivableTable = TenantTable & { archivedAt: PgColumn };

export type Archived = { id: string; archivedAt: string };

/** The function throws the resource's not-found error, also for an archived record. */
export function defineArchive<T = Archived>(
  resource: Resource<ArchivableTable>,
  fields = { id: resource.table.id, archivedAt: resource.table.archivedAt } as unknown as Fields<T>,
) {
  const { table } = resource;
  const statement = prepared(`${getTableName(table)}.archive`, ($: Params<RecordKey>) =>
    written({ table, fields }, qb.update(table).set({ archivedAt: sql`now()` }).where(recordIs(resource, $))),
  );
  return async ({ db, organizationId }: OrganizationScope, id: string): Promise<Json<T>> => {
    const [row] = isId(id) ? await db.write(statement, { organizationId, id }) : [];
    if (!row) throw recordNotFound(resource, id);
    return row.body;
  };
}

/** Archived records too. */
export const storedOf = <T>(view: View<T, ArchivableTable>): View<T, ArchivableTable> => ({
  ...view,
  visible: sql`true`,
});

/** The function returns undefined if no archived record meets the condition, or if a trigger drops the update. */
export function defineRestore<T>(view: View<T, ArchivableTable>, condition?: SQL) {
  const { table } = view;
  const statement = prepared(`${getTableName(table)}.restore`, ($: Params<RecordKey>) => {
    const isRestorable = and(keyIs(table, $), isNotNull(table.archivedAt), condition);
    return written(view, qb.update(table).set({ archivedAt: null }).where(isRestorable));
  });
  return async ({ db, organizationId }: OrganizationScope, id: string): Promise<Json<T> | undefined> => {
    if (!isId(id)) throw recordNotFound(view, id);
    const [row] = await db.write(statement, { organizationId, id });
    return row?.body;
  };
}

/**
 * The function deletes the oldest records that are due, in one statement for each organization, and returns their `fields`.
 * @param isDue compares with the clock of the database, as a restore does
 */
export function definePurge<T>(resource: Resource<ArchivableTable>, isDue: SQL, fields: Fields<T>) {
  const { table } = resource;
  const { organizationId, id, archivedAt } = table;
  const dueStatement = unprepared(`${getTableName(table)}.due_for_purge`, ($: Params<{ limit: number }>) =>
    qb.select(as({ organizationId, id })).from(table).where(isDue).orderBy(archivedAt).limit($.limit),
  );
  // The record may have been restored since it was read.
  const statement = prepared(`${getTableName(table)}.purge`, ($: Params<Ids>) =>
    written({ table, fields }, qb.delete(table).where(and(keyIn(table, $), isDue))),
  );
  return async (db: Queries, limit: number): Promise<T[]> => {
    const due = await db.read(dueStatement, { limit });
    const purged: T[] = [];
    for (const [organizationId, rows] of Map.groupBy(due, (row) => row.organizationId)) {
      const ids = rows.map(({ id }) => id);
      const deleted = await db.write(statement, { organizationId, ids });
      purged.push(...deleted.map(({ body }) => parseJson(body)));
    }
    return purged;
  };
}
