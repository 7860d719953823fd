import { getTableName, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { z } from 'zod';
import { ApiError, notArchivedCode, validationFailed } from '../../contract/errors.ts';
import { isUniqueViolation } from '../pool/errors.ts';
import { inTransaction, LostRace, type OrganizationScope } from '../pool/scope.ts';
import { type Columns, placeholdersOf, rowValues } from '../sql/fields.ts';
import { isId } from '../sql/ids.ts';
import { type Json, parseJson } from '../sql/json.ts';
import { as, keyIs, qb, type RecordKey, type View } from '../sql/query.ts';
import { type Params, prepared } from '../sql/statement.ts';
import { type Resource, recordNotFound, type TenantTable } from '../tables/resource.ts';
import { archivedOf, defineList, type ListOptions } from './list.ts';
import {
  defineArchive,
  defineGet,
  defineLockedGet,
  defineRestore,
  defineUpdate,
  storedOf,
} from './record.ts';

export type Put<T> = { created: boolean; body: Json<T> };

type PutTable = TenantTable & { createdAt: PgColumn; archivedAt?: PgColumn };

type Input = Readonly<Record<string, unknown>>;

export type Stored = Record<string, unknown>;

type PutOptions<Name extends string> = {
  columns: Columns<Name>;
  /** Immutable fields besides `createdAt`: a request with another value is rejected. */
  fixed?: readonly NoInfer<Name>[];
  insertOnly?: readonly NoInfer<Name>[];
  /** The resource of each field that holds the id of another record. */
  references?: { readonly [Field in Name]?: Resource };
  complete?: (scope: OrganizationScope, input: Input, stored: Stored | undefined) => Promise<Input>;
  /** The error if another record has the same unique value. */
  taken?: (input: Input) => ApiError;
};

const rejected = (fields: readonly string[], message: string): ApiError =>
  validationFailed(fields.map((field) => ({ path: `body.${field}`, message })));

export const referenceRejected = (fields: readonly string[]): ApiError =>
  rejected(fields, 'does not refer to an active record of this organization');

export function putSteps<T, Name extends string>(view: View<T, PutTable>, options: PutOptions<Name>) {
  const { table } = view;
  const columns: Columns = options.columns;
  const pick = (isPicked: (field: string) => boolean): Columns =>
    Object.fromEntries(Object.entries(columns).filter(([field]) => isPicked(field)));
  const fixed = ['createdAt', ...(options.fixed ?? [])];
  const writtenOnce: readonly string[] = [...fixed, ...(options.insertOnly ?? [])];
  const replaced = pick((field) => !writtenOnce.includes(field));
  const references = (options.references ?? {}) as Readonly<Record<string, Resource>>;
  const referenceColumns = pick((field) => field in references);
  const name = getTableName(table);

  const lockToWriteStatement = prepared(`${name}.lock_to_write`, ($: Params<RecordKey>) =>
    qb
      .select(as({ id: table.id, ...columns, isVisible: view.visible }))
      .from(table)
      .where(keyIs(table, $))
      .for('no key update'),
  );

  /** The id of the record, or `visible`; null for an unknown one. A merged record stands for the one that it became. */
  const found = (
    [field, { table: other, visible, mergedInto }]: [string, Resource],
    $: Params<Stored>,
  ): SQL => {
    const key = { organizationId: $.organizationId as Placeholder, id: $[field] as Placeholder };
    const id = mergedInto
      ? sql`(select coalesce(${mergedInto}, ${other.id}) from ${other} where ${keyIs(other, key)})`
      : key.id;
    return sql`(select case when ${visible} then 'visible' else ${other.id}::text end
      from ${other} where ${keyIs(other, { ...key, id })}) as ${sql.identifier(field)}`;
  };

  const referencesStatement = prepared(
    `${name}.references`,
    ($: Params<Stored>) =>
      sql<Record<string, string | null>>`select ${sql.join(
        Object.entries(references).map((reference) => found(reference, $)),
        sql`, `,
      )}`,
  );

  const insertStatement = prepared(`${name}.put_insert`, ({ organizationId, id }: Params<RecordKey>) => {
    const createdAt = sql`coalesce(${sql.placeholder('createdAt')}, now())`;
    return qb
      .insert(table)
      .values({ ...placeholdersOf(columns), createdAt, organizationId, id })
      .onConflictDoNothing()
      .returning(as({ id: table.id }));
  });

  const replaceStatement = prepared(`${name}.put_replace`, ($: Params<RecordKey>) =>
    qb
      .update(table)
      .set({ ...placeholdersOf(replaced), ...(table.archivedAt && { archivedAt: null }) })
      .where(keyIs(table, $)),
  );

  async function lock({ db, organizationId }: OrganizationScope, id: string): Promise<Stored | undefined> {
    const [stored] = await db.write(lockToWriteStatement, { organizationId, id });
    return stored;
  }

  const rejectTaken =
    (input: Input) =>
    (error: unknown): never => {
      throw options.taken && isUniqueViolation(error) ? options.taken(input) : error;
    };

  return {
    replaced,
    lock,
    rejectTaken,

    needsCheck: (input: Input): boolean =>
      [...Object.keys(references), ...fixed].some((field) => input[field] != null),

    /**
     * A new reference must be to a visible record; the stored one stays valid when its record is archived.
     * @throws ApiError VALIDATION_FAILED, for such references and for changed fixed fields
     */
    async check(
      { db, organizationId }: OrganizationScope,
      input: Input,
      stored: Stored | undefined,
    ): Promise<void> {
      const changed = fixed.filter((field) => stored && (input[field] ?? stored[field]) !== stored[field]);
      if (changed.length > 0) throw rejected(changed, 'cannot be changed after it was first set');
      const changedReferences = Object.keys(references).filter(
        (field) => input[field] != null && input[field] !== stored?.[field],
      );
      if (changedReferences.length === 0) return;
      const ids = rowValues(referenceColumns, input);
      const [named] = await db.read(referencesStatement, { organizationId, ...ids });
      const broken = changedReferences.filter(
        (field) => named?.[field] !== 'visible' && (named?.[field] ?? '') !== stored?.[field],
      );
      if (broken.length > 0) throw referenceRejected(broken);
    },

    /** @throws LostRace if a concurrent request created the record: the next attempt finds it; else `taken` */
    async insert(scope: OrganizationScope, id: string, input: Input): Promise<void> {
      const { db, organizationId } = scope;
      const values = rowValues(columns, input);
      const [created] = await db.write(insertStatement, { organizationId, id, ...values });
      if (created) return;
      if (options.taken && !(await lock(scope, id))) throw options.taken(input);
      throw new LostRace('The record was created by somebody else.');
    },

    /** Also restores the record. If nothing differs, nothing changes. */
    async replace({ db, organizationId }: OrganizationScope, id: string, input: Input): Promise<void> {
      const values = { organizationId, id, ...rowValues(replaced, input) };
      await db.write(replaceStatement, values).catch(rejectTaken(input));
    },
  };
}

/**
 * `put` creates or replaces the record, archived or not. `update` changes the fields of its body; null clears one. Both
 * throw VALIDATION_FAILED for an invalid reference or a changed fixed field. `restore` changes nothing else, and throws
 * `…_NOT_ARCHIVED`. All but `put` throw the resource's not-found error; `get`, `lockStored` and `restore` find archived
 * records too.
 */
export function defineRecord<T, Name extends string, Query extends z.ZodObject>(
  view: View<T, PutTable & { archivedAt: PgColumn }>,
  options: PutOptions<Name> & { lists: ListOptions<Query> },
) {
  const name = getTableName(view.table);
  const stored = storedOf(view);
  const get = defineGet(stored, `${name}.get_stored`);
  const getActive = defineGet(view, `${name}.get_record`);
  const restoreArchived = defineRestore(view);
  const steps = putSteps(view, options);
  const patch: (scope: OrganizationScope, id: string, input: Input) => Promise<Json<T>> = defineUpdate<
    T,
    string
  >(view, steps.replaced, `${name}.update`, getActive);

  return {
    list: defineList(view, {
      name: `${name}.list_records`,
      archived: archivedOf(view.table),
      ...options.lists,
    }),
    get,
    getActive,
    lock: defineLockedGet(view, `${name}.get_record`),
    lockStored: defineLockedGet(stored, `${name}.get_stored`),
    archive: defineArchive(view),
    restore: async (scope: OrganizationScope, id: string): Promise<Json<T>> => {
      const record = parseJson(await get(scope, id)) as Input;
      const restored = await restoreArchived(scope, id).catch(steps.rejectTaken(record));
      if (!restored) throw new ApiError(notArchivedCode(view.notFound));
      return restored;
    },
    update: async (
      scope: OrganizationScope,
      id: string,
      input: Partial<Record<Name, unknown>>,
    ): Promise<Json<T>> => {
      if (!isId(id) || !steps.needsCheck(input))
        return patch(scope, id, input).catch(steps.rejectTaken(input));
      return inTransaction(scope, async (within) => {
        const stored = await steps.lock(within, id);
        if (!stored?.isVisible) throw recordNotFound(view, id);
        await steps.check(within, input, stored);
        return patch(within, id, input).catch(steps.rejectTaken(input));
      });
    },
    put: (scope: OrganizationScope, id: string, input: Partial<Record<Name, unknown>>): Promise<Put<T>> =>
      inTransaction(scope, async (within) => {
        const stored = await steps.lock(within, id);
        await steps.check(within, input, stored);
        const record = (await options.complete?.(within, input, stored)) ?? input;
        if (stored) await steps.replace(within, id, record);
        else await steps.insert(within, id, record);
        return { created: !stored, body: await get(within, id) };
      }),
  };
}
