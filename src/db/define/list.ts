import { getTableColumns, getTableName, is, type Placeholder, type SQL, sql } from 'drizzle-orm';
import { type PgColumn, PgUUID } from 'drizzle-orm/pg-core';
import type { z } from 'zod';
import type { OrganizationScope } from '../run/scope.ts';
import type { TenantTable } from '../schema/resource.ts';
import { idOrNull } from '../sql/ids.ts';
import { type Json, jsonRows } from '../sql/json.ts';
import { nameOfParts, type Params, prepared, type Statement, step, unprepared } from '../sql/statement.ts';
import { liveTotal } from './live-count.ts';
import { defineRender, renderingOf } from './read-row.ts';
import { organizationParam, tableName, type View } from './view.ts';

export type Page<T> = { data: T[]; pagination: { limit: number; offset: number; total: number } };

/** The largest page, in rows. */
export const MAX_LIMIT = 100;

/** A condition on the rows of a list, with one value from the request. */
export type Filter = {
  /** The field whose column it compares. */
  field: string;
  where: (column: PgColumn, value: Placeholder) => SQL;
  /**
   * Only an index without an order has the rows that match. Such a list looks where searches look, if the resource has
   * that, and is planned at each run, because the value decides which plan is good.
   */
  isSearch?: boolean;
};

/** The field has exactly this value. Text that is no id matches no id. */
export const equals = (field: string): Filter => ({
  field,
  where: (column, value) => sql`${column} = ${value}`,
});

/** The folded search text contains this text. */
export const contains = (field: string): Filter => ({
  field,
  where: (column, text) => sql`${column} like contains_pattern(${text})`,
  isSearch: true,
});

/** The array has exactly this entry. */
export const hasEntry = (field: string): Filter => ({
  field,
  where: (column, entry) => sql`${column} @> array[${entry}]::text[]`,
  isSearch: true,
});

/** The fields that a list is ordered by. */
export type Order = readonly { field: string; direction: 'asc' | 'desc nulls last' }[];

/** Descending, as the indexes have it. The id makes the order complete: no row is on two pages or on none. */
export const newestFirst = (field: string): Order => [
  { field, direction: 'desc nulls last' },
  { field: 'id', direction: 'desc nulls last' },
];

export const oldestFirst = (field: string): Order => [
  { field, direction: 'asc' },
  { field: 'id', direction: 'asc' },
];

type FilterName<Query extends z.ZodObject> = Exclude<keyof z.infer<Query>, 'limit' | 'offset'> & string;

type ListOptions<Query extends z.ZodObject> = {
  /** The beginning of its statements' names. */
  name?: string;
  /** The schema of the query. Each of its parameters has a filter, except limit and offset. */
  query: Query;
  order: Order;
  filters: Record<FilterName<Query>, Filter>;
};

/** A row of a page. Without a body the record is still to be rendered. */
type Row<T> = { id: string; body: Json<T> | null };
type Values = { organizationId: string; limit: number; offset: number } & Record<string, unknown>;

type Statements<T> = {
  page: Statement<Row<T>, Values>;
  total: Statement<{ total: string }, Values>;
};

function columnOf(table: TenantTable, field: string): PgColumn {
  const column = (getTableColumns(table) as Record<string, PgColumn>)[field];
  if (!column) throw new Error(`A list needs ${field} in ${getTableName(table)}.`);
  return column;
}

const all = (conditions: readonly SQL[]): SQL => sql.join([...conditions], sql` and `);

/**
 * Makes the function that answers a list: a page of rows in their order, and the total beside it, sent together. Each set
 * of filters has its own two statements, so that PostgreSQL plans them for the right index.
 */
export function defineList<T, Query extends z.ZodObject>(view: View<T>, options: ListOptions<Query>) {
  const { name = `${tableName(view)}.list`, order } = options;
  const { readRow, searchRow } = view;
  /** The table that has the order. A row of `readRow` is there while its record is visible. */
  const table = readRow ?? view.table;
  const filters = Object.entries(options.filters) as [FilterName<Query>, Filter][];
  const statements = new Map<string, Statements<T>>();

  const ofOrganization = (of: TenantTable): SQL => sql`${of.organizationId} = ${organizationParam}`;
  const isVisible = readRow ? [] : [view.visible];
  const orderBy = sql.join(
    order.map(({ field, direction }) => sql`${columnOf(table, field)} ${sql.raw(direction)}`),
    sql`, `,
  );
  const limit = sql.placeholder('limit');
  const offset = sql.placeholder('offset');

  const conditions = (of: TenantTable, sent: readonly [FilterName<Query>, Filter][]): SQL[] =>
    sent.map(([filter, { field, where }]) => where(columnOf(of, field), sql.placeholder(filter)));

  /** The rows that match, for the page and for counting them. */
  function matching(sent: readonly [FilterName<Query>, Filter][]): { where: SQL; counted: SQL } {
    if (!searchRow || !sent.some(([, { isSearch }]) => isSearch)) {
      const where = all([ofOrganization(table), ...isVisible, ...conditions(table, sent)]);
      return { where, counted: sql`from ${table} where ${where}` };
    }
    const { table: searched } = searchRow;
    const found = all([
      ofOrganization(searched),
      sql`${searched.archivedAt} is null`,
      ...conditions(searched, sent),
    ]);
    const counted = sql`from ${searched} where ${found}`;
    const where = all([
      ofOrganization(table),
      ...isVisible,
      sql`${table.id} in (select ${searched.id} ${counted})`,
    ]);
    return { where, counted };
  }

  /** The body of a row of `page`. */
  const body = readRow
    ? sql`case when ${readRow.rendering} = ${renderingOf(view)} then ${readRow.body} end`
    : sql`(${jsonRows(view.fields, sql`from ${view.table} ${view.joins ?? sql``} where ${ofOrganization(view.table)} and ${view.table.id} = page.id`)})`;

  // The limit stands there twice. With only a parameter PostgreSQL would expect a tenth of the table, reject its generic
  // plan and plan at each run, which takes up to as long as the query. A first page has no offset for the same reason.
  const cut = (select: SQL, where: SQL, skips: boolean): SQL => sql`select * from (
      select ${select} from ${table} where ${where} order by ${orderBy}
      limit ${sql.raw(String(MAX_LIMIT))} ${skips ? sql`offset ${offset}` : sql``}
    ) page limit ${limit}`;

  function pageOf(where: SQL, skips: boolean, isSearch: boolean): SQL<Row<T>> {
    const ids = cut(sql`${table.id} as id`, where, skips);
    if (!readRow) return sql<Row<T>>`select page.id, ${body} as body from (${ids}) page`;
    // Rows that are skipped, or that a search does not find, are read in the index alone.
    if (skips || isSearch)
      return sql<Row<T>>`select ${table.id}, ${body} as body from ${table}
        where ${ofOrganization(table)} and ${table.id} = any(array(select id from (${ids}) ids)) order by ${orderBy}`;
    // PostgreSQL expects a tenth of the rows at each unknown limit. Behind two, it takes its generic plan for whole rows too:
    // 0.6 of the time of planning at each run.
    return sql<
      Row<T>
    >`select * from (${cut(sql`${table.id}, ${body} as body`, where, skips)}) page limit ${limit}`;
  }

  let isLoaded = false;

  function compose(sent: readonly [FilterName<Query>, Filter][], skips: boolean): Statements<T> {
    const { where, counted } = matching(sent);
    const isSearch = sent.some(([, filter]) => filter.isSearch);
    const make = isSearch ? unprepared : prepared;
    const names = sent.map(([filter]) => filter);
    const counts =
      sent.length === 0 && view.isCounted ? liveTotal(view) : sql`select count(*) as total ${counted}`;
    return {
      page: make(
        nameOfParts([name, ...names, ...(skips ? ['offset'] : [])]),
        (_: Params<Values>) => pageOf(where, skips, isSearch),
        { isVariant: isLoaded },
      ),
      total: make(
        nameOfParts([`${name}_total`, ...names]),
        (_: Params<Values>) => sql<{ total: string }>`${counts}`,
        { isVariant: isLoaded },
      ),
    };
  }

  function statementsFor(sent: readonly [FilterName<Query>, Filter][], skips: boolean): Statements<T> {
    const key = [skips, ...sent.map(([filter]) => filter)].join();
    const found = statements.get(key) ?? compose(sent, skips);
    statements.set(key, found);
    return found;
  }

  // Composed at the start, so that docs/sql has them: the plain list, a later page, each filter alone. A filter without its
  // column fails here.
  statementsFor([], false);
  statementsFor([], true);
  for (const filter of filters) {
    statementsFor([filter], false);
    if (searchRow) columnOf(searchRow.table, filter[1].field);
  }
  isLoaded = true;
  const render = readRow && defineRender(view);

  const isIdField = ({ field }: Filter): boolean =>
    !(searchRow && field === 'search') && is(columnOf(searchRow?.table ?? table, field), PgUUID);

  /** A page of `limit` rows, MAX_LIMIT at most. */
  return async (
    scope: OrganizationScope,
    query: z.infer<Query> & { limit: number; offset: number },
  ): Promise<Json<Page<T>>> => {
    const { db, organizationId } = scope;
    if (query.limit > MAX_LIMIT) throw new RangeError(`${name} has pages of ${MAX_LIMIT} rows at most.`);
    const sent = filters.filter(([filter]) => query[filter] !== undefined);
    const values: Values = { organizationId, limit: query.limit, offset: query.offset };
    for (const [filter, definition] of sent) {
      const value = query[filter];
      Object.assign(values, { [filter]: isIdField(definition) ? idOrNull(value as string) : value });
    }
    const { page, total } = statementsFor(sent, query.offset > 0);

    let rows: Row<T>[];
    let count: string | number | undefined;
    if (sent.some(([, { isSearch }]) => isSearch)) {
      rows = await db.read(page, values);
      // A search costs the same again to count. The last page tells the total itself.
      const isLast = rows.length < query.limit && (rows.length > 0 || query.offset === 0);
      count = isLast ? query.offset + rows.length : (await db.read(total, values))[0]?.total;
    } else {
      const [found, counted] = await db.readTogether([step(page, values), step(total, values)]);
      [rows, count] = [found, counted[0]?.total];
    }

    const others = rows.filter((row) => row.body === null).map(({ id }) => id);
    const rendered = others.length > 0 ? await render?.(scope, others) : undefined;
    const bodies = rows.map((row) => row.body ?? rendered?.get(row.id)).filter((text) => text !== undefined);
    return `{"data":[${bodies.join()}],"pagination":{"limit":${query.limit},"offset":${query.offset},"total":${count ?? 0}}}` as Json<
      Page<T>
    >;
  };
}
