import { hash } from 'node:crypto';
import { is, Param, Placeholder, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { CasingCache } from 'drizzle-orm/casing';
import { drizzle } from 'drizzle-orm/node-postgres';
import { type PgColumn, PgDialect, PgTimestamp } from 'drizzle-orm/pg-core';
import type { QueryConfig } from 'pg';
import { isoTime } from './json.ts';

/** SQL that is composed once, when its module is loaded. Each of its values has a named placeholder. */
export type Statement<Row, Values> = {
  /** `resource.operation`, unique. It names the prepared statement in PostgreSQL, and the section in docs/sql. */
  readonly name: string;
  readonly text: string;
  /** The names of `$1`, `$2`, …, each once. */
  readonly parameters: readonly string[];
  /** Turns values into those of `$1`, `$2`, … */
  readonly bind: (values: Values) => unknown[];
  /** True: each connection prepares it once. False: PostgreSQL plans it at each run, and knows the values then. */
  readonly isPrepared: boolean;
  /** It takes next to no time: not worth hearing whether its client has gone, which costs a get a tenth. */
  readonly isShort?: boolean | undefined;
  /** It differs from another statement in columns or conditions only. It is composed when first needed, and docs/sql leaves it out. */
  readonly isVariant?: boolean | undefined;
  /** For types only. */
  readonly _?: { row: Row };
};

/** The placeholders of a statement: `$.id` stands where the value of `id` goes. A name that `Values` lacks does not compile. */
export type Params<Values> = { readonly [Name in keyof Values]-?: Placeholder<Name & string, Values[Name]> };

/** The type of the query's rows, from Drizzle's builder or from `SQL<Row>`. */
type RowOf<Query> = Query extends { _: { result: (infer Row)[] } }
  ? Row
  : Query extends SQL<infer Row>
    ? Row
    : never;

const placeholders = new Proxy({}, { get: (_target, name) => sql.placeholder(String(name)) });

const statements = new Map<string, Statement<unknown, never>>();

/** Every statement that was composed so far. */
export const allStatements = (): readonly Statement<unknown, never>[] => [...statements.values()];

/** PostgreSQL cuts off longer names. */
const MAX_NAME_BYTES = 63;

/** A name of these parts; where that is too long for PostgreSQL, the first part and a digest of all. */
export function nameOfParts(parts: readonly [string, ...string[]]): string {
  const name = parts.join(' ');
  return Buffer.byteLength(name) <= MAX_NAME_BYTES
    ? name
    : `${parts[0]} ${hash('sha256', name).slice(0, 22)}`;
}

function register<Row, Values>(statement: Statement<Row, Values>): Statement<Row, Values> {
  const { name, text } = statement;
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) throw new Error(`The statement name "${name}" is too long.`);
  const other = statements.get(name);
  if (other && other.text !== text) throw new Error(`Two statements have the name "${name}".`);
  // The first one stays: a list composes the count of its filters again for a later page.
  if (other) return other as unknown as Statement<Row, Values>;
  // A PATCH can send any of hundreds of thousands of sets of fields. Most are composed, run once and forgotten.
  if (statement.isPrepared || !statement.isVariant)
    statements.set(name, statement as Statement<unknown, never>);
  return statement;
}

const dialect = new PgDialect({ casing: 'snake_case' });
const casing = new CasingCache('snake_case');

type Parameter = { name: string; encode: (value: unknown) => unknown };

/** Where the placeholder stands for a column, the column's encoder makes the driver's value. */
function parameterOf(placeholder: unknown): Parameter {
  if (is(placeholder, Param) && is(placeholder.value, Placeholder)) {
    const { encoder, value } = placeholder;
    // Text needs no encoder. The encoder of moments takes Dates only.
    const isPlain = (given: unknown): boolean => given === null || typeof given === 'string';
    return {
      name: value.name,
      encode: (given) => (isPlain(given) ? given : encoder.mapToDriverValue(given)),
    };
  }
  return { name: (placeholder as Placeholder).name, encode: (given) => given };
}

/** The text, with one `$n` for all placeholders of one name. Constants stand in the text. */
function toText(query: SQL): { text: string; parameters: Parameter[] } {
  const parameters: Parameter[] = [];
  const { sql: text } = query.toQuery({
    casing,
    escapeName: dialect.escapeName,
    escapeString: dialect.escapeString,
    inlineParams: true,
    escapeParam: (_index, placeholder) => {
      const parameter = parameterOf(placeholder);
      const known = parameters.findIndex(({ name }) => name === parameter.name);
      return `$${known >= 0 ? known + 1 : parameters.push(parameter)}`;
    },
  });
  return { text, parameters };
}

/** The text of a part of a statement. */
export const textOf = (part: SQL): string => toText(part).text;

function compose<Values, Query extends SQLWrapper>(
  name: string,
  query: ($: Params<Values>) => Query,
  options: Pick<Statement<unknown, Values>, 'isPrepared' | 'isShort' | 'isVariant'>,
): Statement<RowOf<Query>, Values> {
  const { text, parameters } = toText(query(placeholders as Params<Values>).getSQL());
  return register({
    name,
    text,
    parameters: parameters.map((parameter) => parameter.name),
    bind: (values) =>
      parameters.map((parameter) => {
        const value = (values as Record<string, unknown>)[parameter.name];
        if (value === undefined) throw new Error(`${name} was run without a value for ${parameter.name}.`);
        return parameter.encode(value);
      }),
    ...options,
  });
}

type Options = Partial<Pick<Statement<unknown, never>, 'isShort' | 'isVariant'>>;

/**
 * Composes a statement that each connection prepares once.
 * @param name `resource.operation`
 * @param query gets the placeholders; annotate them: `($: Params<{ id: string }>) => …`
 */
export const prepared = <Values, Query extends SQLWrapper>(
  name: string,
  query: ($: Params<Values>) => Query,
  options: Options = {},
): Statement<RowOf<Query>, Values> => compose(name, query, { ...options, isPrepared: true });

/** The same, but PostgreSQL plans it at each run. For values that decide which plan is good, such as search terms. */
export const unprepared = <Values, Query extends SQLWrapper>(
  name: string,
  query: ($: Params<Values>) => Query,
  options: Options = {},
): Statement<RowOf<Query>, Values> => compose(name, query, { ...options, isPrepared: false });

/** A statement with its values: one step of several that are sent together. */
export type Step<Row = unknown> = {
  readonly statement: Statement<Row, never>;
  readonly query: QueryConfig;
};

export const step = <Row, Values>(statement: Statement<Row, Values>, values: Values): Step<Row> => ({
  statement: statement as Statement<Row, never>,
  query: bind(statement, values),
});

/** The statement with its values, in the form that pg takes. */
export function bind<Row, Values>(statement: Statement<Row, Values>, values: Values): QueryConfig {
  const { name, text, isPrepared } = statement;
  return { text, values: statement.bind(values), ...(isPrepared && { name }) };
}

/** The column's name in the database. */
export const columnName = (column: PgColumn): string => casing.getColumnCasing(column);

/** The column's name without the table, for column lists and SET. */
export const unqualified = (column: PgColumn): SQL => sql`${sql.identifier(columnName(column))}`;

/** Drizzle's query builder, for composing statements only: it has no connection. `Queries` runs them. */
export const builder = drizzle.mock({ casing: 'snake_case' });

/** Columns for `select` and `returning`. Each is named as in the result; a moment becomes ISO 8601 text. */
export const named = <Source extends Record<string, PgColumn>>(
  columns: Source,
): { [Name in keyof Source]: SQL.Aliased<JsonOf<Source[Name]['_']['data']> | NullOf<Source[Name]>> } =>
  Object.fromEntries(
    Object.entries(columns).map(([name, column]) => [
      name,
      (is(column, PgTimestamp) ? isoTime(column) : sql`${column}`).as(name),
    ]),
  ) as never;

/** A moment becomes text. */
type JsonOf<Data> = Data extends Date ? string : Data;

type NullOf<Column extends PgColumn> = Column['_']['notNull'] extends true ? never : null;
