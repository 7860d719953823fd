import { hash } from 'node:crypto';
import { fillPlaceholders, is, Placeholder, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { QueryConfig } from 'pg';

/** SQL that is composed once, when its module is loaded. Each of its values has a named placeholder. */
export type Statement<Row, Values> = {
  /** `resource.operation`, unique. It names the prepared statement in PostgreSQL, and the statement for `npm run sql`. */
  readonly name: string;
  readonly text: string;
  /** What stands for `$1`, `$2`, …: placeholders, and constants. */
  readonly params: readonly unknown[];
  /** True: each connection prepares it once. False: PostgreSQL plans it at each run, and knows the values then. */
  readonly isPrepared: boolean;
  /** It takes next to no time: not worth hearing whether its client has gone, which costs a get a tenth. */
  readonly isShort?: boolean | undefined;
  /** For types only. */
  readonly _?: { row: Row; values: (values: Values) => void };
};

/** The placeholders of a statement: `$.id` stands where the value of `id` goes. A name that `Values` lacks does not compile. */
export type Params<Values> = { readonly [Name in keyof Values]-?: Placeholder<Name & string, Values[Name]> };

/** The type of the query's rows, from `SQL<Row>`. */
type RowOf<Query> = Query extends SQL<infer Row> ? Row : never;

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
  statements.set(name, statement as Statement<unknown, never>);
  return statement;
}

const dialect = new PgDialect();

function compose<Values, Query extends SQLWrapper>(
  name: string,
  query: ($: Params<Values>) => Query,
  {
    isOnce,
    ...options
  }: Pick<Statement<unknown, Values>, 'isPrepared' | 'isShort'> & Pick<Options, 'isOnce'>,
): Statement<RowOf<Query>, Values> {
  const { sql: text, params } = dialect.sqlToQuery(query(placeholders as Params<Values>).getSQL());
  const statement = { name, text, params, ...options };
  return isOnce ? statement : register(statement);
}

type Options = Partial<Pick<Statement<unknown, never>, 'isShort'>> & {
  /** It is composed for one run and then forgotten. */
  isOnce?: boolean;
};

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

/** Each connection prepares the statements of so many sets of names; those of others are composed and parsed at each run. */
const PREPARED_SETS = 64;

/**
 * Builds the function that gives the statements for a set of names: the fields of a PATCH, the filters of a list. There are hundreds of
 * thousands of sets.
 * @param compose its statements are kept, or run once
 */
export function statementsBySet<Name extends string, Statements>(
  compose: (names: readonly Name[], isOnce: boolean) => Statements,
) {
  const kept = new Map<string, Statements>();
  return (names: readonly Name[]): Statements => {
    const isOnce = kept.size >= PREPARED_SETS;
    const key = names.join();
    const statements = kept.get(key) ?? compose(names, isOnce);
    if (!isOnce) kept.set(key, statements);
    return statements;
  };
}

/** The statement with its values, in the form that pg takes. Throws where a value is missing. */
export function bind<Row, Values>(statement: Statement<Row, Values>, values: Values): QueryConfig {
  const { name, text, params, isPrepared } = statement;
  const bound = fillPlaceholders(params as unknown[], values as Record<string, unknown>);
  return { text, values: bound, ...(isPrepared && { name }) };
}

/** The names of `$1`, `$2`, …; a constant is itself. */
export const parametersOf = ({ params }: Statement<unknown, never>): string[] =>
  params.map((param) => (is(param, Placeholder) ? param.name : JSON.stringify(param)));
