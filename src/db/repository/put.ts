import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { type ApiError, validationFailed } from '../../contract/errors.ts';
import { inTransaction, LostRace, type OrganizationScope } from '../pool/scope.ts';
import type { Columns } from '../sql/field-columns.ts';
import { isId } from '../sql/ids.ts';
import { type Json, selectList } from '../sql/json.ts';
import { assignments, columnList, rowValues, valueList } from '../sql/row.ts';
import { type Params, prepared } from '../sql/statement.ts';
import type { Resource, TenantTable } from '../tables/resource.ts';
import { defineArchive } from './archive.ts';
import { defineGet, defineLockedGet } from './get.ts';
import { keyOf, missing, type RecordKey, rowOf, tableName, type View } from './view.ts';
import { defineUpdate } from './write.ts';

/** Records whose owner makes their ids: a PUT writes all of their fields, a PATCH those that are sent. */

export type Put<T> = { created: boolean; body: Json<T> };

type PutTable = TenantTable & { archivedAt?: PgColumn };

type PutOptions<Name extends string> = {
  /** The columns that a PUT replaces. */
  columns: Columns<Name>;
  /** Columns that are written once, when the record is created. */
  insertOnly?: Columns;
  /** The fields that hold the id of another record, each with the resource that the id must belong to. */
  references?: { readonly [Field in Name]?: Resource };
  /** Fields that are written once: a PUT or PATCH with another value is refused. */
  fixed?: readonly NoInfer<Name>[];
  /** Fields that keep what they have where a PUT leaves them out. */
  kept?: readonly NoInfer<Name>[];
  /** Adds the values that the request left out, and those that are made when the record is created. */
  complete?: (scope: OrganizationScope, input: Partial<Record<Name, unknown>>) => Promise<Input>;
};

type Input = Readonly<Record<string, unknown>>;

/** What a record held when it was locked: its references, its fixed and its kept fields, and whether it is visible. */
export type Stored = Record<string, unknown>;

export const referenceRefused = (fields: readonly string[]): ApiError =>
  validationFailed(
    fields.map((field) => ({
      path: `body.${field}`,
      message: 'is no record of this organization, or an archived one',
    })),
  );

/** The steps of a PUT. Each is one statement; together they are one transaction. */
export function putSteps<T, Name extends string>(view: View<T, PutTable>, options: PutOptions<Name>) {
  const { insertOnly = {} } = options;
  const columns: Columns = options.columns;
  const inserted = { ...columns, ...insertOnly };
  const references = (options.references ?? {}) as Readonly<Record<string, Resource>>;
  const { table } = view;
  const name = tableName(view);
  const { fixed = [], kept = [] } = options;
  const chosen = (fields: readonly string[]) =>
    Object.fromEntries(fields.map((field) => [field, columns[field] as PgColumn]));
  const referenceColumns = chosen(Object.keys(references));
  const looked = {
    id: table.id,
    isVisible: sql`${view.visible}`,
    ...referenceColumns,
    ...chosen([...fixed, ...kept]),
  };

  const lockStatement = prepared(
    `${name}.lock_to_write`,
    ($: Params<RecordKey>) => sql<Stored>`
      select ${selectList(looked)} from ${table} where ${rowOf(view, $)} for no key update`,
  );

  const found = ([field, { table: other, visible }]: [string, Resource], $: Params<Stored>): SQL => {
    const key = { organizationId: $.organizationId as Placeholder, id: $[field] as Placeholder };
    return sql`exists (select from ${other} where ${keyOf(other, key)} and ${visible}) as ${sql.identifier(field)}`;
  };

  const referencesStatement = prepared(
    `${name}.references`,
    ($: Params<Stored>) =>
      sql<Record<string, boolean>>`select ${sql.join(
        Object.entries(references).map((reference) => found(reference, $)),
        sql`, `,
      )}`,
  );

  const insertStatement = prepared(
    `${name}.put_insert`,
    ($: Params<RecordKey>) => sql<{ id: string }>`
      insert into ${table} (organization_id, id, ${columnList(inserted)})
      values (${$.organizationId}, ${$.id}, ${valueList(inserted)})
      on conflict (organization_id, id) do nothing returning ${table.id}`,
  );

  const replaceStatement = prepared(
    `${name}.put_replace`,
    ($: Params<RecordKey>) => sql`
      update ${table} set ${assignments(columns)} ${table.archivedAt ? sql`, archived_at = null` : sql``}
      where ${rowOf(view, $)}`,
  );

  return {
    /** Locks the record until the transaction ends. Undefined when it does not exist. */
    async lock({ db, organizationId }: OrganizationScope, id: string): Promise<Stored | undefined> {
      const [stored] = await db.write(lockStatement, { organizationId, id });
      return stored;
    },

    /** Whether `check` would look at what is sent. */
    needsCheck: (input: Input): boolean =>
      [...Object.keys(references), ...fixed].some((field) => input[field] != null),

    /**
     * A reference must lead to a visible record of the organization, unless it is the stored one: that stays good
     * when its target is archived later. A fixed field must be the stored one.
     * @throws VALIDATION_FAILED naming the fields
     */
    async check(
      { db, organizationId }: OrganizationScope,
      input: Input,
      stored: Stored | undefined,
    ): Promise<void> {
      const changed = fixed.filter((field) => stored && (input[field] ?? stored[field]) !== stored[field]);
      if (changed.length > 0)
        throw validationFailed(
          changed.map((field) => ({
            path: `body.${field}`,
            message: 'is written once, and cannot be changed',
          })),
        );
      const sent = Object.keys(references).filter(
        (field) => input[field] != null && String(input[field]).toLowerCase() !== stored?.[field],
      );
      if (sent.length === 0) return;
      const ids = rowValues(referenceColumns, input);
      const [exists] = await db.read(referencesStatement, { organizationId, ...ids });
      const refused = sent.filter((field) => !exists?.[field]);
      if (refused.length > 0) throw referenceRefused(refused);
    },

    /** @throws LostRace when somebody else has just created the record; the next attempt finds it */
    async insert({ db, organizationId }: OrganizationScope, id: string, input: Input): Promise<void> {
      const values = rowValues(inserted, input);
      const [created] = await db.write(insertStatement, { organizationId, id, ...values });
      if (!created) throw new LostRace('The record was created by somebody else.');
    },

    /** Writes the record, and brings it back where it was archived. Nothing changes where nothing differs. */
    async replace(
      { db, organizationId }: OrganizationScope,
      id: string,
      input: Input,
      stored: Stored,
    ): Promise<void> {
      const left = kept.filter((field) => input[field] === undefined).map((field) => [field, stored[field]]);
      const record = { ...input, ...Object.fromEntries(left) };
      await db.write(replaceStatement, { organizationId, id, ...rowValues(columns, record) });
    },
  };
}

/**
 * Makes all that the dashboard does with such a record: `get`, `lock`, which reads it and keeps it so until the transaction
 * ends, `put`, `update` and `archive`. Each but `put` throws the resource's not-found, `missing`. Each but `archive` answers
 * with the record as `get` shows it. Values equal to the stored ones change nothing.
 *
 * `put` creates the record with this id, or replaces all of it; an archived one comes back. `update` changes the fields that
 * are sent; null clears one. Both throw VALIDATION_FAILED naming a reference to no live record, or a fixed field that differs.
 */
export function defineRecord<T, Name extends string>(
  view: View<T, PutTable & { archivedAt: PgColumn }>,
  options: PutOptions<Name>,
) {
  const name = `${tableName(view)}.get_record`;
  const get = defineGet(view, name);
  const steps = putSteps(view, options);
  const patch: (scope: OrganizationScope, id: string, input: Input) => Promise<Json<T>> = defineUpdate<
    T,
    string
  >(view, options.columns, `${tableName(view)}.update`, get);

  return {
    missing: view.missing.code,
    get,
    lock: defineLockedGet(view, name),
    archive: defineArchive(view),
    update: async (
      scope: OrganizationScope,
      id: string,
      input: Partial<Record<Name, unknown>>,
    ): Promise<Json<T>> => {
      if (!isId(id) || !steps.needsCheck(input)) return patch(scope, id, input);
      return inTransaction(scope, async (within) => {
        const stored = await steps.lock(within, id);
        if (!stored?.isVisible) throw missing(view, id);
        await steps.check(within, input, stored);
        return patch(within, id, input);
      });
    },
    put: (scope: OrganizationScope, id: string, input: Partial<Record<Name, unknown>>): Promise<Put<T>> =>
      inTransaction(scope, async (within) => {
        const stored = await steps.lock(within, id);
        await steps.check(within, input, stored);
        const record = (await options.complete?.(within, input)) ?? input;
        if (stored) await steps.replace(within, id, record, stored);
        else await steps.insert(within, id, record);
        return { created: !stored, body: await get(within, id) };
      }),
  };
}
