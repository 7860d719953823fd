import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { type ApiError, validationFailed } from '../../errors.ts';
import { LostRace } from '../run/faults.ts';
import { inTransaction, type OrganizationScope } from '../run/scope.ts';
import type { Resource, TenantTable } from '../schema/resource.ts';
import type { Columns } from '../sql/field-columns.ts';
import { type Json, selectList } from '../sql/json.ts';
import { assignments, columnList, rowValues, valueList } from '../sql/row.ts';
import { type Params, prepared } from '../sql/statement.ts';
import { defineGet, defineLockedGet } from './get.ts';
import { keyOf, type RecordKey, rowOf, tableName, type View } from './view.ts';
import { defineArchive } from './write.ts';

/** Records whose owner makes their ids, and writes all of their fields at once. */

export type Put<T> = { created: boolean; body: Json<T> };

type PutTable = TenantTable & { archivedAt?: PgColumn };

type PutOptions<Name extends string> = {
  /** The columns that a PUT replaces. */
  columns: Columns<Name>;
  /** Columns that are written once, when the record is created. */
  insertOnly?: Columns;
  /** The fields that hold the id of another record, each with the resource that the id must belong to. */
  references?: { readonly [Field in Name]?: Resource };
  /** Adds the values that the request left out, and those that are made when the record is created. */
  complete?: (scope: OrganizationScope, input: Partial<Record<Name, unknown>>) => Promise<Input>;
};

type Input = Readonly<Record<string, unknown>>;

/** The ids that the references of a record held when it was locked. */
type Stored = Record<string, unknown>;

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
  const referenceColumns = Object.fromEntries(
    Object.keys(references).map((field) => [field, columns[field] as PgColumn]),
  );

  const lockStatement = prepared(
    `${name}.put_lock`,
    ($: Params<RecordKey>) => sql<Stored>`
      select ${selectList({ id: table.id, ...referenceColumns })} from ${table} where ${rowOf(view, $)} for update`,
  );

  const found = ([field, { table: other, visible }]: [string, Resource], $: Params<Stored>): SQL => {
    const key = { organizationId: $.organizationId as Placeholder, id: $[field] as Placeholder };
    return sql`exists (select from ${other} where ${keyOf(other, key)} and ${visible}) as ${sql.identifier(field)}`;
  };

  const referencesStatement = prepared(
    `${name}.put_references`,
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
      on conflict do nothing returning ${table.id}`,
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

    /**
     * A reference must lead to a visible record of the organization, unless it is the stored one: that stays good
     * when its target is archived later.
     * @throws VALIDATION_FAILED naming the fields
     */
    async checkReferences(
      { db, organizationId }: OrganizationScope,
      input: Input,
      stored: Stored | undefined,
    ): Promise<void> {
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
    async replace({ db, organizationId }: OrganizationScope, id: string, input: Input): Promise<void> {
      await db.write(replaceStatement, { organizationId, id, ...rowValues(columns, input) });
    },
  };
}

/**
 * Makes all that the dashboard does with such a record: `get`, `lock`, which reads it and keeps it so until the transaction
 * ends, `put` and `archive`. Each but `put` throws the resource's not-found, `missing`.
 *
 * `put` creates the record with this id, or replaces all of it. It answers with the record as /v1 shows it. Values equal to
 * the stored ones change nothing. An archived record comes back.
 */
export function defineRecord<T, Name extends string>(
  view: View<T, PutTable & { archivedAt: PgColumn }>,
  options: PutOptions<Name>,
) {
  const get = defineGet(view);
  const steps = putSteps(view, options);

  return {
    missing: view.missing.code,
    get,
    lock: defineLockedGet(view),
    archive: defineArchive(view),
    put: (scope: OrganizationScope, id: string, input: Partial<Record<Name, unknown>>): Promise<Put<T>> =>
      inTransaction(scope, async (within) => {
        const stored = await steps.lock(within, id);
        await steps.checkReferences(within, input, stored);
        const record = (await options.complete?.(within, input)) ?? input;
        if (stored) await steps.replace(within, id, record);
        else await steps.insert(within, id, record);
        return { created: !stored, body: await get(within, id) };
      }),
  };
}
