import { getTableColumns, getTableName, is } from 'drizzle-orm';
import { PgTable } from 'drizzle-orm/pg-core';
import pg from 'pg';
import * as schema from '../tables/index.ts';
import { MigrationError } from './migrate.ts';

/** @throws MigrationError if the code has a column that the database lacks */
export async function checkSchema(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      `select relname || '.' || attname as name from pg_attribute join pg_class c on c.oid = attrelid
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and attnum > 0 and not attisdropped`,
    );
    const present = new Set(rows.map(({ name }) => name));
    const notFound = Object.values(schema)
      .filter((value) => is(value, PgTable))
      .flatMap((table) =>
        Object.values(getTableColumns(table)).map((column) => `${getTableName(table)}.${column.name}`),
      )
      .filter((name) => !present.has(name));
    if (notFound.length > 0)
      throw new MigrationError(
        `The database lacks ${notFound.join(', ')}, which no migration makes. Write one with npm run migration, and start again.`,
      );
  } finally {
    await client.end();
  }
}
