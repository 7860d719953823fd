import { eq, is, isNull, type Placeholder, type SQL, sql } from 'drizzle-orm';
import { type PgColumn, PgUUID } from 'drizzle-orm/pg-core';
import { isId } from '../sql/ids.ts';
import type { Resource } from '../tables/resource.ts';

type Id = Placeholder | SQL;

export type Filter = {
  /** A condition on columns; `$` is the value of the request. */
  where: ($: Placeholder) => SQL;
  /** The same condition on the copies in the search documents. */
  inDocuments?: (($: Placeholder) => SQL) | undefined;
  /** Converts the text of a request: null for none, an array for several. */
  value?: ((sent: string, query: Readonly<Record<string, unknown>>) => unknown) | undefined;
  /** Found by an index of the search documents, which has no order. */
  isSearch?: boolean;
  /** The value decides the best plan, and the total may cost as much as the page. */
  isPlannedEachTime?: boolean;
  /** A key finds the few rows that match. */
  isShort?: boolean;
};

export type Filters = Readonly<Record<string, Filter>>;

/** @param copy of the column, in the search documents */
export const equals = (column: PgColumn, copy?: PgColumn): Filter => ({
  where: ($) => eq(column, $),
  inDocuments: copy && (($) => eq(copy, $)),
  // PostgreSQL rejects text that is not an id, whereas null equals none.
  value: is(column, PgUUID) ? (sent) => (isId(sent) ? sent : null) : undefined,
});

export const since = (column: PgColumn): Filter => ({ where: ($) => sql`${column} >= ${$}::timestamptz` });
export const before = (column: PgColumn): Filter => ({ where: ($) => sql`${column} < ${$}::timestamptz` });

/** A condition on a text in the search documents, or on that of an archived record, which has none. */
export const search =
  (condition: (text: SQL | PgColumn, $: Placeholder) => SQL) =>
  (text: SQL | PgColumn, copy: PgColumn): Filter => ({
    where: ($) => condition(text, $),
    inDocuments: ($) => condition(copy, $),
    isSearch: true,
    isPlannedEachTime: true,
  });

export const contains = search((text, $) => sql`${text} like contains_pattern(${$})`);
export const hasEntry = search((column, $) => sql`${column} @> array[${$}]::text[]`);

/** Null for `null`, else one id or several. An entry that is no id finds nothing. */
function idsOf(list: string): string | string[] | null {
  const entries = list.split(',').map((entry) => entry.trim());
  const [id, ...others] = entries.filter(isId);
  if (id === undefined) return entries.join() === 'null' ? null : [];
  return others.length === 0 ? id : [id, ...others];
}

/**
 * A filter by one id, by several, or by `null` for none: each has a statement of its own, planned for what it finds.
 * @param survivorOf the id that a sent one means, after a merge
 */
export function byId<Name extends string>(
  name: Name,
  column: PgColumn,
  survivorOf?: (id: Id) => SQL,
  condition = (id: Id): SQL => sql`${column} = ${id}`,
) {
  const survivors = (ids: Id) =>
    survivorOf && sql`array(select ${survivorOf(sql`sent.id`)} from unnest(${ids}::uuid[]) as sent(id))`;
  const any = (ids: Id) => sql`any(${survivors(ids) ?? sql`${ids}::uuid[]`})`;
  const filters: Filters = {
    [name]: { where: ($) => condition(survivorOf?.($) ?? $), value: idsOf },
    // Before version 17, PostgreSQL would look for nulls in a column that has none.
    [`${name}_none`]: { where: () => (column.notNull ? sql`false` : isNull(column)) },
    [`${name}_several`]: { where: ($) => condition(any($)), isPlannedEachTime: true },
  };
  return filters as Record<Name | `${Name}_none` | `${Name}_several`, Filter>;
}

// Not `any(ids)`: for a few ids, PostgreSQL would plan at each run, which takes three times as long. For 100 it makes no difference.
const isListed = (id: PgColumn) => (ids: Id) => sql`${id} = any(array(select unnest(${ids}::uuid[])))`;

type Created = Resource & { table: { createdAt: PgColumn } };

export const recordFilters = ({ table, searchDocument }: Created) => ({
  createdSince: { ...since(table.createdAt), isPlannedEachTime: true },
  createdBefore: { ...before(table.createdAt), isPlannedEachTime: true },
  ids: {
    where: isListed(table.id),
    inDocuments: searchDocument && isListed(searchDocument.id),
    value: (sent: string) => [idsOf(sent) ?? []].flat(),
  },
});

/** Filters of lists that are ordered by `updatedAt`. */
export const changeFilters = (resource: Created & { table: { updatedAt: PgColumn } }) => ({
  ...recordFilters(resource),
  updatedSince: since(resource.table.updatedAt),
  updatedBefore: before(resource.table.updatedAt),
});
