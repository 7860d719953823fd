import { is, Param, Placeholder, type SQL, sql } from 'drizzle-orm';
import { type PgColumn, PgDialect } from 'drizzle-orm/pg-core';
import type { QueryConfig } from 'pg';
import type { Json } from './json.ts';

/** SQL composed from the table definitions, with named places for its values. `Row` is what it returns. */
export type Statement<Row, Values> = {
  readonly text: string;
  /** The value of each of its parameters. */
  readonly params: readonly ((values: Record<string, unknown>) => unknown)[];
  /** Prepared once per connection under this name; without one, planned at each run with the values in sight. */
  readonly name: string | undefined;
  /** Rendered: it returns one row at most, whose one column is a body. A lookup is one that takes next to no time. */
  readonly kind: 'rows' | 'rendered' | 'lookup';
  /** Types only. */
  readonly _?: { row: Row; values: Values };
};

const dialect = new PgDialect({ casing: 'snake_case' });

/** What a composed parameter is at a run; decided once, because it is asked at every request. */
function paramOf(param: unknown): (values: Record<string, unknown>) => unknown {
  const encode = is(param, Param) && is(param.value, Placeholder) ? param.encoder : undefined;
  const place = is(param, Param) ? param.value : param;
  if (!is(place, Placeholder)) return () => param;
  const { name } = place;
  return (values) => {
    if (!(name in values)) throw new Error(`A statement was run without a value for ${name}.`);
    const value = values[name];
    return encode ? encode.mapToDriverValue(value) : value;
  };
}

function compose<Row, Values>(
  query: SQL,
  options: Pick<Statement<Row, Values>, 'name' | 'kind'>,
): Statement<Row, Values> {
  const { sql: text, params } = dialect.sqlToQuery(query);
  return { text, params: params.map(paramOf), ...options };
}

/** Composes a statement that each connection prepares once. The name must be unique to the text. */
export const prepared = <Row, Values>(name: string, query: SQL): Statement<Row, Values> =>
  compose(query, { name, kind: 'rows' });

/** Composes a statement that is planned anew each time: for values that decide which plan is good, such as search terms. */
export const planned = <Row, Values>(query: SQL): Statement<Row, Values> =>
  compose(query, { name: undefined, kind: 'rows' });

/**
 * Composes a statement whose only column, `body`, passes through as the bytes that PostgreSQL made.
 * @param name as of `prepared`; without one, it is planned anew each time
 */
export const rendered = <Body, Values>(
  name: string | undefined,
  query: SQL,
): Statement<{ body: Json<Body> }, Values> => compose(query, { name, kind: 'rendered' });

/** The same for one record found by its primary key; such reads share a round trip with others. */
export const lookup = <Body, Values>(name: string, query: SQL): Statement<{ body: Json<Body> }, Values> =>
  compose(query, { name, kind: 'lookup' });

/** The statement with its values, in the form that pg takes. */
export function bind<Row, Values>(
  { name, text, params }: Statement<Row, Values>,
  values: Values,
): QueryConfig {
  const bound = params.map((param) => param(values as Record<string, unknown>));
  return name === undefined ? { text, values: bound } : { name, text, values: bound };
}

/** The column's name in the database. */
export function columnName(column: PgColumn): string {
  const qualified = dialect.sqlToQuery(sql`${column}`).sql;
  return JSON.parse(qualified.slice(qualified.lastIndexOf('.') + 1));
}

/** The column's name without its table's, as column lists and SET want it. */
export const bare = (column: PgColumn): SQL => sql`${sql.identifier(columnName(column))}`;
