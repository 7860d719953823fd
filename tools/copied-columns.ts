import { getTableName } from 'drizzle-orm';
import type { Resource } from '../src/db/schema/resource.ts';

/** What a new column of read rows and search rows needs, so that a list can filter by it from the start on. */

/** New columns of the rows beside the records of one table, by the table of these rows. */
type Copied = { record: string; columns: Map<string, string[]> };

const ADDED = /^ALTER TABLE "(\w+)" ADD COLUMN "(\w+)"/i;

const isKept = (value: unknown): value is Resource =>
  typeof value === 'object' && value !== null && 'readRow' in value && 'table' in value;

function copiedIn(statements: readonly string[], schema: Record<string, unknown>): Copied[] {
  const resources = Object.values(schema).filter(isKept);
  return resources.flatMap(({ table, readRow, searchRow }) => {
    const copies = [readRow, searchRow?.table].flatMap((copy) => (copy ? [getTableName(copy)] : []));
    const added = statements
      .map((statement) => ADDED.exec(statement))
      .filter((match) => copies.includes(match?.[1] ?? ''))
      .map((match) => [match?.[1] ?? '', match?.[2] ?? ''] as const);
    const columns = new Map(
      [...Map.groupBy(added, ([copy]) => copy)].map(([copy, pairs]) => [copy, pairs.map(([, name]) => name)]),
    );
    return columns.size > 0 ? [{ record: getTableName(table), columns }] : [];
  });
}

/**
 * What a release sends of its copies, with the new columns: a file of test/support/releases/ for the code that the migration
 * goes with. Undefined where there is no new column.
 * @param sent reads the file of the release before
 */
export function sentWith(
  statements: readonly string[],
  schema: Record<string, unknown>,
  sent: () => string,
  tag: string,
): string | undefined {
  const added = copiedIn(statements, schema).flatMap(({ columns }) => [...columns]);
  if (added.length === 0) return undefined;
  const [, ...blocks] = sent().split(/^(?=-- \w+ \w+$)/m);
  const text = added.reduce((given, [copy, names]) => {
    const insert = new RegExp(
      `(insert into ${copy} \\(organization_id, id,)([^;]*?select organization_id, id,)`,
      'g',
    );
    return given.replaceAll(insert, `$1 ${names.join(', ')},$2 ${names.join(', ')},`);
  }, blocks.join(''));
  return `-- What the code of ${tag.slice(0, 4)} and later sends.\n\n${text}`;
}

/** Copies the columns where they differ. `which` says of which records. */
const copy = ({ record, columns }: Copied, which: string): string =>
  [...columns]
    .map(([table, names]) => {
      const [set, kept, own] = [
        names.map((name) => `${name} = record.${name}`).join(', '),
        names.map((name) => `kept.${name}`).join(', '),
        names.map((name) => `record.${name}`).join(', '),
      ];
      return `UPDATE public.${table} kept SET ${set} FROM public.${record} record
    WHERE ${which} AND kept.organization_id = record.organization_id AND kept.id = record.id
      AND row(${kept}) IS DISTINCT FROM row(${own});`;
    })
    .join('\n    ');

/** A release before this one writes no such column: a trigger does it when the transaction commits. */
const followed = (copied: Copied, name: string): string[] => [
  `-- The release before goes on writing, and does not know these columns. The next release drops the trigger and its function.
-- On a cluster, where there is none, the release before is stopped first.
CREATE FUNCTION public.${name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    ${copy(copied, 'record.organization_id = NEW.organization_id AND record.id = NEW.id')}
    RETURN NULL;
END $$;`,
  `DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
    CREATE CONSTRAINT TRIGGER ${name} AFTER INSERT OR UPDATE ON public.${copied.record}
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.${name}();
  END IF;
END $$;`,
];

/** Fills the columns of the rows that exist, batch by batch: writers wait for one batch at most. */
const fill = (copied: Copied): string => {
  const { record } = copied;
  const between = `(record.organization_id, record.id) > (from_organization, from_id)
      AND (record.organization_id, record.id) <= (to_organization, to_id)`;
  return `DO $$
DECLARE
  zero constant uuid := '00000000-0000-0000-0000-000000000000';
  from_organization uuid := zero; from_id uuid := zero; to_organization uuid; to_id uuid;
  is_cluster constant boolean := EXISTS (SELECT FROM pg_extension WHERE extname = 'citus');
BEGIN
  LOOP
    SELECT organization_id, id INTO to_organization, to_id FROM (
      SELECT organization_id, id FROM public.${record} WHERE (organization_id, id) > (from_organization, from_id)
      ORDER BY organization_id, id LIMIT 2000) batch ORDER BY organization_id DESC, id DESC LIMIT 1;
    EXIT WHEN NOT FOUND;
    IF NOT is_cluster THEN
      PERFORM FROM public.${record} record WHERE ${between}
      ORDER BY record.organization_id, record.id FOR NO KEY UPDATE;
    END IF;
    ${copy(copied, between)}
    COMMIT;
    from_organization := to_organization; from_id := to_id;
  END LOOP;
END $$;`;
};

/**
 * The files of a migration, with what fills new columns of read rows and search rows: a trigger beside them, and outside of
 * a transaction, before their indexes are built, the rows that exist.
 * @param files statements in a transaction, then those outside of one
 * @param name of the migration
 */
export function withFills(
  [changes = [], indexes = []]: readonly string[][],
  schema: Record<string, unknown>,
  name: string,
): string[][] {
  const all = copiedIn(changes, schema);
  // Those who write lock the record first, too.
  const locks = all.map(({ record }) => `LOCK TABLE "${record}" IN SHARE ROW EXCLUSIVE MODE;`);
  const triggers = all.flatMap((copied) => followed(copied, `keep_${copied.record}_${name}`.slice(0, 63)));
  const files = [
    [...locks, ...changes, ...triggers],
    [...all.map(fill), ...indexes],
  ];
  return files.filter(({ length }) => length > 0);
}
