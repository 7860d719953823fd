import pg from 'pg';
import type { Migration } from '../src/db/server/migrate.ts';

/** All that PostgreSQL knows of a schema: for each kind of thing its sorted lines, one a thing. */
export type SchemaDescription = Readonly<Record<string, readonly string[]>>;

const QUERIES = {
  columns: `
    select c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated,
      pg_get_expr(d.adbin, d.adrelid)
    from pg_attribute a join pg_class c on c.oid = a.attrelid
      left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped`,
  indexes: `
    select pg_get_indexdef(indexrelid) from pg_index
    where indrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace)`,
  constraints: `
    select conrelid::regclass, conname, pg_get_constraintdef(oid) from pg_constraint
    where connamespace = 'public'::regnamespace and contype <> 't'`,
  functions: `
    select pg_get_functiondef(oid) from pg_proc p
    where pronamespace = 'public'::regnamespace and prokind = 'f'
      and not exists (select from pg_depend where objid = p.oid and deptype = 'e')`,
  extensions: `select extname from pg_extension`,
  others: `
    select relkind, relname from pg_class c
    where relnamespace = 'public'::regnamespace and relkind in ('S', 'v', 'm', 'f', 'p')
      and not exists (select from pg_depend where objid = c.oid and deptype = 'e')`,
};

/** Extensions and functions of the migrations: the schema of the code cannot describe them. */
export const functionsOf = (migrations: readonly Migration[]): string[] =>
  migrations
    .flatMap(({ statements }) => statements)
    .filter((statement) => /^(\s|--.*$)*create (or replace )?(extension|function) /im.test(statement));

/** Describes the schema `public` of a database, so that two databases can be compared. */
export async function describeSchema(url: string): Promise<SchemaDescription> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const description: Record<string, string[]> = {};
    for (const [kind, text] of Object.entries(QUERIES)) {
      const { rows } = await client.query({ text, rowMode: 'array' });
      description[kind] = rows.map(String).sort();
    }
    return description;
  } finally {
    await client.end();
  }
}

/** A line for each thing that only one of the two has, with what to write. */
export function differences(migrations: SchemaDescription, code: SchemaDescription): string[] {
  const only = (
    one: SchemaDescription,
    other: SchemaDescription,
    words: (kind: string) => string,
  ): string[] =>
    Object.entries(one).flatMap(([kind, lines]) =>
      lines.filter((line) => !other[kind]?.includes(line)).map((line) => `${words(kind)}: ${line}`),
    );
  return [
    ...only(code, migrations, (kind) => `Only the code has this of ${kind}; write it in a migration`),
    ...only(
      migrations,
      code,
      (kind) => `Only the migrations have this of ${kind}; write it in src/db/schema, or drop it`,
    ),
  ];
}
