import { isDeepStrictEqual } from 'node:util';
import { and, getTableName, isNotNull, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { LostRace, type OrganizationScope } from '../pool/scope.ts';
import { type Columns, placeholdersOf, rowValues } from '../sql/fields.ts';
import { isId } from '../sql/ids.ts';
import { type Json, parseJson } from '../sql/json.ts';
import {
  type Fields,
  isVisible,
  keyIs,
  qb,
  type RecordKey,
  returningJson,
  selectJson,
  type View,
} from '../sql/query.ts';
import { nameOfParts, type Params, prepared, statementsBySet } from '../sql/statement.ts';
import { type Resource, recordNotFound, type TenantTable } from '../tables/resource.ts';
import { defineInsertOnce, type IdempotencyKey } from './idempotency.ts';

/**
 * The operations of all resources. Each `name` is that of its statement. Except a create and a restore, the functions throw the
 * resource's not-found error.
 */

export type Get<T> = (scope: OrganizationScope, id: string) => Promise<Json<T>>;

export function defineGet<T>(name: string, view: View<T>): Get<T> {
  const find = ($: Params<RecordKey>) => selectJson(view.fields, view.table, isVisible(view, $));
  const statement = prepared(name, find, { isShort: true });
  return async (scope, id) => {
    const [row] = isId(id) ? await scope.read(statement, { id }) : [];
    if (!row) throw recordNotFound(view, id);
    return row.body;
  };
}

/** Locks the record until the transaction ends. Only the statements behind it see what was committed before the lock. */
export function defineRowLock(table: TenantTable) {
  const statement = prepared(`${getTableName(table)}.lock`, ($: Params<RecordKey>) =>
    qb.select({}).from(table).where(keyIs(table, $)).for('no key update'),
  );
  return (scope: OrganizationScope, id: string) => scope.write(statement, { id });
}

/** Locks the record, then gets it. */
export function defineLock<T>(table: TenantTable, get: Get<T>): Get<T> {
  const lockRow = defineRowLock(table);
  return async (scope, id) => {
    if (isId(id)) await lockRow(scope, id);
    return get(scope, id);
  };
}

/** The function throws KeyInUse, and LostRace if a trigger drops the record. */
export function defineCreate<T, Name extends string>(name: string, view: View<T>, written: Columns<Name>) {
  const statement = prepared(name, ({ organizationId, id }: Params<RecordKey>) =>
    returningJson(view, qb.insert(view.table).values({ ...placeholdersOf(written), organizationId, id })),
  );
  const insertOnce = defineInsertOnce(`${name}_once`, view, written);
  return async (
    scope: OrganizationScope,
    id: string,
    input: Readonly<Partial<Record<Name, unknown>>>,
    key?: IdempotencyKey,
  ): Promise<Json<T>> => {
    const values = { ...rowValues(written, input), id };
    const [row] = key
      ? [await insertOnce(scope, { ...values, ...key })]
      : await scope.write(statement, values);
    if (!row?.body) throw new LostRace('A trigger dropped the record.');
    return row.body;
  };
}

/**
 * Changes the fields that are sent; null clears one. Each set of fields has its own statement:
 *
 *     with written as (update customers set city = $city
 *       where organization_id = $organizationId and id = $id and archived_at is null returning *)
 *     select row_to_json(item) as body from (select id, city, … from written as customers) item
 */
export function defineUpdate<T, Name extends string>(
  name: string,
  view: View<T>,
  writable: Columns<Name>,
  get: Get<T>,
) {
  const all = Object.keys(writable);

  const statementFor = statementsBySet(
    (sent) => {
      const chosen = Object.fromEntries(
        Object.entries<PgColumn>(writable).filter(([field]) => sent.includes(field)),
      );
      const nameOfSet = sent.length === all.length ? name : nameOfParts([name, ...sent]);
      return prepared(nameOfSet, ($: Params<RecordKey>) =>
        returningJson(view, qb.update(view.table).set(placeholdersOf(chosen)).where(isVisible(view, $))),
      );
    },
    [all],
  );

  return async (scope: OrganizationScope, id: string, input: Readonly<Partial<Record<Name, unknown>>>) => {
    const given: Readonly<Record<string, unknown>> = input;
    const sent = all.filter((field) => given[field] !== undefined);
    if (!isId(id) || sent.length === 0) return get(scope, id);
    const statement = statementFor(sent);
    const values = { ...rowValues(writable, input), id };
    const [row] = await scope.write(statement, values);
    if (row) return row.body;
    // No row: nothing differs, or the record is not found. It may have been archived, and restored since.
    const stored = await get(scope, id);
    const record = parseJson(stored) as Readonly<Record<string, unknown>>;
    if (sent.every((field) => isDeepStrictEqual(given[field], record[field]))) return stored;
    const [retried] = await scope.write(statement, values);
    return retried ? retried.body : stored;
  };
}

export type ArchivableTable = TenantTable & { archivedAt: PgColumn };

export type Archived = { id: string; archivedAt: string };

export const archivedFields = ({ id, archivedAt }: ArchivableTable): Fields<Archived> => ({ id, archivedAt });

/** @param fields of the response */
export function defineArchive<T>(name: string, resource: Resource<ArchivableTable>, fields: Fields<T>) {
  const { table } = resource;
  const statement = prepared(name, ($: Params<RecordKey>) =>
    returningJson(
      { table, fields },
      qb.update(table).set({ archivedAt: sql`now()` }).where(isVisible(resource, $)),
    ),
  );
  return async (scope: OrganizationScope, id: string): Promise<Json<T>> => {
    const [row] = isId(id) ? await scope.write(statement, { id }) : [];
    if (!row) throw recordNotFound(resource, id);
    return row.body;
  };
}

export const includingArchived = <Of extends Resource>(resource: Of): Of => ({
  ...resource,
  visible: sql`true`,
});

/** The function returns undefined if no archived record meets the condition, or if a trigger drops the update. */
export function defineRestore<T>(name: string, view: View<T, ArchivableTable>, condition?: SQL) {
  const { table } = view;
  const statement = prepared(name, ($: Params<RecordKey>) => {
    const isRestorable = and(keyIs(table, $), isNotNull(table.archivedAt), condition);
    return returningJson(view, qb.update(table).set({ archivedAt: null }).where(isRestorable));
  });
  return async (scope: OrganizationScope, id: string): Promise<Json<T> | undefined> => {
    if (!isId(id)) throw recordNotFound(view, id);
    const [row] = await scope.write(statement, { id });
    return row?.body;
  };
}
