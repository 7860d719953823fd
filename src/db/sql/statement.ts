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
  readonly isShort?: boolean;
  readonly _?: { row: Row; values: (values: Values) => void };
};

export type Params<Values> = { readonly [Name in keyof Values]-?: Placeholder<Name & string, Values[Name]> };

type RowOf<Query> =
  Query extends SQL<infer Row> ? Row : Query extends { _: { result: (infer Row)[] } } ? Row : never;

const placeholders = new Proxy({}, { get: (_target, name) => sql.placeholder(String(name)) });

const statements = new Map<string, Statement<unknown, never>>();

/** Define statements of sets for `npm run sql` and test/plans.test.ts; a start does without. */
const whenListed: (() => void)[] = [];

export function allStatements(): (Statement<unknown, never> & Composed)[] {
  for (const define of whenListed.splice(0)) define();
  return [...statements.values()].map((statement) => ({ ...statement, ...statement.composed() }));
}

/** PostgreSQL truncates longer names. */
const MAX_NAME_BYTES = 63;

/** If the parts are too long for PostgreSQL, the first part and a digest of all. */
export function nameOfParts(parts: readonly [string, ...string[]]): string {
  const name = parts.join(' ');
  return Buffer.byteLength(name) <= MAX_NAME_BYTES
    ? name
    : `${parts[0]} ${hash('sha256', name).slice(0, 22)}`;
}

/**
 * Clients choose among hundreds of thousands of sets of fields and filters, and PostgreSQL keeps what a connection has prepared:
 * the statements of later sets are not prepared. None of a set is registered, unless it is listed.
 */
const MAX_OF_SETS = 500;
const namesOfSets = new Set<string>();
let isOfSet = false;

const dialect = new PgDialect();

const compose =
  (isPrepared: boolean) =>
  <Values, Query extends SQLWrapper>(
    name: string,
    query: ($: Params<Values>) => Query,
    { isShort = false } = {},
  ): Statement<RowOf<Query>, Values> => {
    if (Buffer.byteLength(name) > MAX_NAME_BYTES)
      throw new Error(`The statement name "${name}" is too long.`);
    let cached: Composed | undefined;
    function composed(): Composed {
      if (cached) return cached;
      const { sql: text, params } = dialect.sqlToQuery(query(placeholders as Params<Values>).getSQL());
      cached = { text, params };
      // Compared now, not when it is defined: a start would compose both.
      const first = statements.get(name);
      if (first && first.composed().text !== text) throw new Error(`Two statements have the name "${name}".`);
      return cached;
    }
    if (isOfSet && namesOfSets.size < MAX_OF_SETS) namesOfSets.add(name);
    const mayBePrepared = !isOfSet || namesOfSets.has(name);
    const statement = { name, composed, isPrepared: isPrepared && mayBePrepared, isShort };
    if (!isOfSet && !statements.has(name)) statements.set(name, statement);
    return statement;
  };

/**
 * A statement that each connection prepares once.
 * @param query annotates its placeholders: `($: Params<{ id: string }>) => …`
 */
export const prepared = compose(true);

/** A statement that PostgreSQL plans at each run, because its values decide the best plan. */
export const unprepared = compose(false);

const CACHED_SETS = 64;

/**
 * The statements for each set of names: fields of a PATCH, filters of a list.
 * @param listed the sets whose statements `allStatements` returns
 */
export function statementsBySet<Statements>(
  define: (names: readonly string[]) => Statements,
  listed: readonly (readonly string[])[],
) {
  const cached = new LruMap<Statements>(CACHED_SETS);
  whenListed.push(() => listed.forEach(define));
  return (names: readonly string[]): Statements => {
    const key = names.join();
    isOfSet = true;
    try {
      const statements = cached.get(key) ?? define(names);
      cached.set(key, statements);
      return statements;
    } finally {
      isOfSet = false;
    }
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
