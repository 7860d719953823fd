import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { type Fields, type Json, jsonRows } from './json.ts';
import type { OrganizationScope } from './scope.ts';
import { rendered, type Statement } from './statement.ts';

export type Page<T> = { data: T[]; pagination: { limit: number; offset: number; total: number } };

/** Rows of a page at most. */
export const MAX_LIMIT = 100;

type TenantTable = PgTable & { organizationId: PgColumn; id: PgColumn };

type ListOptions<T, Filter extends string> = {
  /** Name of the operation; its prepared statements carry it. */
  name: string;
  table: TenantTable;
  fields: Fields<T>;
  /** Tables that only `fields` need; they join the page, not the search for it. */
  joins?: SQL;
  /** What makes a row visible; the index of every filter is partial on the same predicate. */
  visible?: SQL;
  /** Ends in the id, so that no row repeats or vanishes between pages for want of an order. */
  order: SQL[];
  /** The condition of each filter; its value is `sql.placeholder` of the same name. */
  filters?: Record<Filter, SQL>;
  /** Filters whose value decides which plan is good: a search term, a tag. Lists filtered by one are planned anew each time. */
  plannedFor?: Filter[];
  /** Of the unfiltered list; without it, the rows are counted. */
  total?: SQL;
};

/** `column` from new to old, as the indexes have it. */
export const newestFirst = (column: PgColumn): SQL => sql`${column} desc nulls last`;

/** True where the folded search text contains the value of `query`. */
export const searchFilter = (search: PgColumn): SQL =>
  sql`${search} like contains_pattern(${sql.placeholder('query')})`;

/**
 * Makes the function that answers a list: one statement, whose result is the response body. The page is cut from the
 * narrow rows that the index holds; only its rows are then joined and rendered, each found by its primary key. Every
 * set of filters that is sent has a statement of its own, so that each is planned for its own index. The limit stands
 * there twice: of a parameter alone PostgreSQL would expect a tenth of the table, and plan the statement anew each time,
 * which takes up to as long as to run it. For the same reason a first page has no offset.
 */
export function defineList<T, Filter extends string = never>(options: ListOptions<T, Filter>) {
  const { name, table, visible, order } = options;
  const filters = Object.entries(options.filters ?? {}) as [Filter, SQL][];
  const statements = new Map<string, Statement<{ body: Json<Page<T>> }, Record<string, unknown>>>();

  function compose(sent: readonly [Filter, SQL][], skips: boolean) {
    const where = sql.join(
      [
        sql`${table.organizationId} = ${sql.placeholder('organizationId')}`,
        ...(visible ? [visible] : []),
        ...sent.map(([, condition]) => condition),
      ],
      sql` and `,
    );
    const item = jsonRows(
      options.fields,
      sql`from ${table} ${options.joins ?? sql``}
        where ${table.organizationId} = ${sql.placeholder('organizationId')} and ${table.id} = page.id`,
    );
    const total =
      sent.length === 0 && options.total ? options.total : sql`select count(*) from ${table} where ${where}`;
    const query = sql`select concat(
      '{"data":[',
      (select string_agg((${item}), ',') from (
        select found.id from (
          select ${table.id} as id from ${table} where ${where}
          order by ${sql.join(order, sql`, `)}
          limit ${sql.raw(String(MAX_LIMIT))} ${skips ? sql`offset ${sql.placeholder('offset')}` : sql``}
        ) found limit ${sql.placeholder('limit')}
      ) page),
      '],"pagination":{"limit":', ${sql.placeholder('limit')}::int,
      ',"offset":', ${sql.placeholder('offset')}::int,
      ',"total":', (${total}), '}}') as body`;
    const names: string[] = sent.map(([filter]) => filter);
    const isPlanned = sent.some(([filter]) => options.plannedFor?.includes(filter));
    return rendered<Page<T>, Record<string, unknown>>(
      isPlanned ? undefined : [name, ...names, ...(skips ? ['offset'] : [])].join(' '),
      query,
    );
  }

  /** A page of `limit` rows, MAX_LIMIT at most. */
  return async (
    scope: OrganizationScope,
    query: { limit: number; offset: number } & Partial<Record<Filter, string | undefined>>,
  ): Promise<Json<Page<T>>> => {
    if (query.limit > MAX_LIMIT) throw new RangeError(`${name} has pages of ${MAX_LIMIT} rows at most.`);
    const sent = filters.filter(([filter]) => query[filter] !== undefined);
    const skips = query.offset > 0;
    const key = [skips, ...sent.map(([filter]) => filter)].join();
    const statement = statements.get(key) ?? compose(sent, skips);
    statements.set(key, statement);
    const [row] = await scope.db.read(statement, { ...query, organizationId: scope.organizationId });
    if (!row) throw new Error(`${name} returned no row.`);
    return row.body;
  };
}
