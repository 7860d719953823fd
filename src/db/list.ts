import { hash } from 'node:crypto';
import { getTableName, is, type Placeholder, type SQL, sql } from 'drizzle-orm';
import { type PgColumn, PgUUID } from 'drizzle-orm/pg-core';
import type { z } from 'zod';
import { idOrNone } from './ids.ts';
import { type Json, jsonRows } from './json.ts';
import { liveTotal } from './live-count.ts';
import { nameOf, organizationParam, type View } from './resource.ts';
import type { OrganizationScope } from './scope.ts';
import { canSearch } from './searchable.ts';
import { MAX_NAME_BYTES, type Params, rendered, type Statement } from './statement.ts';
import { storedBody } from './stored-body.ts';

export type Page<T> = { data: T[]; pagination: { limit: number; offset: number; total: number } };

/** The largest page, in rows. */
export const MAX_LIMIT = 100;

/** A condition on the rows of a list, with one value from the request. */
export type Filter = {
  /** What it compares. */
  column: PgColumn;
  where: (value: Placeholder) => SQL;
  /** Turns the text that was sent into the value that is compared. */
  toValue?: (sent: string) => unknown;
  /**
   * Only an index without an order has the rows that match. Such a list looks where searches look, if the resource has
   * that, and is planned at each run, because the value decides which plan is good.
   */
  isSearch?: boolean;
};

/** The column has exactly this value. Text that is no id matches no id. */
export const equals = (column: PgColumn): Filter => ({
  column,
  where: (value) => sql`${column} = ${value}`,
  ...(is(column, PgUUID) && { toValue: idOrNone }),
});

/** The folded search text contains this text. */
export const contains = (search: PgColumn): Filter => ({
  column: search,
  where: (text) => sql`${search} like contains_pattern(${text})`,
  isSearch: true,
});

/** The array has exactly this entry. */
export const hasEntry = (column: PgColumn): Filter => ({
  column,
  where: (entry) => sql`${column} @> array[${entry}]::text[]`,
  isSearch: true,
});

/** `column` in descending order, as the indexes have it. */
export const newestFirst = (column: PgColumn): SQL => sql`${column} desc nulls last`;

type FilterName<Query extends z.ZodObject> = Exclude<keyof z.infer<Query>, 'limit' | 'offset'> & string;

type ListOptions<Query extends z.ZodObject> = {
  /** The beginning of its statements' names. */
  name?: string;
  /** The schema of the query. Each of its parameters has a filter, except limit and offset. */
  query: Query;
  /** The last column must be the id. Without a complete order, a row could appear on two pages or on none. */
  order: SQL[];
  filters: Record<FilterName<Query>, Filter>;
};

const all = (...conditions: SQL[]): SQL => sql.join(conditions, sql` and `);

/** The list and its filters; where that is too long for PostgreSQL, the list and a digest of it. */
function variantName(parts: readonly [string, ...string[]]): string {
  const name = parts.join(' ');
  return Buffer.byteLength(name) <= MAX_NAME_BYTES
    ? name
    : `${parts[0]} ${hash('sha256', name, 'base64url').slice(0, 22)}`;
}

/**
 * Makes the function that answers a list, with one statement whose result is the response body. The inner query finds
 * the ids of the page in an index alone; only these rows are then joined and rendered. Each set of filters has its
 * own statement, so that PostgreSQL plans it for the right index.
 */
export function defineList<T, Query extends z.ZodObject>(view: View<T>, options: ListOptions<Query>) {
  const { table, visible } = view;
  const { name = `${nameOf(view)}.list`, order } = options;
  const filters = Object.entries(options.filters) as [FilterName<Query>, Filter][];
  const statements = new Map<string, Statement<{ body: Json<Page<T>> }, Record<string, unknown>>>();

  for (const [filter, { column }] of filters)
    if (view.searchable && !canSearch(view.searchable, column))
      throw new Error(`The filter ${filter} needs its column in ${getTableName(view.searchable.table)}.`);

  let isLoaded = false;

  function compose(sent: readonly [FilterName<Query>, Filter][], skips: boolean) {
    const limit = sql.placeholder('limit');
    const offset = sql.placeholder('offset');
    const isSearch = sent.some(([, filter]) => filter.isSearch);
    const searchable = isSearch ? view.searchable?.table : undefined;
    const isOwn = sql`${table.organizationId} = ${organizationParam}`;
    const matches = all(isOwn, visible, ...sent.map(([filter, { where }]) => where(sql.placeholder(filter))));
    // Under the name of the resource's own table, the conditions read the columns of the searchable one.
    const source = searchable ? sql`${searchable} ${sql.identifier(nameOf(view))}` : sql`${table}`;
    const found = sql`from ${source} where ${matches}`;
    const where = searchable
      ? all(isOwn, visible, sql`${table.id} in (select ${table.id} ${found})`)
      : matches;
    const item = storedBody(
      view,
      'page',
      jsonRows(
        view.fields,
        sql`from ${table} ${view.joins ?? sql``}
          where ${table.organizationId} = ${organizationParam} and ${table.id} = page.id`,
      ),
    );
    const updatedAt = view.bodies ? sql`, updated_at` : sql``;
    const total = sent.length === 0 && view.isCounted ? liveTotal(view) : sql`select count(*) ${found}`;
    // The limit stands there twice. With only a parameter PostgreSQL would expect a tenth of the table, reject its
    // generic plan and plan at each run, which takes up to as long as the query. A first page has no offset for the
    // same reason.
    const query = sql<{ body: Json<Page<T>> }>`select concat(
      '{"data":[',
      (select string_agg(${item}, ',') from (
        select * from (
          select ${table.id} as id${updatedAt} from ${table} where ${where}
          order by ${sql.join(order, sql`, `)}
          limit ${sql.raw(String(MAX_LIMIT))} ${skips ? sql`offset ${offset}` : sql``}
        ) found limit ${limit}
      ) page),
      '],"pagination":{"limit":', ${limit}::int, ',"offset":', ${offset}::int, ',"total":', (${total}), '}}') as body`;
    const parts = [name, ...sent.map(([filter]) => filter), ...(skips ? ['offset'] : [])] as const;
    return rendered(variantName(parts), (_: Params<Record<string, unknown>>) => query, {
      isPrepared: !isSearch,
      isVariant: isLoaded,
    });
  }

  function statementFor(sent: readonly [FilterName<Query>, Filter][], skips: boolean) {
    const key = [skips, ...sent.map(([filter]) => filter)].join();
    const statement = statements.get(key) ?? compose(sent, skips);
    statements.set(key, statement);
    return statement;
  }

  // Composed at the start, so that docs/sql has them: the plain list, a later page, each filter alone.
  statementFor([], false);
  statementFor([], true);
  for (const filter of filters) statementFor([filter], false);
  isLoaded = true;

  /** A page of `limit` rows, MAX_LIMIT at most. */
  return async (
    { db, organizationId }: OrganizationScope,
    query: z.infer<Query> & { limit: number; offset: number },
  ): Promise<Json<Page<T>>> => {
    if (query.limit > MAX_LIMIT) throw new RangeError(`${name} has pages of ${MAX_LIMIT} rows at most.`);
    const sent = filters.filter(([filter]) => query[filter] !== undefined);
    const values = sent.map(([filter, { toValue }]) => [
      filter,
      toValue ? toValue(query[filter] as string) : query[filter],
    ]);
    const [row] = await db.read(statementFor(sent, query.offset > 0), {
      ...Object.fromEntries(values),
      organizationId,
      limit: query.limit,
      offset: query.offset,
    });
    if (!row) throw new Error(`${name} returned no row.`);
    return row.body;
  };
}
