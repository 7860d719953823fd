import { fillPlaceholders, type SQL, sql } from 'drizzle-orm';
import { type PgColumn, PgDialect } from 'drizzle-orm/pg-core';
import type { QueryConfig } from 'pg';

/** SQL composed from the table definitions, with named places for its values. `Row` is what it returns. */
export type Statement<Row, Values> = {
  readonly text: string;
  readonly params: readonly unknown[];
  /** Prepared once per connection under this name; without one, planned at each run with the values in sight. */
  readonly name: string | undefined;
  /** Types only. */
  readonly _?: { row: Row; values: Values };
};

const dialect = new PgDialect({ casing: 'snake_case' });

/** Composes a statement that each connection prepares once. The name must be unique to the text. */
export function prepared<Row, Values>(name: string, query: SQL): Statement<Row, Values> {
  const { sql: text, params } = dialect.sqlToQuery(query);
  return { name, text, params };
}

/** Composes a statement that is planned anew each time: for values that decide which plan is good, such as search terms. */
export function planned<Row, Values>(query: SQL): Statement<Row, Values> {
  const { sql: text, params } = dialect.sqlToQuery(query);
  return { name: undefined, text, params };
}

/** The statement with its values, in the form that pg takes. */
export function bind<Row, Values>(statement: Statement<Row, Values>, values: Values): QueryConfig {
  const { name, text } = statement;
  const bound = fillPlaceholders([...statement.params], values as Record<string, unknown>);
  return name === undefined ? { text, values: bound } : { name, text, values: bound };
}

/** The column's name in the database. */
export function columnName(column: PgColumn): string {
  const qualified = dialect.sqlToQuery(sql`${column}`).sql;
  return JSON.parse(qualified.slice(qualified.lastIndexOf('.') + 1));
}

/** The column's name without its table's, as column lists and SET want it. */
export const bare = (column: PgColumn): SQL => sql`${sql.identifier(columnName(column))}`;
