import { getTableName, is } from 'drizzle-orm';
import { PgTable } from 'drizzle-orm/pg-core';
import { format } from 'sql-formatter';
import * as schema from '../src/db/schema/index.ts';
import { allStatements, type Statement } from '../src/db/sql/statement.ts';

/** Removes the quotes that a name does not need, for easier reading. Text constants stay as they are. */
const withoutNeedlessQuotes = (text: string): string =>
  text
    .split(/('(?:[^']|'')*')/)
    .map((part) => (part.startsWith("'") ? part : part.replace(/"([a-z_]+[a-z0-9_]*)"/g, '$1')))
    .join('');

function section({ name, text, parameters, isPrepared }: Statement<unknown, never>): string {
  const list = parameters.map((parameter, index) => `$${index + 1} ${parameter}`).join(', ');
  return [
    `-- ${name}`,
    ...(list === '' ? [] : [`-- ${list}`]),
    ...(isPrepared ? [] : ['-- a custom plan at each run']),
    `${format(withoutNeedlessQuotes(text), { language: 'postgresql', keywordCase: 'lower', expressionWidth: 100 })};`,
  ].join('\n');
}

/**
 * The file of each resource (`products.sql`) with its formatted statements. Load the modules that compose them first.
 * Of a list it has the first page, a later page and each filter alone. Sets of filters join the same conditions.
 */
export function sqlDocuments(): Map<string, string> {
  const tables = new Set<string>(
    Object.values(schema).flatMap((value) => (is(value, PgTable) ? getTableName(value) : [])),
  );
  const resourceOf = (name: string): string => name.slice(0, name.indexOf('.'));
  const statements = allStatements()
    .filter(({ name, isVariant }) => tables.has(resourceOf(name)) && !isVariant)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const byResource = Map.groupBy(statements, ({ name }) => resourceOf(name));
  return new Map(
    [...byResource].map(([resource, group]) => [
      `${resource}.sql`,
      `-- Made by npm run docs from the repositories; see docs/changing-it.md.\n\n${group.map(section).join('\n\n')}\n`,
    ]),
  );
}
