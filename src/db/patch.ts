import { getTableName, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { type Fields, jsonRows } from './json.ts';
import { names, namesOf, touched, type Writable } from './record.ts';
import { rendered } from './statement.ts';

export type PatchValues = { organizationId: string; id: string; patch: string };

type PatchOptions<T> = {
  name: string;
  table: PgTable & { updatedAt: PgColumn };
  fields: Fields<T>;
  /** What the patch may change. */
  columns: Writable;
  /** Names the one live row by `organizationId` and `id`. */
  where: SQL;
  /** A condition under which the record counts as changed although its columns do not differ. */
  touchedIf?: SQL;
};

/**
 * One statement that merges the JSON object `patch` (see `toRecord`) over a row and renders what the row is then. Only a
 * row that differs is written, and only then is it updated later than before. No row: it does not exist.
 */
export function patchStatement<T, Values extends PatchValues = PatchValues>(options: PatchOptions<T>) {
  const { name, table, fields, columns, where, touchedIf = sql`false` } = options;
  return rendered<T, Values>(
    name,
    sql`with stored as (select ${table} as record from ${table} where ${where} for update),
      patched as (select input.* from stored, jsonb_populate_record(stored.record, ${sql.placeholder('patch')}::jsonb) input),
      changed as (
        update ${table} set (${names(columns)}) = row(${namesOf('patched', columns)}), updated_at = ${touched(table.updatedAt)}
        from stored, patched
        where ${where} and (${touchedIf}
          or row(${namesOf('(stored.record)', columns)}) is distinct from row(${namesOf('patched', columns)}))
        returning ${table}.*)
      ${jsonRows(
        fields,
        sql`from (select * from changed union all
          select (record).* from stored where not exists (select from changed)) ${sql.identifier(getTableName(table))}`,
      )}`,
  );
}
