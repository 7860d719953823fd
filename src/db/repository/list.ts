import {
  and,
  eq,
  getTableColumns,
  getTableName,
  inArray,
  is,
  isNotNull,
  type Placeholder,
  type SQL,
  type SQLWrapper,
  sql,
} from 'drizzle-orm';
import { type PgColumn, PgUUID } from 'drizzle-orm/pg-core';
import type { z } from 'zod';
import { MAX_LIMIT } from '../../contract/fields.ts';
import type { OrganizationScope } from '../pool/scope.ts';
import { idOrNull, isId } from '../sql/ids.ts';
import { type Json, jsonList } from '../sql/json.ts';
import { as, ofOrganization, qb, selectList, type View } from '../sql/query.ts';
import {
  nameOfParts,
  type Params,
  prepared,
  type Statement,
  statementsBySet,
  unprepared,
} from '../sql/statement.ts';
import { customers } from '../tables/customers.ts';
import { liveCounts } from '../tables/live-counts.ts';
import type { TenantTable } from '../tables/resource.ts';

import type { ArchivableTable } from './record.ts';

export type Page<T> = { data: T[]; pagination: { limit: number; offset: number; total: number } };

/** A page as JSON. Headers need its total too. */
export type PageJson<T> = Json<Page<T>> & { readonly total: number };

export type Filter = {
  /** Its column is that of the search document, if that has the field. */
  field: string;
  where: (column: PgColumn | SQL, value: Placeholder) => SQL;
  /** Converts the value of the request for the statement. */
  value?: (requested: string, query: Readonly<Record<string, unknown>>) => unknown;
  /** The best plan depends on the value, so PostgreSQL plans the list at each run. */
  isPlannedEachTime?: boolean;
  /** The total has its own statement, which runs only if the page does not show the total. */
  isTotalLater?: boolean;
  isInSearchTable?: boolean;
  /** A key finds the few rows that match. */
  isShort?: boolean;
  /** Other conditions of the parameter, and which of them a value needs; undefined: the filter itself. */
  forms?: Readonly<Record<string, Filter>>;
  formOf?: (requested: string) => string | undefined;
};

const isEqual: Filter['where'] = (column, value) => sql`${column} = ${value}`;

/** Text that is not an id matches no id. */
export const equals = (field: string): Filter => ({ field, where: isEqual });

const compares =
  (operator: string) =>
  (field: string): Filter => ({
    field,
    where: (column, timestamp) => sql`${column} ${sql.raw(operator)} ${timestamp}::timestamptz`,
  });

export const since = compares('>=');
export const before = compares('<');

/** For a filter on a field that the list is not ordered by. */
export const plannedEachTime = (filter: Filter): Filter => ({ ...filter, isPlannedEachTime: true });

/** The value decides the best plan, and the total costs as much as the page. */
const ofMany = { isPlannedEachTime: true, isTotalLater: true };

const NONE = 'null';

const entriesOf = (list: string): string[] => list.split(',').map((entry) => entry.trim());

const idsOf = (list: string): string[] => entriesOf(list).filter(isId);

/** Whether a filter by ids finds the records that have none. */
const namesNone = (list: string): boolean => entriesOf(list).includes(NONE);

/** What the ids of a request refer to: one of them, and any of several. */
type Referred = { one: (id: Placeholder) => SQL; several: (ids: Placeholder) => SQL };

const themselves: Referred = {
  one: (id) => sql`${id}`,
  several: (ids) => sql`any(${ids}::uuid[])`,
};

/** A merged customer is the one that it was merged into. */
const survivors: Referred = {
  one: (id) => sql`coalesce((select ${customers.mergedInto} from ${customers}
    where ${ofOrganization(customers)} and ${customers.id} = ${id}), ${id}::uuid)`,
  several: (ids) => sql`any(array(
    select coalesce(${customers.mergedInto}, sent.id) from unnest(${ids}::uuid[]) as sent(id) left join ${customers}
      on ${ofOrganization(customers)} and ${customers.id} = sent.id))`,
};

type ById = {
  where?: (column: PgColumn | SQL, referred: SQL) => SQL;
  isNone?: (column: PgColumn | SQL) => SQL;
  referred?: Referred;
};

/** A filter by an id, by up to 100 ids, by `null` for none, or by both. */
export function byId(
  field: string,
  {
    where = (column, referred) => sql`${column} = ${referred}`,
    isNone = (column) => sql`${column} is null`,
    referred: { one, several } = themselves,
  }: ById = {},
): Filter {
  return {
    field,
    where: (column, id) => where(column, one(id)),
    value: (requested) => idOrNull(requested.trim()),
    formOf(requested) {
      if (!requested.includes(',')) return namesNone(requested) ? 'none' : undefined;
      return namesNone(requested) ? 'either' : 'several';
    },
    forms: {
      none: { field, where: isNone },
      several: { field, where: (column, ids) => where(column, several(ids)), value: idsOf, ...ofMany },
      either: {
        field,
        where: (column, ids) => sql`(${where(column, several(ids))} or ${isNone(column)})`,
        value: idsOf,
        ...ofMany,
      },
    },
  };
}

export const byCustomer = (field: string, conditions: ById = {}): Filter =>
  byId(field, { ...conditions, referred: survivors });

export const recordFilters = {
  createdSince: plannedEachTime(since('createdAt')),
  createdBefore: plannedEachTime(before('createdAt')),
  ids: {
    field: 'id',
    // Not `any(ids)`: for a few ids, PostgreSQL would plan at each run, which takes three times as long. For 100 it makes no difference.
    where: (id, ids) => sql`${id} = any(array(select unnest(${ids}::uuid[])))`,
    value: idsOf,
    isTotalLater: true,
  },
} satisfies Record<string, Filter>;

/** Filters of lists that are ordered by `updatedAt`. */
export const changeFilters = {
  ...recordFilters,
  updatedSince: since('updatedAt'),
  updatedBefore: before('updatedAt'),
};

/** The trigram index has no order: the total costs as much as the page. */
const inSearchTable = { ...ofMany, isInSearchTable: true };

export const contains = (): Filter => ({
  field: 'search',
  where: (column, text) => sql`${column} like contains_pattern(${text})`,
  ...inSearchTable,
});

export const hasEntry = (field: string): Filter => ({
  field,
  where: (column, entry) => sql`${column} @> array[${entry}]::text[]`,
  ...inSearchTable,
});

export type Order = readonly { field: string; direction: 'asc' | 'desc nulls last' }[];

/** As the indexes are ordered. With the id, the order is total: each row is on one page. */
export const newestFirst = (field: string): Order => [
  { field, direction: 'desc nulls last' },
  { field: 'id', direction: 'desc nulls last' },
];

export const oldestFirst = (field: string): Order => [
  { field, direction: 'asc' },
  { field: 'id', direction: 'asc' },
];

type FilterName<Query extends z.ZodObject> = Exclude<keyof z.infer<Query>, 'limit' | 'offset'> & string;

export type ListOptions<Query extends z.ZodObject> = {
  name?: string;
  query: Query;
  order: Order;
  filters: Record<FilterName<Query>, Filter>;
};

type Values = { organizationId: string; limit: number; offset: number } & Record<string, unknown>;

type PageRow = { body: Json<unknown>; total?: string };

type Statements = {
  page: Statement<PageRow, Values>;
  total: Statement<{ total: string }, Values>;
};

const columnsIn = (table: TenantTable) => getTableColumns(table) as Record<string, PgColumn>;

function columnOf(table: TenantTable, field: string, searchedText?: SQL): PgColumn | SQL {
  const column = columnsIn(table)[field] ?? (field === 'search' ? searchedText : undefined);
  if (!column) throw new Error(`A list needs ${field} in ${getTableName(table)}.`);
  return column;
}

const storedSum = (resource: string, value?: Placeholder) =>
  qb
    .select(as({ total: sql<string>`coalesce(sum(${liveCounts.live}), 0)` }))
    .from(liveCounts)
    .where(
      and(
        ofOrganization(liveCounts),
        eq(liveCounts.resource, sql.raw(`'${resource}'`)),
        value && eq(liveCounts.value, value),
      ),
    );

/** The records that the filters of a list find. */
function defineFilters<T, Query extends z.ZodObject>(view: View<T>, options: ListOptions<Query>) {
  const { table, visible, searchDocument } = view;
  type ActiveFilters = readonly [string, Filter][];
  const parameters = Object.entries(options.filters) as [FilterName<Query>, Filter][];
  const formName = (name: string, form: string | undefined) =>
    form === undefined ? name : `${name}_${form}`;
  const filters: ActiveFilters = parameters.flatMap(([name, filter]): [string, Filter][] => [
    [name, filter],
    ...Object.entries(filter.forms ?? {}).map(([form, other]): [string, Filter] => [
      formName(name, form),
      other,
    ]),
  ]);

  const condition =
    (of: TenantTable) =>
    ([filter, { field, where }]: [string, Filter]): SQL =>
      where(columnOf(of, field, view.searchedText), sql.placeholder(filter));

  /** The condition of the page, and the rows that make the total. */
  function matching(active: ActiveFilters) {
    const inSearchDocument =
      searchDocument && active.some(([, { isInSearchTable }]) => isInSearchTable)
        ? active.filter(([, { field }]) => field in columnsIn(searchDocument))
        : [];
    const others = active.filter((filter) => !inSearchDocument.includes(filter));
    const where = and(ofOrganization(table), visible, ...others.map(condition(table)));
    if (!searchDocument || inSearchDocument.length === 0) return { where, counted: { table, where } };
    const documents = {
      table: searchDocument,
      where: and(ofOrganization(searchDocument), ...inSearchDocument.map(condition(searchDocument))),
    };
    const { id } = searchDocument;
    const found = qb.select(as({ id })).from(searchDocument).where(documents.where);
    const both = and(where, inArray(table.id, found));
    // Only visible records have search documents, so these can be counted instead.
    return { where: both, counted: others.length === 0 ? documents : { table, where: both } };
  }

  function boundValue({ field, where, value }: Filter, requested: unknown, query: object): unknown {
    if (value) return value(requested as string, query as Record<string, unknown>);
    return where === isEqual && is(columnOf(table, field, view.searchedText), PgUUID)
      ? idOrNull(requested as string)
      : requested;
  }

  /** The filters of a request, by the names of their forms, and the values that they bind. */
  function activeIn(query: Partial<z.infer<Query>>) {
    const values: Record<string, unknown> = {};
    for (const [parameter, filter] of parameters) {
      const requested: unknown = query[parameter];
      if (requested === undefined) continue;
      const form = filter.formOf?.(requested as string);
      values[formName(parameter, form)] = boundValue(
        (form && filter.forms?.[form]) || filter,
        requested,
        query,
      );
    }
    return { names: Object.keys(values), values };
  }

  return { filters, matching, activeIn };
}

/** Each set of filters has its own statements, so that PostgreSQL plans them for the right index. */
export function defineList<T, Query extends z.ZodObject>(view: View<T>, options: ListOptions<Query>) {
  const { name = `${getTableName(view.table)}.list`, order } = options;
  const { table } = view;
  const { filters, matching, activeIn } = defineFilters(view, options);
  type ActiveFilters = typeof filters;

  const orderBy = sql.join(
    order.map(({ field, direction }) => sql`${columnOf(table, field)} ${sql.raw(direction)}`),
    sql`, `,
  );

  // The SQL also has MAX_LIMIT as a constant, and a first page has no offset: with parameters alone, PostgreSQL would
  // estimate a tenth of the table, and plan again at each run.
  function pageOf(where: SQL | undefined, skips: boolean, isPlanned: boolean, total: SQLWrapper | undefined) {
    const offset = skips ? sql`offset ${sql.placeholder('offset')}` : sql``;
    const pageRows = (value: SQL): SQL => sql`select * from (
        select ${value} from ${table} where ${where} order by ${orderBy} limit ${sql.raw(String(MAX_LIMIT))} ${offset}
      ) page limit ${sql.placeholder('limit')}`;
    // Skipped and rejected rows cost an index-only scan.
    const source =
      !skips && !isPlanned
        ? sql`from (${pageRows(sql`*`)}) ${table}`
        : sql`from ${table} where ${ofOrganization(table)} and ${table.id} = any(array(${pageRows(sql`${table.id}`)}))`;
    return sql<PageRow>`select row_to_json(item) as body${total && sql`, ${total} as total`}
      from (select ${selectList(view.fields)} ${source} order by ${orderBy}) item`;
  }

  /** The total in `live_counts`, if triggers maintain one for these filters. */
  function storedTotal(active: ActiveFilters) {
    const { isCounted, countedBy } = view;
    if (!isCounted) return undefined;
    const [first, ...others] = active;
    if (!first) return storedSum(getTableName(view.table));
    const [filter, { field, where }] = first;
    return field === countedBy?.field && where === isEqual && others.length === 0
      ? storedSum(countedBy.name, sql.placeholder(filter))
      : undefined;
  }

  const statementsFor = statementsBySet((names: readonly string[], isFurther): Statements => {
    const active = filters.filter(([filter]) => names.includes(filter));
    const skips = names.includes('offset');
    const { where, counted } = matching(active);
    const isPlanned = active.some(([, filter]) => filter.isPlannedEachTime);
    const make = isPlanned ? unprepared : prepared;
    const total =
      storedTotal(active) ??
      qb
        .select(as({ total: sql<string>`count(*)` }))
        .from(counted.table)
        .where(counted.where);
    const isLater = active.some(([, filter]) => filter.isTotalLater);
    return {
      page: make(
        nameOfParts([name, ...names]),
        (_: Params<Values>) => pageOf(where, skips, isPlanned, isLater ? undefined : total),
        { isFurther, isShort: active.length === 1 && active[0]?.[1].isShort },
      ),
      total: make(
        nameOfParts([`${name}_total`, ...active.map(([filter]) => filter)]),
        (_: Params<Values>) => total,
        { isFurther },
      ),
    };
  });

  // The first sets are composed at the start, where a filter without a column fails.
  statementsFor([]);
  statementsFor(['offset']);
  for (const [filter] of filters) statementsFor([filter]);

  return async (
    { db, organizationId }: OrganizationScope,
    query: z.infer<Query> & { limit: number; offset: number },
  ): Promise<PageJson<T>> => {
    if (query.limit > MAX_LIMIT) throw new RangeError(`${name} has pages of ${MAX_LIMIT} rows at most.`);
    const { names, values: sent } = activeIn(query);
    const values: Values = { ...sent, organizationId, limit: query.limit, offset: query.offset };
    const statements = statementsFor(query.offset > 0 ? [...names, 'offset'] : names);

    const rows = await db.read(statements.page, values);
    const isLast = rows.length < query.limit && (rows.length > 0 || query.offset === 0);
    const count =
      rows[0]?.total ??
      (isLast ? query.offset + rows.length : (await db.read(statements.total, values))[0]?.total);
    const total = Number(count ?? 0);
    const end = `],"pagination":{"limit":${query.limit},"offset":${query.offset},"total":${total}}}`;
    const bodies = rows.map(({ body }) => body);
    return Object.assign(jsonList<Page<T>>(bodies, end), { total });
  };
}

/**
 * A list without pages, of rows that summarize what the filters of another list find.
 * @param summarize selects `body`, from the table where the condition is true
 */
export function defineSummary<T, Row, Query extends z.ZodObject>(
  view: View<T>,
  options: ListOptions<Query>,
  summarize: (where: SQL | undefined) => SQL<{ body: Json<Row> }>,
) {
  const { filters, matching, activeIn } = defineFilters(view, options);
  const statementFor = statementsBySet((names: readonly string[], isFurther) => {
    const { where } = matching(filters.filter(([filter]) => names.includes(filter)));
    const name = nameOfParts([`${getTableName(view.table)}.summary`, ...names]);
    return unprepared(name, (_: Params<Values>) => summarize(where), { isFurther });
  });
  return async (
    { db, organizationId }: OrganizationScope,
    query: Partial<z.infer<Query>>,
  ): Promise<Json<{ data: Row[] }>> => {
    const { names, values } = activeIn(query);
    const statement = statementFor(names);
    const rows = await db.read(statement, { ...values, organizationId, limit: 0, offset: 0 });
    return jsonList(
      rows.map(({ body }) => body),
      ']}',
    );
  };
}

/** Archived records, which have neither search documents nor kept totals. */
export const archivedOf = <T>(view: View<T, ArchivableTable>): View<T, ArchivableTable> => ({
  ...view,
  visible: isNotNull(view.table.archivedAt),
  isCounted: false,
  searchDocument: undefined,
});

/**
 * The list of the dashboard: active records or, with `archived`, the archived ones, latest archived first.
 * @param archived the archived records, if not all can be restored, and filters that differ for them
 */
export function defineRecordList<T, Query extends z.ZodObject>(
  view: View<T, ArchivableTable>,
  options: ListOptions<Query>,
  archived: { view?: View<T, ArchivableTable>; filters?: Partial<ListOptions<Query>['filters']> } = {},
) {
  const name = getTableName(view.table);
  const list = defineList(view, { ...options, name: `${name}.list_records` });
  const listArchived = defineList(archived.view ?? archivedOf(view), {
    ...options,
    name: `${name}.list_archived`,
    order: newestFirst('archivedAt'),
    filters: { ...options.filters, ...archived.filters },
  });
  return (
    scope: OrganizationScope,
    { archived, ...query }: Parameters<typeof list>[1] & { archived?: 'true' | undefined },
  ) => (archived ? listArchived : list)(scope, query as Parameters<typeof list>[1]);
}
