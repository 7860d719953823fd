import { hash } from 'node:crypto';
import { fillPlaceholders, is, Param, Placeholder, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { QueryConfig } from 'pg';
import { LruMap } from 'toad-cache';

type Composed = { readonly text: string; readonly params: readonly unknown[] };

/** SQL that is composed once, at its first use: a start would compose hundreds. */
export type Statement<Row, Values> = {
  /** `resource.operation`, unique. Its name in PostgreSQL, and for `npm run sql`. */
  readonly name: string;
  readonly composed: () => Composed;
  readonly isPrepared: boolean;
  /** Cheap lookup: it shares a connection. */
  readonly isShort?: boolean | undefined;
  readonly _?: { row: Row; values: (values: Values) => void };
};

export type Params<Values> = { readonly [Name in keyof Values]-?: Placeholder<Name & string, Values[Name]> };

type RowOf<Query> =
  Query extends SQL<infer Row> ? Row : Query extends { _: { result: (infer Row)[] } } ? Row : never;

const placeholders = new Proxy({}, { get: (_target, name) => sql.placeholder(String(name)) });

const statements = new Map<string, Statement<unknown, never>>();

export const allStatements = (): (Statement<unknown, never> & Composed)[] =>
  [...statements.values()].map((statement) => ({ ...statement, ...statement.composed() }));

/** PostgreSQL truncates longer names. */
const MAX_NAME_BYTES = 63;

/** If the parts are too long for PostgreSQL, the first part and a digest of all. */
export function nameOfParts(parts: readonly [string, ...string[]]): string {
  const name = parts.join(' ');
  return Buffer.byteLength(name) <= MAX_NAME_BYTES
    ? name
    : `${parts[0]} ${hash('sha256', name).slice(0, 22)}`;
}

function register<Row, Values>(statement: Statement<Row, Values>): Statement<Row, Values> {
  const { name, composed } = statement;
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) throw new Error(`The statement name "${name}" is too long.`);
  const other = statements.get(name);
  if (other && other.composed().text !== composed().text)
    throw new Error(`Two statements have the name "${name}".`);
  // A list composes the total of its filters again for a later page.
  if (other) return other as unknown as Statement<Row, Values>;
  statements.set(name, statement as Statement<unknown, never>);
  return statement;
}

const dialect = new PgDialect();

type Options = Partial<Pick<Statement<unknown, never>, 'isShort'>> & {
  /** One of too many to register. */
  isUnlisted?: boolean;
};

const compose =
  (isPrepared: boolean) =>
  <Values, Query extends SQLWrapper>(
    name: string,
    query: ($: Params<Values>) => Query,
    { isShort, isUnlisted }: Options = {},
  ): Statement<RowOf<Query>, Values> => {
    let kept: Composed | undefined;
    function composed(): Composed {
      if (kept) return kept;
      const { sql: text, params } = dialect.sqlToQuery(query(placeholders as Params<Values>).getSQL());
      kept = { text, params };
      return kept;
    }
    const statement = { name, composed, isPrepared, isShort };
    return isUnlisted ? statement : register(statement);
  };

/**
 * A statement that each connection prepares once.
 * @param query annotates its placeholders: `($: Params<{ id: string }>) => …`
 */
export const prepared = compose(true);

/** A statement that PostgreSQL plans at each run, because its values decide the best plan. */
export const unprepared = compose(false);

const CACHED_SETS = 64;

/** The statements for each set of names (fields of a PATCH, filters of a list). There are hundreds of thousands of sets. */
export function statementsBySet<Name extends string, Statements>(
  compose: (names: readonly Name[], isUnlisted: boolean) => Statements,
) {
  const cached = new LruMap<Statements>(CACHED_SETS);
  let isFull = false;
  return (names: readonly Name[]): Statements => {
    isFull ||= cached.size === CACHED_SETS;
    const key = names.join();
    const statements = cached.get(key) ?? compose(names, isFull);
    cached.set(key, statements);
    return statements;
  };
}

/** @throws Error if a placeholder has no value */
export function bind<Row, Values>(statement: Statement<Row, Values>, values: Values): QueryConfig {
  const { name, composed, isPrepared } = statement;
  const { text, params } = composed();
  const bound = fillPlaceholders(params as unknown[], values as Record<string, unknown>);
  return { text, values: bound, ...(isPrepared && { name }) };
}

function parameterName(param: unknown): string {
  if (is(param, Param)) return parameterName(param.value);
  return is(param, Placeholder) ? param.name : JSON.stringify(param);
}

export const parametersOf = ({ params }: Composed): string[] => params.map(parameterName);
