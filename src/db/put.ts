import { getTableName, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { type ApiError, type ErrorCode, notFound, serviceUnavailable, validationFailed } from '../errors.ts';
import { violatedConstraint } from './faults.ts';
import { isId } from './ids.ts';
import { type Fields, isoTime, type Json, jsonRows } from './json.ts';
import { type CountedResource, countLive } from './live-count.ts';
import { names, namesOf, toRecord, touched, type Writable } from './record.ts';
import type { OrganizationScope } from './scope.ts';
import { columnName, prepared, rendered } from './statement.ts';

/** Records that their owner keeps under ids of its own making: put whole, and archived. */

export type Put<T> = { created: boolean; body: Json<T> };

export type Archived = { id: string; archivedAt: string };

type ArchivableTable = PgTable & {
  organizationId: PgColumn;
  id: PgColumn;
  updatedAt: PgColumn;
  archivedAt: PgColumn;
};

/** The fields that hold the id of another record of the organization, each with its foreign key. */
export type References = Readonly<
  Record<string, { column: PgColumn; to: Omit<ArchivableTable, 'updatedAt'>; foreignKey: string }>
>;

/** What a PUT's statement answers: the record, or the fields that it refuses; neither when it lost a race to create. */
export type PutRow<T> = { body: Json<T> | null; created: boolean; refused: string[] | null };

export type PutValues = { organizationId: string; id: string; record: string };

const RACE_RETRIES = 3;

const organizationId = sql.placeholder('organizationId');

const oneRow = (table: Pick<ArchivableTable, 'organizationId' | 'id'>): SQL =>
  sql`${table.organizationId} = ${organizationId} and ${table.id} = ${sql.placeholder('id')}`;

/**
 * The CTEs that every PUT begins with: `stored`, the record locked as it is now; `input`, the row as it is to be.
 * @param presets a jsonb object with the columns that do not default to null
 */
export const storedAndInput = (
  table: PgTable & { organizationId: PgColumn; id: PgColumn },
  presets: SQL = sql`'{}'::jsonb`,
): SQL =>
  sql`sent as (select ${sql.placeholder('record')}::jsonb as record),
    stored as (select ${table} as record from ${table} where ${oneRow(table)} for update),
    input as (select made.* from sent, jsonb_populate_record(null::${table}, ${presets} || sent.record) made)`;

/**
 * A query of the fields whose reference is refused: sent, not the stored one, and to no live record of the organization.
 * What is stored stays good when its target is archived later.
 */
export const refusedReferences = (references: References): SQL =>
  sql.join(
    [
      sql`select null::text as field where false`,
      ...Object.entries(references).map(([field, { column, to }]) => {
        const name = columnName(column);
        const sent = sql`input.${sql.identifier(name)}`;
        return sql`select ${sql.raw(`'${field}'`)} from sent, input left join stored on true
          where sent.record ? ${name} and ${sent} is not null
            and ${sent} is distinct from (stored.record).${sql.identifier(name)}
            and not exists (select from ${to} where ${to.organizationId} = ${organizationId} and ${to.id} = ${sent}
              and ${to.archivedAt} is null)`;
      }),
    ],
    sql` union all `,
  );

export const referenceRefused = (fields: readonly string[]): ApiError =>
  validationFailed(
    fields.map((field) => ({
      path: `body.${field}`,
      message: 'is no record of this organization, or an archived one',
    })),
  );

/** Runs a write; a foreign key that it violates is answered like the reference that the statement itself refuses. */
export async function provingReferences<Result>(
  references: References,
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    const constraint = violatedConstraint(error);
    const broken = Object.keys(references).filter((field) => references[field]?.foreignKey === constraint);
    throw broken.length > 0 ? referenceRefused(broken) : error;
  }
}

/**
 * Repeats a PUT that found no record and then could not create it: somebody else just had. The next attempt finds it.
 * @throws VALIDATION_FAILED naming the references refused
 */
export async function settlingRaces<T>(put: () => Promise<PutRow<T> | undefined>): Promise<Put<T>> {
  for (let attempt = 0; attempt < RACE_RETRIES; attempt += 1) {
    const row = await put();
    if (row?.refused) throw referenceRefused(row.refused);
    if (row?.body) return { created: row.created, body: row.body };
  }
  throw serviceUnavailable(new Error('The record kept changing.'));
}

type PutOptions<T> = {
  table: ArchivableTable;
  fields: Fields<T>;
  /** Tables that only `fields` need. */
  joins?: SQL;
  /** What a PUT replaces. */
  columns: Writable;
  /** What is written once, when the record is created. */
  madeOnce?: Writable;
  /** See `storedAndInput`. */
  presets?: SQL;
  references?: References;
  /** The live count to keep true. */
  counted?: CountedResource;
};

/**
 * Makes the function that creates the record with this id, or replaces all of it: one statement, whose result is the
 * record as /v1 shows it. Values equal to the stored ones change nothing; an archived record comes back.
 */
export function definePut<T>(options: PutOptions<T>) {
  const { table, columns, madeOnce = new Map(), references = {}, counted } = options;
  const name = getTableName(table);
  const inserted: Writable = new Map([...columns, ...madeOnce]);
  const wasArchived = sql`(stored.record).archived_at is not null`;
  const statement = prepared<PutRow<T>, PutValues>(
    `put_${name}`,
    sql`with ${storedAndInput(table, options.presets)},
      refused as (${refusedReferences(references)}),
      created as (
        insert into ${table} (organization_id, id, ${names(inserted)})
        select ${organizationId}::uuid, ${sql.placeholder('id')}::uuid, ${namesOf('input', inserted)} from input
        where not exists (select from stored) and not exists (select from refused)
        on conflict (organization_id, id) do nothing returning *),
      changed as (
        update ${table} set (${names(columns)}) = row(${namesOf('input', columns)}), archived_at = null,
          updated_at = ${touched(table.updatedAt)}
        from stored, input
        where ${oneRow(table)} and not exists (select from refused) and (${wasArchived}
          or row(${namesOf('(stored.record)', columns)}) is distinct from row(${namesOf('input', columns)}))
        returning ${table}.*)
      ${
        counted
          ? sql`, counted as (${countLive(
              counted,
              sql`select (select count(*) from created) + (select count(*) from changed, stored where ${wasArchived})`,
            )})`
          : sql``
      }
      select (${jsonRows(
        options.fields,
        sql`from (select * from created union all select * from changed union all
            select (record).* from stored where not exists (select from changed)) ${sql.identifier(name)}
          ${options.joins ?? sql``}`,
      )}) as body, exists (select from created) as created, (select array_agg(field) from refused) as refused`,
  );

  return async (
    scope: OrganizationScope,
    id: string,
    input: Record<string, unknown>,
    once: Record<string, unknown> = {},
  ): Promise<Put<T>> => {
    const record = JSON.stringify({ ...toRecord(columns, input), ...toRecord(madeOnce, once) });
    const values = { organizationId: scope.organizationId, id, record };
    return settlingRaces(() =>
      provingReferences(references, async () => (await scope.db.write(statement, values))[0]),
    );
  };
}

type ArchiveOptions = {
  table: ArchivableTable;
  counted?: CountedResource;
  /** What a missing record is answered with. */
  missing: { code: ErrorCode; what: string };
};

/** Makes the function that archives a record; one that is archived already does not exist. */
export function defineArchive({ table, counted, missing }: ArchiveOptions) {
  const name = sql.identifier(getTableName(table));
  const statement = rendered<Archived, { organizationId: string; id: string }>(
    `archive_${getTableName(table)}`,
    sql`with ${name} as (
        update ${table} set archived_at = now() where ${oneRow(table)} and ${table.archivedAt} is null returning *)
      ${counted ? sql`, counted as (${countLive(counted, sql`select -count(*) from ${name}`)})` : sql``}
      ${jsonRows<Archived>({ id: table.id, archivedAt: isoTime(table.archivedAt) }, sql`from ${name}`)}`,
  );

  return async ({ db, organizationId }: OrganizationScope, id: string): Promise<Json<Archived>> => {
    const [row] = isId(id) ? await db.write(statement, { organizationId, id }) : [];
    if (!row) throw notFound(missing.code, missing.what, id);
    return row.body;
  };
}
