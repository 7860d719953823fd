import { and, eq, getTableName, inArray, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { z } from 'zod';
import { MAX_LIMIT } from '../../contract/fields.ts';
import type { OrganizationScope } from '../pool/scope.ts';
import { type Json, jsonList } from '../sql/json.ts';
import { columns, ofOrganization, qb, selectList, type View } from '../sql/query.ts';
import { nameOfParts, type Params, prepared, statementsBySet, unprepared } from '../sql/statement.ts';
import { liveCounts } from '../tables/live-counts.ts';
import type { Resource, TenantTable } from '../tables/resource.ts';
import type { Filter, Filters } from './filters.ts';

export type Page<T> = { data: T[]; pagination: { limit: number; offset: number; total: number } };

/** A page as JSON. Headers need its total, and when it was read: seconds since 1970, by the database's clock. */
export type PageJson<T> = Json<Page<T>> & { readonly total: number; readonly readAt?: number };

/** As the indexes are ordered. With the id, the order is total: each row is on one page. */
export const newestFirst = ({ id }: TenantTable, column: PgColumn): SQL =>
  sql`${column} desc nulls last, ${id} desc nulls last`;

export const oldestFirst = ({ id }: TenantTable, column: PgColumn): SQL => sql`${column}, ${id}`;

/** Of these, none selects records by itself: `contactType` belongs to `contact`. */
type NoFilter = 'limit' | 'offset' | 'archived' | 'contactType';

type Parameter<Query extends z.ZodObject> = Exclude<keyof z.infer<Query>, NoFilter>;

export type ListOptions<Query extends z.ZodObject> = {
  query: Query;
  order: SQL;
  filters: Record<Parameter<Query> & string, Filter> & Filters;
  /** What `archived=true` lists. Archived records have neither search documents nor kept totals. */
  archived?: { visible: SQL; order: SQL };
};

/** The values of a request by the entries of its filters: `stageId=A,B` is the value of `stageId_several`. */
export function valuesOf(filters: Filters, query: Readonly<Record<string, unknown>>) {
  const values: Record<string, unknown> = {};
  for (const [name, { value }] of Object.entries(filters)) {
    if (query[name] === undefined) continue;
    const bound = value ? value(String(query[name]), query) : query[name];
    const entry = bound === null ? `${name}_none` : Array.isArray(bound) ? `${name}_several` : name;
    values[entry in filters ? entry : name] = bound;
  }
  return values;
}

/** The condition of these entries, and the statement that counts what they find. */
export function matching(
  { table, visible, searchDocument: documents }: Pick<Resource, 'table' | 'visible' | 'searchDocument'>,
  filters: Filters,
  entries: readonly string[],
) {
  const used = entries.flatMap((name) =>
    filters[name] ? [{ ...filters[name], $: sql.placeholder(name) }] : [],
  );
  const isHere = and(ofOrganization(table), visible);
  if (!documents || !used.some(({ isSearch }) => isSearch)) {
    const where = and(isHere, ...used.map(({ where, $ }) => where($)));
    return { where, count: sql`select count(*) as total from ${table} where ${where}` };
  }
  const isFound = and(ofOrganization(documents), ...used.map(({ inDocuments, $ }) => inDocuments?.($)));
  const found = qb
    .select(columns({ id: documents.id }))
    .from(documents)
    .where(isFound);
  const others = used.filter(({ inDocuments }) => !inDocuments).map(({ where, $ }) => where($));
  const where = and(isHere, ...others, inArray(table.id, found));
  // Only active records have search documents, so these can be counted instead.
  const [from, isCounted] = others.length === 0 ? [documents, isFound] : [table, where];
  return { where, count: sql`select count(*) as total from ${from} where ${isCounted}` };
}

/** The total that triggers keep in `live_counts`, if they keep one for these filters. */
function keptTotal({ table, isCounted, countedBy }: Resource, [entry, ...others]: string[]): SQL | undefined {
  const resource = entry === undefined ? getTableName(table) : entry === countedBy?.field && countedBy.name;
  if (!isCounted || !resource || others.length > 0) return undefined;
  const ofResource = eq(liveCounts.resource, sql.raw(`'${resource}'`));
  const ofValue = entry === undefined ? undefined : eq(liveCounts.value, sql.placeholder(entry));
  return sql`select coalesce(sum(${liveCounts.live}), 0) as total from ${liveCounts}
    where ${and(ofOrganization(liveCounts), ofResource, ofValue)}`;
}

/** An empty page has one row, without a body. */
type PageRow = { body: Json<unknown> | null; readAt: string; total?: string | null };

type Values = { organizationId: string; limit: number; offset: number } & Record<string, unknown>;

/**
 * Lists what the filters of a request find. Each set of filters has its own statements, so that PostgreSQL plans them for the
 * right index. The page with `stageId`:
 *
 *     select row_to_json(item) as body, floor(extract(epoch from now())) as "readAt",
 *       case when row_number() over () = $limit then (select count(*) from opportunities where …) end as total
 *     from (select) clock left join (select id, title, … from (select * from (
 *         select * from opportunities where organization_id = $organizationId and archived_at is null and stage_id = $stageId
 *         order by updated_at desc nulls last, id desc nulls last limit 100) page limit $limit) opportunities
 *       order by updated_at desc nulls last, id desc nulls last) item on true
 */
export function defineList<T, Query extends z.ZodObject>(
  name: string,
  view: View<T>,
  { order, archived, ...options }: ListOptions<Query>,
) {
  const filters: Filters = options.filters;

  const define = (entries: readonly string[]) => {
    const ofArchived = { ...archived, isCounted: false, searchDocument: undefined };
    const { fields, ...list } = { ...view, order, ...(entries.includes('archived') && ofArchived) };
    const { table } = list;
    const used = entries.flatMap((entry) => filters[entry] ?? []);
    const isPlanned = used.some(({ isPlannedEachTime }) => isPlannedEachTime);
    const compose = isPlanned ? unprepared : prepared;
    const skips = entries.includes('offset');
    const ofTotal = entries.filter((entry) => entry !== 'offset');
    const { where, count } = matching(list, filters, entries);
    const total = sql<{ total: string }>`${keptTotal(list, ofTotal) ?? count}`;

    // The SQL also has MAX_LIMIT as a constant, and a first page has no offset: with parameters alone, PostgreSQL would
    // estimate a tenth of the table, and plan again at each run.
    const page = (columns: SQL): SQL => sql`select * from (
      select ${columns} from ${table} where ${where} order by ${list.order}
      limit ${sql.raw(String(MAX_LIMIT))} ${skips ? sql`offset ${sql.placeholder('offset')}` : sql``}
    ) page limit ${sql.placeholder('limit')}`;
    // Skipped and rejected rows cost an index-only scan.
    const source =
      skips || isPlanned
        ? sql`${table} where ${ofOrganization(table)} and ${table.id} = any(array(${page(sql`${table.id}`)}))`
        : sql`(${page(sql`*`)}) ${table}`;
    // A page that is not full shows its total. Where the list is planned each time, the total may cost as much as the page.
    const isFull = sql`row_number() over () = ${sql.placeholder('limit')}`;
    const withTotal = isPlanned ? sql`` : sql`, case when ${isFull} then (${total}) end as total`;

    const pageSql = sql<PageRow>`select row_to_json(item) as body, floor(extract(epoch from now())) as "readAt"${withTotal}
      from (select) clock left join (select ${selectList(fields)} from ${source} order by ${list.order}) item on true`;
    const isShort = used.length === 1 && used[0]?.isShort === true;
    return {
      page: compose(nameOfParts([name, ...entries]), (_: Params<Values>) => pageSql, { isShort }),
      total: compose(nameOfParts([`${name}_total`, ...ofTotal]), (_: Params<Values>) => total),
    };
  };
  const single = [[], ...Object.keys(filters).map((entry) => [entry])];
  const ofArchived = archived ? single.map((entries) => [...entries, 'archived']) : [];
  const statementsFor = statementsBySet(define, [...single, ...ofArchived, ['offset']]);

  return async (
    scope: OrganizationScope,
    query: { limit: number; offset: number; archived?: 'true' | undefined } & Partial<z.infer<Query>>,
  ): Promise<PageJson<T>> => {
    const { limit, offset } = query;
    const sent = valuesOf(filters, query);
    const values = { ...sent, limit, offset };
    const states = [query.archived ? 'archived' : [], offset > 0 ? 'offset' : []].flat();
    const statements = statementsFor([...Object.keys(sent), ...states]);

    const rows = await scope.read(statements.page, values);
    const records = rows.flatMap(({ body }) => body ?? []);
    const isLast = records.length < limit && (records.length > 0 || offset === 0);
    const count = isLast
      ? offset + records.length
      : (rows.at(-1)?.total ?? (await scope.read(statements.total, values))[0]?.total);
    const total = Number(count ?? 0);
    const end = `],"pagination":{"limit":${limit},"offset":${offset},"total":${total}}}`;
    return Object.assign(jsonList<Page<T>>(records, end), { total, readAt: Number(rows[0]?.readAt) });
  };
}
