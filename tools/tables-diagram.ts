import { globSync, readFileSync } from 'node:fs';
import { getTableName, is } from 'drizzle-orm';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
import * as schema from '../src/db/tables/index.ts';

/** In nearly every table and key, so the diagram omits it. */
const OWNER = 'organization_id';

export const tables: readonly PgTable[] = Object.values(schema)
  .flatMap((value) => (is(value, PgTable) ? [value as PgTable] : []))
  .toSorted((a, b) => getTableName(a).localeCompare(getTableName(b)));

/** A line for each foreign key except those to the organization: `customers ||--o{ erasures : customer_id`. */
function relations(table: PgTable): string[] {
  const { name, primaryKeys, foreignKeys } = getTableConfig(table);
  return foreignKeys.flatMap((key) => {
    const { columns, foreignTable } = key.reference();
    const own = columns.filter((column) => column.name !== OWNER);
    if (own.length === 0) return [];
    const names = columns.map(({ name }) => name);
    const isKey = primaryKeys.some((primary) =>
      primary.columns.every((column) => names.includes(column.name)),
    );
    const parent = own.some((column) => !column.notNull) ? '|o' : '||';
    const line = `${getTableName(foreignTable)} ${parent}--${isKey ? 'o|' : 'o{'} ${name}`;
    return [`  ${line} : ${own.map(({ name }) => name).join('_')}`];
  });
}

/** The first sentence of a comment above a table. */
const ABOVE =
  /\/\*\*[\s*]+((?:(?!\*\/)[\s\S])*?\.)(?=\s)(?:(?!\*\/)[\s\S])*\*\/\nexport const \w+ = pgTable\(\s*'(\w+)'/g;

/** What the rows of each table are, from the comments in src/db/tables/. */
export function tablesTable(): string {
  const sources = globSync('src/db/tables/*.ts', { cwd: new URL('../', import.meta.url) }).sort();
  const said = new Map(
    sources.flatMap((file) =>
      [...readFileSync(new URL(`../${file}`, import.meta.url), 'utf8').matchAll(ABOVE)].map(
        ([, sentence = '', name]) => [name, sentence.replace(/\s*\n \* /g, ' ')],
      ),
    ),
  );
  const rows = tables.map(getTableName).map((name) => {
    if (!said.has(name)) throw new Error(`Say above the table ${name} in src/db/tables/ what its rows are.`);
    return `| \`${name}\` | ${said.get(name)} |`;
  });
  return ['| table | its rows |', '|---|---|', ...rows].join('\n');
}

/** The foreign keys, as a diagram that GitHub renders. */
export const tablesDiagram = (): string =>
  ['```mermaid', 'erDiagram', ...tables.flatMap(relations), '```'].join('\n');
