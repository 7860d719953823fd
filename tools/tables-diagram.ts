import { getTableName, is } from 'drizzle-orm';
import { getTableConfig, type PgColumn, PgTable } from 'drizzle-orm/pg-core';
import * as schema from '../src/db/schema/index.ts';

/** Stands in nearly every table and key, so the picture leaves it out. */
const OWNER = 'organization_id';

export const tables: readonly PgTable[] = Object.values(schema)
  .flatMap((value) => (is(value, PgTable) ? [value as PgTable] : []))
  .toSorted((a, b) => getTableName(a).localeCompare(getTableName(b)));

/** The name without what Mermaid does not read: `timestamp (3) with time zone`. */
const typeOf = (column: PgColumn): string =>
  column
    .getSQLType()
    .replace(/^timestamp.*/, 'timestamptz')
    .replaceAll(/\W+(?!\]|$)/g, '_')
    .replace(/\(\d+\)/, '');

function entity(table: PgTable): string[] {
  const { name, columns, primaryKeys, foreignKeys } = getTableConfig(table);
  const primary = primaryKeys.flatMap((key) => key.columns.map(({ name }) => name));
  const foreign = foreignKeys.flatMap((key) => key.reference().columns.map(({ name }) => name));
  const lines = columns
    .map((column) => ({ name: column.name, type: typeOf(column), isKey: column.primary }))
    .filter((column) => column.name !== OWNER)
    .map((column) => {
      const isPrimary = column.isKey || primary.includes(column.name);
      const keys = [...(isPrimary ? ['PK'] : []), ...(foreign.includes(column.name) ? ['FK'] : [])];
      return `    ${column.type} ${column.name} ${keys.join(', ')}`.trimEnd();
    });
  return [`  ${name} {`, ...lines, '  }'];
}

/** A line for each foreign key but those to the organization: `customers ||--o{ customer_contacts : customer_id`. */
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

/** The schema as a picture that GitHub draws. */
export const tablesDiagram = (): string =>
  ['```mermaid', 'erDiagram', ...tables.flatMap(relations), ...tables.flatMap(entity), '```'].join('\n');
