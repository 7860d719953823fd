import { and, getTableName, isNotNull, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { z } from 'zod';
import { ApiError, type FieldError, notArchivedCode, validationFailed } from '../../contract/errors.ts';
import { isUniqueViolation } from '../pool/errors.ts';
import { LostRace, type OrganizationScope } from '../pool/scope.ts';
import { type Columns, columnList, rowValues } from '../sql/fields.ts';
import type { Json } from '../sql/json.ts';
import { commaSeparated, jsonRow, keyIs, type RecordKey, type View } from '../sql/query.ts';
import { type Params, prepared } from '../sql/statement.ts';
import { type Resource, recordNotFound, type TenantTable } from '../tables/resource.ts';
import { defineList, type ListOptions, newestFirst } from './list.ts';
import {
  archivedFields,
  defineArchive,
  defineGet,
  defineLock,
  defineRestore,
  defineRowLock,
  defineUpdate,
  type Get,
  includingArchived,
} from './record.ts';

export type Put<T> = { created: boolean; body: Json<T> };

type PutTable = TenantTable & { createdAt: PgColumn; updatedAt: PgColumn; archivedAt?: PgColumn };

type Input = Readonly<Record<string, unknown>>;

type PutOptions<Name extends string> = {
  columns: Columns<Name>;
  /** Immutable fields besides `createdAt`: a request with another value is rejected. */
  fixed?: readonly NoInfer<Name>[];
  insertOnly?: readonly NoInfer<Name>[];
  /** The resource of each field that holds the id of another record. */
  references?: { readonly [Field in Name]?: Resource };
  /** A reference that a trigger sets. As by its foreign key, the record is locked only where it is new. */
  derived?: { column: PgColumn; resource: Resource };
  /** More reasons to reject a request: the error of a field, and when the stored record has it. */
  rules?: readonly (FieldError & { isBroken: SQL })[];
  /** The error if another record has the same unique value. */
  taken?: () => ApiError;
};

export const FIXED = 'cannot be changed after it was first set';
const DANGLING = 'does not refer to an active record of this organization';

export const referenceRejected = (field: string): ApiError =>
  validationFailed([{ path: `body.${field}`, message: DANGLING }]);

/** A value that the request has, which a rule compares with the stored one; null without it. */
export const sent = (field: string): Placeholder => sql.placeholder(`sent ${field}`);

/** Whether there is a visible record, and for each rule whether it is broken. */
type Verdict = { is_visible: boolean } & Record<string, boolean>;

/** One can meet a unique value of another request, and one the record that another request was creating. */
const ATTEMPTS = 3;

/**
 * `put` creates or replaces a record in one statement, `lockToWrite` locks it for a PATCH. Both lock in the order of src/db/README.md, and
 * then decide: first the records that it refers to, then the record, then a customer that it names, because a merge takes them so.
 */
export function definePut<T, Name extends string>(
  { table, fields, visible }: View<T, PutTable>,
  get: Get<T>,
  options: PutOptions<Name>,
) {
  const name = getTableName(table);
  const columns: Columns = options.columns;
  const { derived } = options;
  const fixed: readonly string[] = ['createdAt', ...(options.fixed ?? [])];
  const writtenOnce: readonly string[] = [...fixed, ...(options.insertOnly ?? [])];
  const references = Object.entries((options.references ?? {}) as Readonly<Record<string, Resource>>);
  const columnOf = (field: string): PgColumn | SQL => columns[field] ?? sql`null`;

  const lockOf = ({ mergedInto }: Resource): SQL => (mergedInto ? sql`for key share` : sql`for share`);

  /** 'visible', or the id of an archived record; null for an unknown one. A merged customer stands for the one that it became. */
  const stateOf = ([field, resource]: [string, Resource]) => {
    const { table: other, visible, mergedInto } = resource;
    const survivor = sql`(select coalesce(${mergedInto}, ${other.id}) from ${other} where ${keyIs(other, { id: sent(field) })} for key share)`;
    const isFound = keyIs(other, { id: mergedInto ? survivor : sent(field) });
    return sql`(select case when ${visible} then 'visible' else ${other.id}::text end from ${other} where ${isFound} ${lockOf(resource)})
      as ${sql.identifier(field)}`;
  };

  const rules = [
    ...fixed.map((field) => ({
      path: field,
      message: FIXED,
      isBroken: sql`${table.id} is not null and coalesce(${sent(field)}, ${columnOf(field)}) is distinct from ${columnOf(field)}`,
    })),
    ...references.map(([field]) => ({
      path: field,
      message: DANGLING,
      isBroken: sql`${sent(field)}::uuid is not null and coalesce(${sql.identifier(field)}, 'unknown')
        not in ('visible', coalesce(${columnOf(field)}::text, ''))`,
    })),
    ...(options.rules ?? []),
  ];

  /** A customer is locked last. Each part waits for the one before. Citus reads a lock only from a subquery. */
  const decided = ($: Params<RecordKey>) => {
    const statesOf = (isLast: boolean) =>
      commaSeparated([
        ...references.filter(([, { mergedInto }]) => (mergedInto !== undefined) === isLast).map(stateOf),
        sql`true as is_done`,
      ]);
    const broken = rules.map(({ path, isBroken }) => sql`${isBroken} as ${sql.identifier(path)}`);
    return sql`
      first as materialized (select ${statesOf(false)}),
      stored as materialized (
        select * from (
          select ${table}.* from first cross join ${table} where ${keyIs(table, $)} for no key update of ${table}) as locked),
      last as materialized (select ${statesOf(true)} from first left join stored on true),
      verdict as materialized (
        select ${commaSeparated([sql`(${table.id} is not null and ${visible}) as is_visible`, ...broken])}
        from first cross join last left join stored as ${table} on true)`;
  };

  /**
   * A statement that has waited sees what it locks as it is now, and reads everything else as it was before it waited: its body is
   * read again. To read every body again took a fifth more processor time for a PUT that replaces a conversation. The lock is the
   * same as the first one: with a weaker one, PostgreSQL returns the version before the wait.
   */
  const isCurrent = ($: Params<RecordKey>) => {
    const updatedAt = (of: PgTable, id: Placeholder | SQL, lock = sql``): SQL =>
      sql`(select updated_at from ${of} where organization_id = ${$.organizationId} and id = ${id} ${lock})`;
    const isSame = (column: PgColumn | SQL, other: Resource, isKnown = sql`false`): SQL => {
      const id = sql`${column}`;
      return sql`(${id} is null or ${isKnown} or ${updatedAt(other.table, id)} = ${updatedAt(other.table, id, lockOf(other))})`;
    };
    return and(
      sql`${updatedAt(table, $.id)} is not distinct from (select updated_at from stored)`,
      ...references.map(([field, other]) => isSame(columnOf(field), other)),
      derived &&
        isSame(
          derived.column,
          derived.resource,
          sql`${derived.column} = (select stored.${sql.identifier(derived.column.name)} from stored)`,
        ),
    );
  };

  const putStatement = prepared(`${name}.put`, ($: Params<RecordKey>) => {
    const { createdAt: _, ...others } = columns;
    const values = Object.entries(others).map(
      ([field, column]) => sql`${sql.placeholder(field)}::${sql.raw(column.getSQLType())}`,
    );
    const replaced = Object.entries(others)
      .filter(([field]) => !writtenOnce.includes(field))
      .map(([field, column]) => sql`${sql.identifier(column.name)} = ${sql.placeholder(field)}`);
    const isBroken = sql.join(
      rules.map(({ path }) => sql`verdict.${sql.identifier(path)}`),
      sql` or `,
    );
    // A record that somebody creates meanwhile is neither replaced nor created: the next attempt replaces it.
    return sql<Verdict & { isNew: boolean; isCurrent: boolean; body: Json<T> | null }>`
      with ${decided($)},
      replaced as (
        update ${table} set ${commaSeparated([...replaced, ...(table.archivedAt ? [sql`archived_at = null`] : [])])}
        from verdict where ${keyIs(table, $)} and not (${isBroken})
        returning ${table}.*, false as is_new),
      created as (
        insert into ${table} (organization_id, id, created_at, ${columnList(others)})
        select ${$.organizationId}::uuid, ${$.id}::uuid, coalesce(${sql.placeholder('createdAt')}::timestamptz, now()), ${commaSeparated(values)}
        from verdict where not (${isBroken}) and not exists (select from stored)
        on conflict do nothing
        returning *, true as is_new)
      select verdict.*, ${table}.is_new as "isNew", ${isCurrent($)} as "isCurrent", case when ${table.id} is not null then ${jsonRow(fields)} end as body
      from verdict left join (
        select * from created union all select * from replaced union all
        select stored.*, false from stored cross join verdict where not (${isBroken}) and not exists (select from replaced)) as ${table} on true`;
  });

  const lockStatement = prepared(
    `${name}.lock_to_write`,
    ($: Params<RecordKey>) => sql<Verdict>`with ${decided($)} select * from verdict`,
  );

  const sentValues = (input: Input): Input =>
    Object.fromEntries(rules.map(({ path }) => [`sent ${path}`, input[path] ?? null]));

  const brokenIn = (verdict: Verdict) => rules.filter(({ path }) => verdict[path]);

  function rejectBroken(verdict: Verdict): void {
    const errors = brokenIn(verdict);
    if (errors.length > 0)
      throw validationFailed(errors.map(({ path, message }) => ({ path: `body.${path}`, message })));
  }

  function rejectTaken(error: unknown): never {
    throw options.taken && isUniqueViolation(error) ? options.taken() : error;
  }

  return {
    replaced: Object.fromEntries(Object.entries(columns).filter(([field]) => !writtenOnce.includes(field))),

    needsCheck: (input: Input): boolean => Object.values(sentValues(input)).some((value) => value !== null),

    async lockToWrite(scope: OrganizationScope, id: string, input: Input): Promise<Verdict> {
      const bound = { id, ...sentValues(input) };
      const [verdict = { is_visible: false }] = await scope.write(lockStatement, bound);
      // If it has waited, it does not see a customer that another one was merged into meanwhile.
      return brokenIn(verdict).length > 0
        ? ((await scope.write(lockStatement, bound))[0] ?? verdict)
        : verdict;
    },

    /** @throws VALIDATION_FAILED */
    rejectBroken,

    rejectTaken,

    /**
     * @param values of the columns; @param input the fields of the request, for the rules
     * @throws VALIDATION_FAILED; else `taken`
     */
    async put(scope: OrganizationScope, id: string, values: Input, input = values): Promise<Put<T>> {
      const bound = { ...rowValues(columns, values), ...sentValues(input), id };
      for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
        const [row] = await scope.write(putStatement, bound).catch(rejectTaken);
        // The first attempt may have waited, as in `lockToWrite`.
        if (row && attempt > 1) rejectBroken(row);
        if (row?.body) return { created: row.isNew, body: row.isCurrent ? row.body : await get(scope, id) };
      }
      throw options.taken?.() ?? new LostRace('The record is being created by somebody else.');
    },
  };
}

/**
 * `put` creates or replaces the record, archived or not. `update` changes the fields of its body; null clears one. Both
 * throw VALIDATION_FAILED for an invalid reference or a changed fixed field. `restore` changes nothing else, and throws
 * `…_NOT_ARCHIVED`. All but `put` throw the resource's not-found error; `get`, `lockToPut` and `restore` find archived
 * records too. `lockToUpdate` and `lockToPut` lock first what the body names.
 */
export function defineRecord<T, Name extends string, Query extends z.ZodObject>(
  view: View<T, PutTable & { archivedAt: PgColumn }>,
  options: PutOptions<Name> & { lists: ListOptions<Query> },
) {
  const name = getTableName(view.table);
  const get = defineGet(`${name}.get_stored`, includingArchived(view));
  const getActive = defineGet(`${name}.get_record`, view);
  const restoreArchived = defineRestore(`${name}.restore`, view);
  // Sent before a statement that returns names of other records, which would have those of before a wait.
  const lockRow = defineRowLock(view.table);
  const { put, lockToWrite, rejectBroken, rejectTaken, needsCheck, replaced } = definePut(view, get, options);
  const patch = defineUpdate<T, string>(`${name}.update`, view, replaced, getActive);

  const lockFor = (read: Get<T>) => async (scope: OrganizationScope, id: string, input: Input) => {
    await lockToWrite(scope, id, input);
    return read(scope, id);
  };

  return {
    list: defineList(`${name}.list_records`, view, {
      archived: {
        visible: isNotNull(view.table.archivedAt),
        order: newestFirst(view.table, view.table.archivedAt),
      },
      ...options.lists,
    }),
    get,
    getActive,
    lock: defineLock(view.table, getActive),
    lockToUpdate: lockFor(getActive),
    lockToPut: lockFor(get),
    archive: defineArchive(`${name}.archive`, view, archivedFields(view.table)),
    put,
    restore: async (scope: OrganizationScope, id: string): Promise<Json<T>> => {
      await get(scope, id);
      return scope.transaction(async (within) => {
        lockRow(within, id);
        const restored = await restoreArchived(within, id).catch(rejectTaken);
        if (!restored) throw new ApiError(notArchivedCode(view.notFound));
        return restored;
      });
    },
    update: (scope: OrganizationScope, id: string, input: Partial<Record<Name, unknown>>): Promise<Json<T>> =>
      scope.transaction(async (within) => {
        if (needsCheck(input)) {
          const verdict = await lockToWrite(within, id, input);
          if (!verdict.is_visible) throw recordNotFound(view, id);
          rejectBroken(verdict);
        } else lockRow(within, id);
        const patched = await patch(within, id, input).catch(rejectTaken);
        return options.derived && needsCheck(input) ? getActive(within, id) : patched;
      }),
  };
}
