import { globSync, readFileSync } from 'node:fs';
import { getTableName, is } from 'drizzle-orm';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
import * as schema from '../src/db/tables/index.ts';

export const tables: readonly PgTable[] = Object.values(schema)
  .flatMap((value) => (is(value, PgTable) ? [value as PgTable] : []))
  .toSorted((a, b) => getTableName(a).localeCompare(getTableName(b)));

/** The first sentence of a comment above a table. */
const ABOVE =
  /\/\*\*[\s*]+((?:(?!\*\/)[\s\S])*?\.)(?=\s)(?:(?!\*\/)[\s\S])*\*\/\nexport const \w+ = pgTable\(\s*'(\w+)'/g;

/** The name of each table, what its rows are, from the comments in src/db/tables/, and to which tables they refer. */
export function describedTables(): string[][] {
  const sources = globSync('src/db/tables/*.ts').map((file) => readFileSync(file, 'utf8'));
  const sentences = Array.from(sources.join('\n').matchAll(ABOVE), ([, sentence, name]) => [name, sentence]);
  const said = Object.fromEntries(sentences);
  return tables.map((table) => {
    const name = getTableName(table);
    if (!said[name]) throw new Error(`Say above the table ${name} in src/db/tables/ what its rows are.`);
    const references = getTableConfig(table).foreignKeys.map((key) => key.reference().foreignTable);
    const names = new Set(references.map(getTableName));
    names.delete('organizations');
    return [`\`${name}\``, said[name].replace(/\s*\n \* /g, ' '), [...names].join(', ')];
  });
}
