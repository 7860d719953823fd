import { administer } from './databases.ts';

/** What PostgreSQL knows of tables: for each kind of thing its sorted lines, one a thing. Functions and triggers are left out. */
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
  others: `
    select relkind, relname from pg_class c
    where relnamespace = 'public'::regnamespace and relkind in ('S', 'v', 'm', 'f', 'p')
      and not exists (select from pg_depend where objid = c.oid and deptype = 'e')`,
};

/** Describes the schema `public` of a database, so that two databases can be compared. */
export const describeSchema = (url: string): Promise<SchemaDescription> =>
  administer(url, async (client) => {
    const description: Record<string, string[]> = {};
    for (const [kind, text] of Object.entries(QUERIES)) {
      const { rows } = await client.query({ text, rowMode: 'array' });
      description[kind] = rows.map(String).sort();
    }
    return description;
  });

/** A line for each thing that only one of the two has, with what to write. */
export function differences(migrations: SchemaDescription, code: SchemaDescription): string[] {
  const only = (one: SchemaDescription, other: SchemaDescription, words: string): string[] =>
    Object.entries(one).flatMap(([kind, lines]) =>
      lines.filter((line) => !other[kind]?.includes(line)).map((line) => `${words} (${kind}): ${line}`),
    );
  return [
    ...only(code, migrations, 'Only the code has this; write it in a migration'),
    ...only(migrations, code, 'Only the migrations have this; write it in src/db/schema, or drop it'),
  ];
}
