import { eq, is, isNull, type Placeholder, type SQL, sql } from 'drizzle-orm';
import { type PgColumn, PgUUID } from 'drizzle-orm/pg-core';
import { idOrNull, isId } from '../sql/ids.ts';
import type { Resource } from '../tables/resource.ts';

/** A condition on columns; `$` is the value of the request. */
type Condition = ($: Placeholder) => SQL;

export type Filter = {
  where: Condition;
  /** The same condition on the copies in the search documents. */
  inDocuments?: Condition | undefined;
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
  // PostgreSQL rejects text that is not an id.
  value: is(column, PgUUID) ? idOrNull : undefined,
});

export const since = (column: PgColumn): Filter => ({ where: ($) => sql`${column} >= ${$}::timestamptz` });
export const before = (column: PgColumn): Filter => ({ where: ($) => sql`${column} < ${$}::timestamptz` });

/** A text in the search document, or in that of an archived record, which has none. */
export const contains = (text: SQL, copy: PgColumn): Filter => ({
  where: ($) => sql`${text} like contains_pattern(${$})`,
  inDocuments: ($) => sql`${copy} like contains_pattern(${$})`,
  isSearch: true,
  isPlannedEachTime: true,
});

export const hasEntry = (column: PgColumn, copy: PgColumn): Filter => ({
  where: ($) => sql`${column} @> array[${$}]::text[]`,
  inDocuments: ($) => sql`${copy} @> array[${$}]::text[]`,
  isSearch: true,
  isPlannedEachTime: true,
});

/** Null for `null`, else one id or several. An entry that is no id finds nothing. */
export function idsOf(list: string): string | string[] | null {
  const entries = list.split(',').map((entry) => entry.trim());
  const [id, ...others] = entries.filter(isId);
  if (id === undefined) return entries.join() === 'null' ? null : [];
  return others.length === 0 ? id : [id, ...others];
}

const asSent = { one: ($: Placeholder) => sql`${$}`, several: ($: Placeholder) => sql`any(${$}::uuid[])` };

/** A filter by one id, by several, or by `null` for none: each has a statement of its own, planned for what it finds. */
export function byId<Name extends string>(name: Name, column: PgColumn, { one, several } = asSent) {
  const filters: Filters = {
    [name]: { where: ($) => sql`${column} = ${one($)}`, value: idsOf },
    [`${name}_none`]: { where: () => isNull(column) },
    [`${name}_several`]: { where: ($) => sql`${column} = ${several($)}`, isPlannedEachTime: true },
  };
  return filters as Record<Name | `${Name}_none` | `${Name}_several`, Filter>;
}

// Not `any(ids)`: for a few ids, PostgreSQL would plan at each run, which takes three times as long. For 100 it makes no difference.
const isListed = (id: PgColumn) => (ids: Placeholder) =>
  sql`${id} = any(array(select unnest(${ids}::uuid[])))`;

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
